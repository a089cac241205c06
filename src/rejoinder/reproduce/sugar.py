"""The SUGAR paper (Otani et al. 2023): situated response selection over five folds, and our ranker beside it."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.data.datasets._row import Row
from rejoinder.ranking.result import NDCG, PRECISION
from rejoinder.reproduce import _sugar_statistics as statistics
from rejoinder.reproduce import _sugar_tables as tables
from rejoinder.reproduce._contract import Figure, Reproduction
from rejoinder.reproduce._sugar_drawings import bars, curves
from rejoinder.reproduce._sugar_measures import measure
from rejoinder.reproduce._sugar_notes import notes

SUMMARY = "SUGAR: which reply suits a request in a situation, over five folds (Tables 2, 3, 4, Figures 4, 5)"


def reproduce() -> Reproduction:
    """Count in the files, take what trained rankers said from the cache, and compare."""
    rows = statistics.examples()
    found = measure()
    figures = [*statistics.figures(rows), *tables.figures(found)]
    return Reproduction(
        "sugar",
        "SUGAR: situated, proactive response selection",
        figures,
        notes(found),
        {"figure-4": _grades(rows), "figure-5": _curve(figures, PRECISION), "figure-5-ndcg": _curve(figures, NDCG)},
    )


def _grades(rows: Sequence[Row]) -> str:
    counts = {", ".join(map(str, kind)): n for kind, n in statistics.grade_counts(rows).most_common()}
    return bars("Examples by number of Bad, Acceptable and Best candidates", counts)


def _curve(figures: Sequence[Figure], measure: str) -> str:
    """A line a measured ranker; the published ones are those ends that the paper's text gives."""
    mine = [figure for figure in figures if figure.table == f"Figure 5: {measure} by number of distractors"]
    rows: dict[str, dict[str, float]] = {}
    published: dict[str, dict[str, float]] = {}
    for figure in mine:
        if figure.measured == figure.measured:
            rows.setdefault(figure.row, {})[figure.column] = figure.measured
        elif figure.published is not None:
            published.setdefault(f"{figure.row} (published)", {})[figure.column] = figure.published
    return curves(f"{measure} by number of distractors", list(tables.STEPS.values()), rows | published, list(published))
