"""What a good score is: the distribution of each overlap metric over replies that people rated good and bad."""

from __future__ import annotations

import numpy as np

from rejoinder.data.inputs import read
from rejoinder.scoring.api import score
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes

SUMMARY = "quartiles of each overlap metric for replies rated good, middling and bad, with one and four references"
SETS = {"one reference": "gupta/single", "four references": "gupta/multi"}
METRICS = (
    "bleu(n=1)",
    "bleu",
    "bleu(smoothing='epsilon')",
    "rouge_l",
    "meteor",
    "chrf",
    "context_overlap",
    "distinct",
    "length",
)
BANDS = {"rated 1 to 2": (1.0, 2.0), "rated 2 to 4": (2.0, 4.0), "rated 4 to 5": (4.0, 5.01)}
QUARTILES = {"25%": 0.25, "median": 0.5, "75%": 0.75}


def reproduce() -> Reproduction:
    """Score Gupta's 500 replies and take the quartiles in each band of ratings."""
    figures = []
    for table, name in SETS.items():
        data = read(f"dataset:{name}")
        scores = score(data, METRICS)
        rated = {rating.response: rating.value for rating in data.ratings}
        ratings = np.array([rated[response] for response in scores.responses])
        for spec, column in scores.values.items():
            for band, (low, high) in BANDS.items():
                in_band = column[(ratings >= low) & (ratings < high) & ~np.isnan(column)]
                for quartile, share in QUARTILES.items():
                    value = float(np.quantile(in_band, share))
                    figures.append(Figure(table, spec, f"{band}, {quartile}", None, value, n=len(in_band)))
    notes = load_notes("own").paragraphs("distributions")
    return Reproduction("distributions", "What a good score is", figures, notes)
