"""``trust`` at size: twelve metrics on 10,000 rated responses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import rejoinder
from benchmarks.synthetic import records
from rejoinder.comparison import rated_scores
from rejoinder.comparison.trust import trust
from rejoinder.data.collection import Collection
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.types import Rating

FACTS = MetricFacts("made up", (-99.0, 99.0), True, frozenset())


def rated(responses: int, metrics: int) -> tuple[Scores, Collection]:
    """Made-up replies with ratings by three raters, and scores that see their quality through more and more noise."""
    random = np.random.default_rng(0)
    data = rejoinder.data.collect(records(responses // 5, systems=5, references=1))
    quality = random.normal(size=len(data.responses))
    for response, value in zip(data.responses, quality, strict=True):
        for rater in range(3):
            seen = float(np.clip(round(3 + value + random.normal()), 1, 5))
            data.ratings.append(Rating(f"rater-{rater}", "apt", seen, response))
    base = rejoinder.score(data, "length")
    values = {f"metric-{i}": quality + random.normal(size=len(quality)) * (i + 1) for i in range(metrics)}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    scores = Scores(dict.fromkeys(values, FACTS), values, *where, base.dialogue_codes, base.clusters)
    return scores, data


def measure(responses: int = 10_000, metrics: int = 12) -> list[dict[str, Any]]:
    """Seconds for the whole of ``trust``, baselines, ceilings and 1,000 resamples included."""
    scores, data = rated(responses, metrics)
    rated_scores.collect_rated_scores(
        scores, data
    )  # words are tokenised once, as in a process that has just scored them
    begun = time.perf_counter()
    found = trust(scores, data)
    seconds = time.perf_counter() - begun
    if len(found.metrics) != metrics:
        raise RuntimeError("not every metric was judged")
    return [
        {
            "name": f"trust, {metrics} metrics, {responses:,} rated responses, 1,000 resamples",
            "value": round(seconds, 2),
            "unit": "s",
            "against": "at most 20 s on two cores",
            "ratio": round(seconds / 20, 3),
            "floor": 1.0,
            "at_most": True,
        }
    ]
