"""What the reproductions of SCARCE's Table 1 share: Gupta's 500 rated replies under four sets of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.registry import parse
from rejoinder.reproduce._contract import Figure
from rejoinder.scoring.inputs import read
from rejoinder.scoring.memory import score
from rejoinder.stats.bootstrap import Plan, correlation_intervals
from rejoinder.stats.correlation import Method

SETS = {"SINGLE": "single", "MULTI": "multi", "SCARCE-SINGLE": "scarce-single", "SCARCE-MULTI": "scarce-multi"}
METHODS: Sequence[Method] = ("spearman", "pearson", "kendall")
INTERVALS = "Intervals: 95% bootstrap over the 100 contexts (bias-corrected and expanded), 1,000 resamples."
Published = Mapping[str, tuple[float, ...]]  # row -> Spearman, Pearson, Kendall


def of_set(column: str, name: str, rows: Mapping[str, str], published: Published, about: str = "") -> list[Figure]:
    """The figures of one reference set: every row (a label and its spec) and every correlation."""
    data = read(f"dataset:gupta/{name}")
    specs = {row: str(parse(spec)) for row, spec in rows.items()}
    scores = score(data, list(specs.values()))
    columns = {row: scores[spec] for row, spec in specs.items()}
    rated = {rating.response: rating.value for rating in data.ratings}
    ratings = [rated[response] for response in scores.responses]
    systems = [scores.systems[code] for code in scores.system_codes]
    figures = []
    for place, method in enumerate(METHODS):
        found = correlation_intervals(columns, ratings, Plan(method=method), systems=systems, items=scores.items)
        table = f"{method}, {about}" if about else method
        for row, interval in found.items():
            known = published[row][place] if row in published else None
            measured = interval.value, interval.low, interval.high, interval.n
            figures.append(Figure(table, row, column, known, *measured, scores.metrics[specs[row]]))
    return figures
