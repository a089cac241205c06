"""The tables of the IDK paper as figures: printed and measured, means of three runs and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rejoinder.papers.base import Figure
from rejoinder.papers.idk.masking import KEPT, MaskedAccuracy
from rejoinder.papers.idk.rows import PEARSON, SPEARMAN, RatedColumn
from rejoinder.papers.idk.variants import IdkVariant, Runs
from rejoinder.papers.loader import load_published
from rejoinder.papers.own.relevance.rows import FIVE
from rejoinder.papers.own.relevance.tables import PUBLISHED
from rejoinder.stats.interval import Interval
from rejoinder.stats.sensitivity import domain_sensitivity
from rejoinder.training.idk import IdkRegression

PRIOR, OWN, RATIO = (
    "Table 2: prior metrics, test rows",
    "Table 3: IDK, test rows",
    "Table 4: ratio of best to worst Spearman",
)
ABLATIONS, MASKING = "Table 5: ablations, test rows", f"Table 7: next turns with {KEPT} dimensions"
PRIOR_VALID, ALL_VALID = "Table 8: prior metrics, validation rows", "Table 10: all variants, validation rows"
TRIPLET, NEGATIVES = (
    "Table 9: ablations with the triplet loss, test rows",
    "Table 11: other negatives and NSP, test rows",
)
DEVIATION = ", standard deviation over three runs"
HEAD = "BERT NSP"
ACCURACY, AHEAD = "accuracy", "true reply ahead"
TEST = tuple(f"{column} {kind}" for column in FIVE for kind in (SPEARMAN, PEARSON))
VALID = tuple(f"{column} {kind}" for column in ("HUMOD", "USR-TC") for kind in (SPEARMAN, PEARSON))
RunCorrelations = dict[str, float]  # cell -> correlation
Correlations = Mapping[IdkVariant, Sequence[RunCorrelations]]


class PrintedFigure(NamedTuple):
    """A printed figure, and its standard deviation over runs where there is one."""

    mean: float
    deviation: float | None = None


PrintedRows = Mapping[str, Mapping[str, PrintedFigure]]


def _read_rows(table: Mapping[str, Mapping[str, Any]]) -> PrintedRows:
    """The rows of a printed table; a cell is a figure, or a mean over three runs and its standard deviation."""
    return {
        row: {cell: PrintedFigure(*value) if isinstance(value, list) else PrintedFigure(value) for cell, value in cells}
        for row, cells in ((row, cells.items()) for row, cells in table.items())
    }


_PRINTED = load_published("idk")
# A row of Tables 5 and 9 is named by what it has: the training set, L1, the negative.
TABLE_5, TABLE_8, TABLE_9, TABLE_10, TABLE_11 = (_read_rows(_PRINTED[f"Table {n}"]) for n in (5, 8, 9, 10, 11))


def correlate_all_runs(runs: Runs, judged: Sequence[RatedColumn]) -> Correlations:
    """The correlations of every run in every column."""
    return {variant: [correlate_run(fitted, judged) for fitted in fits] for variant, fits in runs.items()}


def correlate_run(fitted: IdkRegression, judged: Sequence[RatedColumn]) -> RunCorrelations:
    """The correlations of one regression in every column."""
    return {cell: value for one in judged for cell, value in one.correlations(one.scores(fitted)).items()}


def mean_over_runs(runs: Sequence[RunCorrelations], cell: str) -> float:
    """Return the mean over runs, NaN if the column was not measured."""
    return float(np.mean([run.get(cell, math.nan) for run in runs]))


def table_figures(
    table: str,
    cells: Sequence[str],
    printed: PrintedRows,
    measured: Mapping[str, Sequence[RunCorrelations]],
    notes: Mapping[str, str],
) -> Iterator[Figure]:
    """A table of means and, for rows with several runs, one of standard deviations."""
    names = list(dict.fromkeys([*printed, *measured]))
    for name in names:
        for cell in cells:
            known = printed.get(name, {}).get(cell)
            value = mean_over_runs(measured[name], cell) if name in measured else math.nan
            yield Figure(table, name, cell, known.mean if known else None, value, note=notes.get(name, ""))
    for name in names:
        for cell in cells:
            known = printed.get(name, {}).get(cell, PrintedFigure(math.nan))
            several = [run[cell] for run in measured.get(name, ()) if cell in run]
            value = float(np.std(several, ddof=1)) if len(several) > 1 else math.nan
            if known.deviation is not None or not math.isnan(value):
                yield Figure(table + DEVIATION, name, cell, known.deviation, value)


def prior_figures(
    test: Sequence[RatedColumn],
    valid: RatedColumn,
    specs: Mapping[str, str],
    absent: Mapping[str, str],
    labels: Mapping[str, str],
) -> Iterator[Figure]:
    """Tables 2 and 8: prior metrics; ``specs`` are those of ours that stand for printed rows.

    ``absent`` says why a row is not measured, ``labels`` has the names of rows that are measured on a sample.
    """
    printed = {
        row: {
            **_printed_cells(SPEARMAN, known.spearman),
            **_printed_cells(PEARSON, known.pearson),
            **TABLE_11.get(row, {}),
        }
        for row, known in PUBLISHED.items()
        if known.source == "IDK, Table 2"
    }
    for table, columns, cells, known in (
        (PRIOR, test, TEST, printed),
        (PRIOR_VALID, [valid], VALID, TABLE_8),
    ):
        intervals_by_row: dict[str, dict[str, Interval]] = {row: {} for row in specs}
        for intervals in (one.intervals() for one in columns):
            for row, spec in specs.items():
                intervals_by_row[row].update(intervals[spec])
        runs = {row: [{cell: one.value for cell, one in of_row.items()}] for row, of_row in intervals_by_row.items()}
        for figure in table_figures(table, cells, known, runs, {**specs, **absent}):
            named = replace(figure, row=labels.get(figure.row, figure.row))
            interval = intervals_by_row.get(figure.row, {}).get(figure.column) if figure.table == table else None
            if interval is None:
                yield named
            else:
                yield replace(named, low=interval.low, high=interval.high, n=interval.n)


def _printed_cells(kind: str, values: Mapping[str, float]) -> dict[str, PrintedFigure]:
    return {f"{column} {kind}": PrintedFigure(value) for column, value in values.items()}


def own_figures(test: Correlations, head: RunCorrelations, others: Mapping[str, RunCorrelations]) -> Iterator[Figure]:
    """Tables 3, 5, 9 and 11: the regressions on the test rows, the bare head, and what else the paper trained."""
    named = {variant.metric: runs for variant, runs in test.items() if _is_as_proposed(variant)}
    named |= {row: [run] for row, run in others.items() if row in TABLE_11}
    first = {row: cells for row, cells in TABLE_11.items() if row.startswith(("NUP", "IDK ("))}
    yield from table_figures(OWN, TEST, first, {row: runs for row, runs in named.items() if row in first}, {})
    for table, printed, loss in ((ABLATIONS, TABLE_5, "bce"), (TRIPLET, TABLE_9, "triplet")):
        rows = {v.long: runs for v, runs in test.items() if v.loss == loss and v.long in printed and _is_ablation(v)}
        yield from table_figures(table, TEST, printed, rows, {})
    note = {HEAD: "here the head of the same cross-encoder, unchanged"}
    yield from table_figures(NEGATIVES, TEST, TABLE_11, {**named, HEAD: [head]}, note)


def _is_as_proposed(variant: IdkVariant) -> bool:
    """With L1, BCE and some fixed negative."""
    return (variant.regularization, variant.loss) == ("l1", "bce") and variant.negative != "random"


def _is_ablation(variant: IdkVariant) -> bool:
    return variant.regularization != "l2" and variant.negative in ("idk", "random")


def idk_validation_figures(valid: Correlations) -> Iterator[Figure]:
    """Table 10: every variant on the validation rows."""
    rows = {v.short: runs for v, runs in valid.items() if v.negative in ("idk", "random")}
    yield from table_figures(ALL_VALID, VALID, TABLE_10, rows, {})


def ratio_figures(
    test: Correlations, head: RunCorrelations, others: Mapping[str, RunCorrelations], labels: Mapping[str, str]
) -> Iterator[Figure]:
    """Table 4: how much each metric depends on the test set."""
    printed = {row: known.ratio for row, known in PUBLISHED.items() if known.source.startswith("IDK")}
    printed |= _PRINTED["Table 4"]
    measured = {row: sensitivity_ratio([run]) for row, run in {**others, HEAD: head}.items()}
    for variant, runs in test.items():
        if _is_as_proposed(variant):
            measured[variant.metric] = sensitivity_ratio(runs)
    for row in dict.fromkeys([*printed, *measured]):
        yield Figure(RATIO, labels.get(row, row), "ratio", printed.get(row), measured.get(row, math.nan))


def sensitivity_ratio(runs: Sequence[RunCorrelations]) -> float:
    """Return the ratio of the best to the worst mean Spearman, NaN if it is infinite."""
    ratio = domain_sensitivity([mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE]).value
    return ratio if math.isfinite(ratio) else math.nan


def masking_figures(masked: Mapping[str, MaskedAccuracy]) -> Iterator[Figure]:
    """Table 7: the paper's corpora as printed, ours as measured."""
    for corpus, accuracies in _PRINTED["Table 7"].items():
        yield Figure(MASKING, f"{corpus} (BERT)", f"{ACCURACY}, whole", accuracies["whole"], math.nan)
        yield Figure(MASKING, f"{corpus} (BERT)", f"{ACCURACY}, kept", accuracies["kept"], math.nan)
    for corpus, accuracy in masked.items():
        yield Figure(MASKING, corpus, f"{ACCURACY}, whole", None, accuracy.whole, n=accuracy.n)
        yield Figure(MASKING, corpus, f"{ACCURACY}, kept", None, accuracy.kept, n=accuracy.n)
        yield Figure(MASKING, corpus, f"{AHEAD}, whole", None, accuracy.whole_ahead, n=accuracy.n)
        yield Figure(MASKING, corpus, f"{AHEAD}, kept", None, accuracy.kept_ahead, n=accuracy.n)
