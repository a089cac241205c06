"""Tables 4 and 5 of the SSREM paper on the sets that are here: correlation with people, whole metrics and f alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rejoinder.papers.base import Figure
from rejoinder.papers.own.relevance_measures import ColumnCorrelation, macro_average
from rejoinder.papers.ssrem.published import CORRELATIONS
from rejoinder.papers.ssrem.rows import METHODS, RatedSet
from rejoinder.papers.ssrem.scorers import GLOVE
from rejoinder.papers.ssrem.tables import to_figure
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval

MEAN = "mean"
_NAMES: Mapping[Method, str] = {"spearman": "Spearman", "pearson": "Pearson"}
CorrelationsBySet = Mapping[str, Mapping[str, ColumnCorrelation]]  # set -> row -> correlation


def correlate_all(judged: Sequence[RatedSet], n_resamples: int) -> dict[Method, CorrelationsBySet]:
    """Every row's correlation in every set, by both methods."""
    return {method: {one.name: one.correlations(method, n_resamples) for one in judged} for method in METHODS}


def correlation_figures(whole: Mapping[Method, CorrelationsBySet], judged: Sequence[RatedSet]) -> Iterator[Figure]:
    """Tables 4 and 5: whole metrics against people, the printed figures in columns of their own; then p-values."""
    rows = list(judged[0].scores)
    for place, method in enumerate(METHODS):
        table = f"Tables 4 and 5: {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _find_printed_row(row)) in printed:
                    yield Figure(table, row, column, printed[name][place].value, math.nan)
            yield from _row_figures(table, row, whole[method], method)
        table = f"Tables 4 and 5: p of {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _find_printed_row(row)) in printed:
                    value = printed[name][place]
                    note = f"printed as < {value.p}" if value.below else ""
                    yield Figure(table, row, column, value.p, math.nan, note=note)
            for one in judged:
                yield Figure(table, row, one.name, None, one.p(row, method))
    for row in rows:
        for one in judged:
            yield Figure("Figures 2 and 4: coefficient of the regression line", row, one.name, None, one.slope(row))


def alone_figures(found: Mapping[Method, CorrelationsBySet], judged: Sequence[RatedSet]) -> Iterator[Figure]:
    """f alone against people on the six columns; then p-values."""
    for method in METHODS:
        for row in judged[0].scores:
            yield from _row_figures(f"f alone: {_NAMES[method]}", row, found[method], method)
    for method in METHODS:
        for row in judged[0].scores:
            for one in judged:
                yield Figure(f"f alone: p of {_NAMES[method]}", row, one.name, None, one.p(row, method))


def mean_correlation(found: CorrelationsBySet, row: str, method: Method) -> Interval:
    """A row's mean correlation over the sets."""
    each = [of_set[row] for of_set in found.values()]
    return macro_average(each, BootstrapPlan(method=method, n_resamples=len(each[0].samples)))


def mean_difference(found: CorrelationsBySet, first: str, second: str, method: Method) -> Interval:
    """How much larger a row's mean correlation over the sets is than another's, on the same resamples."""
    pairs = [(of_set[first], of_set[second]) for of_set in found.values()]
    each = [
        ColumnCorrelation(a.interval._replace(value=a.interval.value - b.interval.value), a.samples - b.samples)
        for a, b in pairs
    ]
    return macro_average(each, BootstrapPlan(method=method, n_resamples=len(each[0].samples)))


def _row_figures(table: str, row: str, found: CorrelationsBySet, method: Method) -> Iterator[Figure]:
    for column, rows in found.items():
        yield to_figure(table, row, column, rows[row].interval)
    yield to_figure(table, row, MEAN, mean_correlation(found, row, method))


def _find_printed_row(row: str) -> str:
    """The printed row that a row stands beside: the paper reads by word averages."""
    name, _, reading = row.partition(", ")
    return name if reading in ("", GLOVE.label) else ""
