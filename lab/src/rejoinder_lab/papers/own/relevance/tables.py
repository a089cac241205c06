"""The relevance figures: published rows, measured rows beside them, macro average, worst column, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.own.relevance.measures import (
    AUTHORS_ROW,
    ColumnCorrelation,
    column_sensitivity,
    find_worst_column,
    macro_average,
)
from rejoinder_lab.papers.own.relevance.rows import FIVE, GUPTA, SIX

TABLES: Mapping[Method, str] = {"spearman": "Spearman", "pearson": "Pearson"}
WITHIN = "Spearman within systems"
OVER_SIX = " over all six"
SPREAD = "Spearman over the first five"
MACRO, WORST = "macro average", "worst column"
MEAN_OF_FIVE, WORST_OF_FIVE, RATIO = "mean of five", "worst of five", "ratio of best to worst"
# A metric of ours that is one of the published ones: its row shows their figures beside its own.
SAME = {
    "norm_prob": "NORM-PROB",
    "nsp": "BERT NSP",
    "nup": "NUP-BERT (H)",
    "idk": "IDK (H)",
    "grade": "GRADE",
    "dynaeval": "DYNA-EVAL",
}
# Spearman that aptness was asked to reach, set before it was trained.
FLOORS = dict(zip(SIX, (0.62, 0.28, 0.70, 0.25, 0.31, 0.59), strict=True))
MACRO_FLOOR, WORST_FLOOR = 0.45, 0.25
CorrelationsByColumn = Mapping[str, Mapping[str, ColumnCorrelation]]  # column -> row -> correlation


@dataclass(frozen=True)
class PublishedRow:
    """One published row; ``ratio`` is the domain sensitivity as printed (None where none or an infinite one is)."""

    source: str
    spearman: Mapping[str, float]
    pearson: Mapping[str, float]
    ratio: float | None = None


def _read_published() -> dict[str, PublishedRow]:
    """The rows of the IDK paper, and the best of SCARCE's Table 1 from its authors' logs."""
    idk, scarce = load_published("idk"), load_published("scarce")
    trained = {
        row: {cell: _drop_deviation(value) for cell, value in cells.items()} for row, cells in idk["Table 11"].items()
    }
    cells = {
        **{("IDK, Table 2", row): cells for row, cells in idk["Table 2"].items()},
        **{("IDK, Table 2", row): cells for row, cells in trained.items() if row.startswith("NUP-BERT")},
        ("IDK, Table 11", "BERT NSP"): trained["BERT NSP"],
        **{("IDK, Table 3", row): trained[row] for row in ("IDK (H)", "IDK (TC-S)")},
    }
    rows = {
        row: PublishedRow(
            source,
            {column: of_row[f"{column} S"] for column in FIVE},
            {column: of_row[f"{column} P"] for column in FIVE},
            idk["Table 4"].get(row),
        )
        for (source, row), of_row in cells.items()
    }
    best = scarce["Table 1, result logs"]["BERT precision"]["SCARCE-MULTI"]
    rows["SCARCE-MULTI, BERT precision"] = PublishedRow(
        "SCARCE, Table 1", {GUPTA: best["spearman"]}, {GUPTA: best["pearson"]}
    )
    return rows


def _drop_deviation(value: float | Sequence[float]) -> float:
    """A printed cell without the deviation that may stand beside it."""
    return value[0] if isinstance(value, Sequence) else value


PUBLISHED = _read_published()


def pooled_figures(
    correlations: CorrelationsByColumn, signatures: Mapping[str, str], plan: BootstrapPlan
) -> Iterator[Figure]:
    """Two tables: the six columns, published rows first; and over all six each metric's mean and worst column."""
    table = TABLES[plan.method]
    for row in PUBLISHED:
        measured = {f.column: f for f in row_figures(table, row, correlations, "the authors' scores of one run")}
        for column in SIX:
            published = _find_published(table, row, column)
            if column in measured or published is not None:
                only = Figure(table, row, column, published, math.nan, note=PUBLISHED[row].source)
                yield measured.get(column, only)
    for spec, signature in signatures.items():
        yield from row_figures(table, spec, correlations, signature)
    yield from row_figures(table, ORACLE, correlations, "each reply gets its system's mean rating")
    for spec in signatures:
        by_column = {column: correlations[column][spec] for column in SIX}
        if not _is_complete(by_column):
            continue
        yield _to_figure(f"{table}{OVER_SIX}", spec, MACRO, macro_average(list(by_column.values()), plan), "")
        column, interval = find_worst_column(by_column)
        yield _to_figure(f"{table}{OVER_SIX}", spec, WORST, interval, column)


def row_figures(table: str, row: str, correlations: CorrelationsByColumn, note: str) -> Iterator[Figure]:
    """A row's correlation in every column that has it."""
    for column, rows in correlations.items():
        if row in rows and rows[row].interval.n:
            yield _to_figure(table, row, column, rows[row].interval, note)


def column_spread_figures(
    correlations: CorrelationsByColumn, specs: Sequence[str], plan: BootstrapPlan
) -> Iterator[Figure]:
    """How the first five columns differ: their mean, the worst of them, the ratio of best to worst."""
    for row, known in PUBLISHED.items():
        if row != AUTHORS_ROW and set(known.spearman) == set(FIVE):
            for column in (MEAN_OF_FIVE, WORST_OF_FIVE, RATIO):
                yield Figure(SPREAD, row, column, _find_published(SPREAD, row, column), math.nan, note=known.source)
    for row in (AUTHORS_ROW, *specs):
        by_column = {column: correlations[column][row] for column in FIVE}
        if not _is_complete(by_column):
            continue
        yield _to_figure(SPREAD, row, MEAN_OF_FIVE, macro_average(list(by_column.values()), plan), "")
        column, interval = find_worst_column(by_column)
        yield _to_figure(SPREAD, row, WORST_OF_FIVE, interval, column)
        yield _to_figure(SPREAD, row, RATIO, column_sensitivity(list(by_column.values()), plan), "")


def _is_complete(by_column: Mapping[str, ColumnCorrelation]) -> bool:
    """Whether every column has scores: those of a metric that needs references have not."""
    return all(one.interval.n for one in by_column.values())


def _to_figure(table: str, row: str, column: str, interval: Interval, note: str) -> Figure:
    """A measured figure beside the published one; for aptness, with its minimum."""
    if table == TABLES["spearman"] and column in FLOORS and row.partition("(")[0] == "aptness":
        note += f"; minimum {FLOORS[column]}: {'reached' if interval.value >= FLOORS[column] else 'missed'}"
    note = "; ".join(filter(None, (note, interval.reason)))
    return Figure(
        table,
        row,
        column,
        _find_published(table, row, column),
        interval.value,
        interval.low,
        interval.high,
        interval.n,
        note,
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
