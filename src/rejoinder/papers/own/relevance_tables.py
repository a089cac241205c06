"""The relevance figures: published rows, measured rows beside them, macro average, worst column, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.papers.base import Figure
from rejoinder.papers.own.relevance_measures import (
    AUTHORS_ROW,
    ColumnCorrelation,
    find_worst,
    macro_average,
    sensitivity,
)
from rejoinder.papers.own.relevance_published import FIVE, FLOORS, PUBLISHED, SAME, SIX
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval

TABLES: Mapping[Method, str] = {"spearman": "Spearman", "pearson": "Pearson"}
WITHIN = "Spearman within systems"
OVER_SIX = " over all six"
SPREAD = "Spearman over the first five"
MACRO, WORST = "macro average", "worst column"
MEAN_OF_FIVE, WORST_OF_FIVE, RATIO = "mean of five", "worst of five", "best over worst"
CorrelationsByColumn = Mapping[str, Mapping[str, ColumnCorrelation]]  # column -> row -> correlation


def pooled_figures(found: CorrelationsByColumn, signatures: Mapping[str, str], plan: BootstrapPlan) -> Iterator[Figure]:
    """Two tables: the six columns, published rows first; and over all six each metric's mean and worst column."""
    table = TABLES[plan.method]
    for row in PUBLISHED:
        measured = {f.column: f for f in row_figures(table, row, found, "the authors' scores of one run")}
        for column in SIX:
            published = _find_published(table, row, column)
            if column in measured or published is not None:
                only = Figure(table, row, column, published, math.nan, note=PUBLISHED[row].source)
                yield measured.get(column, only)
    for spec, signature in signatures.items():
        yield from row_figures(table, spec, found, signature)
    yield from row_figures(table, ORACLE, found, "each reply gets its system's mean rating")
    for spec in signatures:
        mine = {column: found[column][spec] for column in SIX}
        yield _to_figure(f"{table}{OVER_SIX}", spec, MACRO, macro_average(list(mine.values()), plan), "")
        column, interval = find_worst(mine)
        yield _to_figure(f"{table}{OVER_SIX}", spec, WORST, interval, column)


def row_figures(table: str, row: str, found: CorrelationsByColumn, note: str) -> Iterator[Figure]:
    """A row's correlation in every column that has it."""
    for column, rows in found.items():
        if row in rows:
            yield _to_figure(table, row, column, rows[row].interval, note)


def spread_figures(found: CorrelationsByColumn, specs: Sequence[str], plan: BootstrapPlan) -> Iterator[Figure]:
    """How the first five columns differ: their mean, the worst of them, the best over the worst."""
    for row, known in PUBLISHED.items():
        if row != AUTHORS_ROW and set(known.spearman) == set(FIVE):
            for column in (MEAN_OF_FIVE, WORST_OF_FIVE, RATIO):
                yield Figure(SPREAD, row, column, _find_published(SPREAD, row, column), math.nan, note=known.source)
    for row in (AUTHORS_ROW, *specs):
        mine = {column: found[column][row] for column in FIVE}
        yield _to_figure(SPREAD, row, MEAN_OF_FIVE, macro_average(list(mine.values()), plan), "")
        column, interval = find_worst(mine)
        yield _to_figure(SPREAD, row, WORST_OF_FIVE, interval, column)
        yield _to_figure(SPREAD, row, RATIO, sensitivity(list(mine.values()), plan), "")


def _to_figure(table: str, row: str, column: str, found: Interval, note: str) -> Figure:
    """A measured figure beside the published one; aptness beside its floor."""
    if table == TABLES["spearman"] and column in FLOORS and row.partition("(")[0] == "aptness":
        note += f"; floor {FLOORS[column]}: {'reached' if found.value >= FLOORS[column] else 'missed'}"
    note = "; ".join(filter(None, (note, found.reason)))
    return Figure(
        table, row, column, _find_published(table, row, column), found.value, found.low, found.high, found.n, note
    )


def _find_published(table: str, row: str, column: str) -> float | None:
    """The published figure of a row, or of the published metric that a spec of ours is."""
    known = PUBLISHED.get(row) or PUBLISHED.get(SAME.get(row.partition("(")[0], ""))
    if known is None:
        return None
    values = known.spearman.values()
    of_five = {MEAN_OF_FIVE: sum(values) / len(values), WORST_OF_FIVE: min(values), RATIO: known.ratio}
    of_table: Mapping[str, Mapping[str, float | None]] = {
        TABLES["spearman"]: known.spearman,
        TABLES["pearson"]: known.pearson,
        SPREAD: of_five,
    }
    return of_table.get(table, {}).get(column)
