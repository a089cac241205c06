"""The tables of the IDK paper as figures: printed and measured, means of three runs and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.interval import Interval
from rejoinder.stats.sensitivity import domain_sensitivity
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.idk.authors import count_large_weights
from rejoinder_lab.papers.idk.masking import KEPT, MaskedAccuracy
from rejoinder_lab.papers.idk.rows import METHODS, PEARSON, SPEARMAN, RatedColumn
from rejoinder_lab.papers.idk.variants import SEEDS, IdkVariant, Runs
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW, ColumnCorrelation, column_sensitivity
from rejoinder_lab.papers.own.relevance.rows import FIVE
from rejoinder_lab.papers.own.relevance.tables import PUBLISHED
from rejoinder_lab.training.idk import IdkRegression

PRIOR, OWN, RATIO = (
    "Table 2: prior metrics, test rows",
    "Table 3: IDK, test rows",
    "Table 4: ratio of best to worst Spearman",
)
ABLATIONS, EXAMPLES = "Table 5: ablations, test rows", "Table 6: two dialogues of HUMOD"
MASKING = f"Table 7: next turns with {KEPT} dimensions"
PRIOR_VALID, ALL_VALID = "Table 8: prior metrics, validation rows", "Table 10: all variants, validation rows"
TRIPLET, NEGATIVES = (
    "Table 9: ablations with the triplet loss, test rows",
    "Table 11: other negatives and NSP, test rows",
)
DEVIATION = ", standard deviation over three runs"
LARGE_WEIGHTS = "Figures 1 and 2: number of weights above 0.01"
LARGE = 0.01  # of a weight, as in section 5.1
HEAD, OWN_HEAD = "BERT NSP", "nsp (the head of aptness's cross-encoder)"
AUTHORS_IDK = f"{AUTHORS_ROW}, the authors' scores of one run"
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


class PriorScores(NamedTuple):
    """The correlations of other scores in every cell, and the names under which the scores of a row's runs stand."""

    cells: Mapping[str, Mapping[str, ColumnCorrelation]]  # cell -> name of the scores -> correlation
    names: Mapping[str, Sequence[str]]  # row -> names of the scores

    def runs(self, row: str) -> list[RunCorrelations]:
        """The correlations of a row's runs."""
        return [
            {cell: by_name[name].interval.value for cell, by_name in self.cells.items() if name in by_name}
            for name in self.names[row]
        ]

    def interval(self, row: str, cell: str) -> Interval | None:
        """The interval of a cell; none where a row has several runs or was not scored."""
        name, *more = self.names.get(row, [""])
        known = self.cells.get(cell, {}).get(name)
        return None if more or known is None or not known.interval.n else known.interval

    def ratio(self, row: str) -> Interval | None:
        """The ratio of best to worst Spearman, where a row has one run and every reply of every set has a score."""
        intervals = [self.interval(row, f"{column} {SPEARMAN}") for column in FIVE]
        if any(interval is None or interval.n_missing for interval in intervals):
            return None
        return column_sensitivity(self.spearmans(row), BootstrapPlan())

    def spearmans(self, row: str) -> list[ColumnCorrelation]:
        """The correlations of a row's first run in the five columns."""
        return [self.cells[f"{column} {SPEARMAN}"][self.names[row][0]] for column in FIVE]


def correlate_prior_scores(columns: Sequence[RatedColumn], names: Mapping[str, Sequence[str]]) -> PriorScores:
    """Correlate the other scores of some columns with the ratings."""
    return PriorScores({f"{one.name} {kind}": one.resampled(kind) for one in columns for kind in METHODS}, names)


def prior_figures(test: PriorScores, valid: PriorScores, notes: Mapping[str, str]) -> Iterator[Figure]:
    """Tables 2 and 8: prior metrics; ``notes`` say what measured a row, or why nothing did."""
    printed = {
        row: {
            **_printed_cells(SPEARMAN, known.spearman),
            **_printed_cells(PEARSON, known.pearson),
            **TABLE_11.get(row, {}),
        }
        for row, known in PUBLISHED.items()
        if known.source == "IDK, Table 2"
    }
    for table, scores, cells, known in ((PRIOR, test, TEST, printed), (PRIOR_VALID, valid, VALID, TABLE_8)):
        runs = {row: scores.runs(row) for row in scores.names if row not in (HEAD, AUTHORS_IDK)}
        for figure in table_figures(table, cells, known, runs, notes):
            yield _with_interval(figure, scores.interval(figure.row, figure.column) if figure.table == table else None)


def _with_interval(figure: Figure, interval: Interval | None) -> Figure:
    return figure if interval is None else replace(figure, low=interval.low, high=interval.high, n=interval.n)


def _printed_cells(kind: str, values: Mapping[str, float]) -> dict[str, PrintedFigure]:
    return {f"{column} {kind}": PrintedFigure(value) for column, value in values.items()}


def own_figures(
    test: Correlations, head: RunCorrelations, prior: PriorScores, notes: Mapping[str, str]
) -> Iterator[Figure]:
    """Tables 3, 5, 9 and 11: the regressions on the test rows, heads, and what else the paper trained."""
    named = {variant.metric: runs for variant, runs in test.items() if _is_as_proposed(variant)}
    named |= {row: prior.runs(row) for row in prior.names if row in TABLE_11 or row == AUTHORS_IDK}
    every = {**TABLE_11, AUTHORS_IDK: {cell: PrintedFigure(f.mean) for cell, f in TABLE_11[AUTHORS_ROW].items()}}
    first = {row: cells for row, cells in every.items() if row.startswith(("NUP", "IDK ("))}
    rows = {row: runs for row, runs in named.items() if row in first}
    for figure in table_figures(OWN, TEST, first, rows, notes):
        yield _with_interval(figure, prior.interval(figure.row, figure.column) if figure.table == OWN else None)
    for table, printed, loss in ((ABLATIONS, TABLE_5, "bce"), (TRIPLET, TABLE_9, "triplet")):
        rows = {v.long: runs for v, runs in test.items() if v.loss == loss and v.long in printed and _is_ablation(v)}
        yield from table_figures(table, TEST, printed, rows, {})
    for figure in table_figures(NEGATIVES, TEST, every, {**named, OWN_HEAD: [head]}, notes):
        yield _with_interval(figure, prior.interval(figure.row, figure.column) if figure.table == NEGATIVES else None)


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
    test: Correlations, head: RunCorrelations, prior: PriorScores, notes: Mapping[str, str]
) -> Iterator[Figure]:
    """Table 4: how much each metric depends on the test set, where all rows of all sets were scored."""
    printed = {row: known.ratio for row, known in PUBLISHED.items() if known.source.startswith("IDK")}
    printed |= {**_PRINTED["Table 4"], AUTHORS_IDK: _PRINTED["Table 4"][AUTHORS_ROW]}
    measured = {variant.metric: sensitivity_ratio(runs) for variant, runs in test.items() if _is_as_proposed(variant)}
    measured[OWN_HEAD] = sensitivity_ratio([head])
    measured |= {row: sensitivity_ratio(prior.runs(row)) for row in prior.names}
    for row in dict.fromkeys([*printed, *measured]):
        figure = Figure(RATIO, row, "ratio", printed.get(row), measured.get(row, math.nan), note=notes.get(row, ""))
        yield _with_interval(figure, prior.ratio(row) if row in prior.names else None)


def sensitivity_ratio(runs: Sequence[RunCorrelations]) -> float:
    """Return the ratio of the best to the worst mean Spearman, NaN if it is infinite or a column is missing."""
    means = [mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE]
    ratio = domain_sensitivity(means).value
    return ratio if math.isfinite(ratio) and not any(map(math.isnan, means)) else math.nan


def example_figures(humod: RatedColumn, own: Sequence[float]) -> Iterator[Figure]:
    """Table 6: ratings and scores of twelve replies; ``own`` are the scores of our regression for all rows."""
    ids = {name: i for i, name in enumerate(humod.responses)}
    low, high = min(own), max(own)
    for row, known in _PRINTED["Table 6"].items():
        if (i := ids.get(known["response"])) is not None:
            yield Figure(EXAMPLES, row, "people", known["human"], float(humod.ratings[i]))
            yield Figure(EXAMPLES, row, "IDK", known["IDK"], float(humod.others[AUTHORS_ROW][i]))
            scaled = 1 + 4 * (own[i] - low) / (high - low)
            yield Figure(EXAMPLES, row, "IDK (H) on our vectors, from 1 to 5", None, scaled)


def large_weight_figures(authors: Runs | None, own: Runs) -> Iterator[Figure]:
    """Figures 1 and 2 in numbers: how many weights of each run are large."""
    owners = {"our network": own} if authors is None else {"the authors' weights": authors, "our network": own}
    for owner, runs in owners.items():
        for variant in (IdkVariant("H"), IdkVariant("H", "random")):
            for run, n in zip(SEEDS, count_large_weights(runs[variant], LARGE), strict=True):
                yield Figure(LARGE_WEIGHTS, f"{variant.long}: {owner}", f"run {run + 1}", None, n)


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
