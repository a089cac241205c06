"""The tables of the IDK paper: printed, computed again from its authors' files, and ours in columns of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejoinder.stats.interval import Interval
from rejoinder_lab.papers.base import OURS, Figure
from rejoinder_lab.papers.idk.authors import AuthorsResults, count_large_weights
from rejoinder_lab.papers.idk.correlations import (
    AUTHORS_IDK,
    HEAD,
    OWN_HEAD,
    Measured,
    RowScores,
    mean_over_runs,
    sensitivity_ratio,
)
from rejoinder_lab.papers.idk.masking import KEPT, MaskedAccuracy
from rejoinder_lab.papers.idk.rows import PEARSON, SPEARMAN, RatedColumn
from rejoinder_lab.papers.idk.variants import SEEDS, IdkVariant, Runs, list_variants
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW
from rejoinder_lab.papers.own.relevance.rows import FIVE
from rejoinder_lab.papers.own.relevance.tables import PUBLISHED

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
ACCURACY, AHEAD = "accuracy", "true reply ahead"
TEST = tuple(f"{column} {kind}" for column in FIVE for kind in (SPEARMAN, PEARSON))
VALID = tuple(f"{column} {kind}" for column in ("HUMOD", "USR-TC") for kind in (SPEARMAN, PEARSON))


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


RowsByName = Mapping[str, RowScores]


def table_figures(
    table: str,
    cells: Sequence[str],
    printed: PrintedRows,
    theirs: RowsByName,
    ours: RowsByName,
    notes: Mapping[str, str] | None = None,
) -> Iterator[Figure]:
    """A table of means and, for rows with several runs, one of standard deviations."""
    names, notes = list(dict.fromkeys([*printed, *theirs, *ours])), notes or {}
    for name in names:
        own = ours.get(name)
        for cell in cells:
            figure = printed.get(name, {}).get(cell)
            runs, intervals = theirs.get(name, RowScores(()))
            note = "" if own and name not in theirs else notes.get(name, "")
            mean = figure.mean if figure else None
            yield _with_interval(table, name, cell, mean, mean_over_runs(runs, cell), intervals.get(cell), note)
            if own:
                value, note = mean_over_runs(own.runs, cell), "" if name in theirs else notes.get(name, "")
                yield _with_interval(table, name, cell + OURS, None, value, own.intervals.get(cell), note)
    for name in names:
        for cell in cells:
            deviation = printed.get(name, {}).get(cell, PrintedFigure(math.nan)).deviation
            spreads = [_deviation(rows.get(name, RowScores(())).runs, cell) for rows in (theirs, ours)]
            if deviation is not None or not math.isnan(spreads[0]):
                yield Figure(table + DEVIATION, name, cell, deviation, spreads[0])
            if not math.isnan(spreads[1]):
                yield Figure(table + DEVIATION, name, cell + OURS, None, spreads[1])


def _deviation(runs: Sequence[Mapping[str, float]], cell: str) -> float:
    values = [run[cell] for run in runs if cell in run]
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _with_interval(
    table: str, row: str, column: str, published: float | None, value: float, interval: Interval | None, note: str
) -> Figure:
    if interval is None or math.isnan(value):
        return Figure(table, row, column, published, value, note=note)
    return Figure(table, row, column, published, value, interval.low, interval.high, interval.n, note)


def prior_figures(
    test: Measured, valid: Measured, authors: AuthorsResults | None, notes: Mapping[str, str]
) -> Iterator[Figure]:
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
    theirs = {row: scores for row, scores in test.theirs.items() if row not in (HEAD, AUTHORS_IDK)}
    yield from table_figures(PRIOR, TEST, printed, theirs, test.ours, notes)
    theirs = {
        row: RowScores([{**(authors.baselines[row] if authors else {}), **run}], scores.intervals)
        for row, scores in valid.theirs.items()
        for run in (scores.runs or [{}])
        if row != AUTHORS_IDK
    }
    yield from table_figures(PRIOR_VALID, VALID, TABLE_8, theirs, valid.ours, notes)


def _printed_cells(kind: str, values: Mapping[str, float]) -> dict[str, PrintedFigure]:
    return {f"{column} {kind}": PrintedFigure(value) for column, value in values.items()}


def own_figures(test: Measured, notes: Mapping[str, str]) -> Iterator[Figure]:
    """Tables 3, 5, 9 and 11: the regressions on the test rows, heads, and what else the paper trained."""
    proposed = {variant.metric: variant for variant in list_variants() if _is_as_proposed(variant)}
    theirs, ours = test.variants(proposed)
    theirs |= {row: scores for row, scores in test.theirs.items() if row in (HEAD, AUTHORS_IDK)}
    ours |= {row: scores for row, scores in test.ours.items() if row in TABLE_11}
    ours[OWN_HEAD] = test.own.scores(OWN_HEAD)
    every = {**TABLE_11, AUTHORS_IDK: {cell: PrintedFigure(f.mean) for cell, f in TABLE_11[AUTHORS_ROW].items()}}
    first = {row: cells for row, cells in every.items() if row.startswith(("NUP", "IDK ("))}
    yield from table_figures(OWN, TEST, first, _of_rows(theirs, first), _of_rows(ours, first), notes)
    for table, printed, loss in ((ABLATIONS, TABLE_5, "bce"), (TRIPLET, TABLE_9, "triplet")):
        named = {v.long: v for v in list_variants() if v.loss == loss and v.long in printed and _is_ablation(v)}
        yield from table_figures(table, TEST, printed, *test.variants(named))
    yield from table_figures(NEGATIVES, TEST, every, theirs, ours, notes)


def _of_rows(rows: RowsByName, names: PrintedRows) -> dict[str, RowScores]:
    return {name: scores for name, scores in rows.items() if name in names}


def _is_as_proposed(variant: IdkVariant) -> bool:
    """With L1, BCE and some fixed negative."""
    return (variant.regularization, variant.loss) == ("l1", "bce") and variant.negative != "random"


def _is_ablation(variant: IdkVariant) -> bool:
    return variant.regularization != "l2" and variant.negative in ("idk", "random")


def idk_validation_figures(valid: Measured) -> Iterator[Figure]:
    """Table 10: every variant on the validation rows."""
    named = {variant.short: variant for variant in list_variants() if variant.negative in ("idk", "random")}
    yield from table_figures(ALL_VALID, VALID, TABLE_10, *valid.variants(named))


def ratio_figures(test: Measured, notes: Mapping[str, str]) -> Iterator[Figure]:
    """Table 4: how much each metric depends on the test set, where all rows of all sets were scored."""
    printed = {row: known.ratio for row, known in PUBLISHED.items() if known.source.startswith("IDK")}
    printed |= {**_PRINTED["Table 4"], AUTHORS_IDK: _PRINTED["Table 4"][AUTHORS_ROW]}
    theirs, ours = test.variants({v.metric: v for v in list_variants() if _is_as_proposed(v)})
    own_names = {**{v.metric: v.short for v in list_variants() if _is_as_proposed(v)}, OWN_HEAD: OWN_HEAD}
    theirs, ours = {**test.theirs, **theirs}, {**test.ours, **ours, OWN_HEAD: test.own.scores(OWN_HEAD)}
    for row in dict.fromkeys([*printed, *theirs, *ours]):
        value = sensitivity_ratio(theirs[row].runs) if row in theirs else math.nan
        interval = test.prior.ratio(row) if row in test.theirs else None
        note = "" if row in ours and row not in theirs else notes.get(row, "")
        yield _with_interval(RATIO, row, "ratio", printed.get(row), value, interval, note)
        if row in ours:
            interval = test.own.ratio(own_names[row]) if row in own_names else test.prior.ratio(row)
            note = "" if row in theirs else notes.get(row, "")
            yield _with_interval(RATIO, row, "ratio" + OURS, None, sensitivity_ratio(ours[row].runs), interval, note)


def example_figures(humod: RatedColumn, own: Sequence[float]) -> Iterator[Figure]:
    """Table 6: ratings and scores of twelve replies; ``own`` are the scores of our regression for all rows."""
    ids = {name: i for i, name in enumerate(humod.responses)}
    low, high = min(own), max(own)
    for row, known in _PRINTED["Table 6"].items():
        if (i := ids.get(known["response"])) is not None:
            yield Figure(EXAMPLES, row, "people", known["human"], float(humod.ratings[i]))
            yield Figure(EXAMPLES, row, "IDK", known["IDK"], float(humod.others[AUTHORS_ROW][i]))
            scaled = 1 + 4 * (own[i] - low) / (high - low)
            yield Figure(EXAMPLES, row, f"IDK{OURS}", None, scaled)


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
