"""Tables 4 and 5 of the SSREM paper on the sets that are here: correlation with people, whole metrics and f alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rejoinder.papers.base import Figure
from rejoinder.papers.own.relevance_measures import Correlated, macro
from rejoinder.papers.ssrem.published import CORRELATIONS
from rejoinder.papers.ssrem.rows import METHODS, Judged
from rejoinder.papers.ssrem.scorers import GLOVE
from rejoinder.papers.ssrem.tables import figure_of
from rejoinder.stats.bootstrap import Plan
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval

MEAN = "mean"
_NAMES: Mapping[Method, str] = {"spearman": "Spearman", "pearson": "Pearson"}
Found = Mapping[str, Mapping[str, Correlated]]  # set -> row -> correlation


def correlate_all(judged: Sequence[Judged], n_resamples: int) -> dict[Method, Found]:
    """Every row's correlation in every set, by both methods."""
    return {method: {one.name: one.correlations(method, n_resamples) for one in judged} for method in METHODS}


def correlations(whole: Mapping[Method, Found], judged: Sequence[Judged]) -> Iterator[Figure]:
    """Tables 4 and 5: whole metrics against people, the printed figures in columns of their own; then p-values."""
    rows = list(judged[0].scores)
    for place, method in enumerate(METHODS):
        table = f"Tables 4 and 5: {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _printed(row)) in printed:
                    yield Figure(table, row, column, printed[name][place].value, math.nan)
            yield from _across(table, row, whole[method], method)
        table = f"Tables 4 and 5: p of {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _printed(row)) in printed:
                    value = printed[name][place]
                    note = f"printed as < {value.p}" if value.below else ""
                    yield Figure(table, row, column, value.p, math.nan, note=note)
            for one in judged:
                yield Figure(table, row, one.name, None, one.p(row, method))
    for row in rows:
        for one in judged:
            yield Figure("Figures 2 and 4: coefficient of the regression line", row, one.name, None, one.slope(row))


def alone(found: Mapping[Method, Found], judged: Sequence[Judged]) -> Iterator[Figure]:
    """f alone against people on the six columns; then p-values."""
    for method in METHODS:
        for row in judged[0].scores:
            yield from _across(f"f alone: {_NAMES[method]}", row, found[method], method)
    for method in METHODS:
        for row in judged[0].scores:
            for one in judged:
                yield Figure(f"f alone: p of {_NAMES[method]}", row, one.name, None, one.p(row, method))


def mean_over(found: Found, row: str, method: Method) -> Interval:
    """A row's mean correlation over the sets."""
    each = [of_set[row] for of_set in found.values()]
    return macro(each, Plan(method=method, n_resamples=len(each[0].samples)))


def difference(found: Found, first: str, second: str, method: Method) -> Interval:
    """How much larger a row's mean correlation over the sets is than another's, on the same resamples."""
    pairs = [(of_set[first], of_set[second]) for of_set in found.values()]
    each = [
        Correlated(a.interval._replace(value=a.interval.value - b.interval.value), a.samples - b.samples)
        for a, b in pairs
    ]
    return macro(each, Plan(method=method, n_resamples=len(each[0].samples)))


def _across(table: str, row: str, found: Found, method: Method) -> Iterator[Figure]:
    for column, rows in found.items():
        yield figure_of(table, row, column, rows[row].interval)
    yield figure_of(table, row, MEAN, mean_over(found, row, method))


def _printed(row: str) -> str:
    """The printed row that a row stands beside: the paper reads by word averages."""
    name, _, reading = row.partition(", ")
    return name if reading in ("", GLOVE.label) else ""
