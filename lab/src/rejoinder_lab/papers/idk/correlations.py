"""Correlations of scores with ratings: every run of a row, their mean and its interval over resampled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.interval import Interval
from rejoinder.stats.sensitivity import domain_sensitivity
from rejoinder_lab.papers.idk.authors import BASELINES
from rejoinder_lab.papers.idk.rows import METHODS, SPEARMAN, RatedColumn
from rejoinder_lab.papers.idk.variants import IdkVariant, Runs
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW, ColumnCorrelation, column_sensitivity
from rejoinder_lab.papers.own.relevance.rows import FIVE
from rejoinder_lab.training.idk import IdkRegression

HEAD, OWN_HEAD = "BERT NSP", "nsp (the head of aptness's cross-encoder)"
AUTHORS_IDK = f"{AUTHORS_ROW}, the authors' scores of one run"


class RowScores(NamedTuple):
    """A row's correlations, one set of cells per run, and the intervals of their means."""

    runs: Sequence[Mapping[str, float]]
    intervals: Mapping[str, Interval] = {}


def mean_over_runs(runs: Sequence[Mapping[str, float]], cell: str) -> float:
    """Return the mean over runs, NaN if there is none or the column was not measured."""
    return float(np.mean([run.get(cell, math.nan) for run in runs])) if runs else math.nan


def sensitivity_ratio(runs: Sequence[Mapping[str, float]]) -> float:
    """Return the ratio of the best to the worst mean Spearman, NaN if it is infinite or a column is missing."""
    means = [mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE]
    ratio = domain_sensitivity(means).value
    return ratio if math.isfinite(ratio) and not any(map(math.isnan, means)) else math.nan


class ScoredRows(NamedTuple):
    """The correlations of row-by-row scores in every cell, and the names of the scores of each row's runs."""

    cells: Mapping[str, Mapping[str, ColumnCorrelation]]  # cell -> name of the scores -> correlation
    names: Mapping[str, Sequence[str]]  # row -> names of the scores

    def runs(self, row: str) -> list[dict[str, float]]:
        """The correlations of a row's runs."""
        return [
            {cell: by_name[name].interval.value for cell, by_name in self.cells.items() if name in by_name}
            for name in self.names[row]
        ]

    def mean(self, row: str, cell: str) -> ColumnCorrelation | None:
        """The mean over a row's runs and its values on the resamples; None where no reply was scored."""
        by_name = self.cells.get(cell, {})
        runs = [by_name[name] for name in self.names.get(row, ()) if name in by_name]
        if not runs or not all(run.interval.n for run in runs):
            return None
        value, samples = (np.mean([run.interval.value for run in runs]), np.mean([run.samples for run in runs], axis=0))
        n, n_missing, n_units = runs[0].interval[3:6]
        interval = BootstrapPlan().interval(float(value), samples, n, n_missing, n_units)
        return ColumnCorrelation(interval, samples)

    def scores(self, row: str) -> RowScores:
        """The runs of a row and the intervals of their means."""
        means = ((cell, self.mean(row, cell)) for cell in self.cells)
        return RowScores(self.runs(row), {cell: mean.interval for cell, mean in means if mean is not None})

    def ratio(self, row: str) -> Interval | None:
        """The ratio of best to worst Spearman, where every reply of every set has a score."""
        means = [self.mean(row, f"{column} {SPEARMAN}") for column in FIVE]
        whole = [mean for mean in means if mean is not None and not mean.interval.n_missing]
        return column_sensitivity(whole, BootstrapPlan()) if len(whole) == len(FIVE) else None

    def spearmans(self, row: str) -> list[ColumnCorrelation]:
        """The correlations of a row's first run in the five columns."""
        return [self.cells[f"{column} {SPEARMAN}"][self.names[row][0]] for column in FIVE]


def correlate_rows(columns: Sequence[RatedColumn], names: Mapping[str, Sequence[str]]) -> ScoredRows:
    """Correlate the scores of some columns with the ratings."""
    return ScoredRows({f"{one.name} {kind}": one.resampled(kind) for one in columns for kind in METHODS}, names)


def correlate_regressions(columns: Sequence[RatedColumn], runs: Runs, head: IdkRegression) -> ScoredRows:
    """The same for our regressions, every run of every variant by its name in Table 10, and for the bare head."""
    rows = {**{variant.short: fits for variant, fits in runs.items()}, OWN_HEAD: [head]}
    fits = {f"{row}, run {i}": fitted for row, of_row in rows.items() for i, fitted in enumerate(of_row)}
    scored = [replace(one, others={name: one.scores(fitted) for name, fitted in fits.items()}) for one in columns]
    return correlate_rows(
        scored, {row: [f"{row}, run {i}" for i in range(len(of_row))] for row, of_row in rows.items()}
    )


class Measured(NamedTuple):
    """What the tables are made from: the authors' correlations, those of prior metrics, those of our regressions."""

    authors: Mapping[IdkVariant, Sequence[Mapping[str, float]]]  # none where their file is missing
    prior: ScoredRows
    own: ScoredRows

    @property
    def theirs(self) -> dict[str, RowScores]:
        """The rows of prior metrics by the authors' scores."""
        return {row: self.prior.scores(row) for row in self.prior.names if row in (*BASELINES, AUTHORS_IDK)}

    @property
    def ours(self) -> dict[str, RowScores]:
        """The rows of prior metrics by models that are here."""
        return {row: self.prior.scores(row) for row in self.prior.names if row not in (*BASELINES, AUTHORS_IDK)}

    def variants(self, names: Mapping[str, IdkVariant]) -> tuple[dict[str, RowScores], dict[str, RowScores]]:
        """The rows of some variants, theirs and ours, by the name in a table."""
        theirs = {name: RowScores(self.authors[one]) for name, one in names.items() if one in self.authors}
        return theirs, {name: self.own.scores(one.short) for name, one in names.items()}
