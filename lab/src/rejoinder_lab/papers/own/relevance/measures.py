"""The correlations of the relevance columns, and their macro average, worst column and sensitivity.

Every column is resampled by whole dialogues (or contexts) with a seed of its own, so the mean over columns on each
resample is a resample of the macro average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from rejoinder.comparison.rated_scores import ORACLE, RatedScores, Values, collect_rated_scores
from rejoinder.metric import NAN
from rejoinder.scoring.api import score
from rejoinder.stats.bootstrap import BootstrapPlan, resample_correlations
from rejoinder.stats.interval import Interval
from rejoinder.stats.sensitivity import domain_sensitivity
from rejoinder_lab.papers.own.relevance.rows import UNKNOWN, RelevanceRows

StoredScores: TypeAlias = Mapping[tuple[str, str], float]  # by column and reply
AUTHORS_ROW = "IDK (H)"  # the published rows carry the scores of one of the authors' runs


@dataclass(frozen=True)
class ScoredColumn:
    """A column's evidence: every row's rating and scores; ``metrics`` has the signature behind each spec."""

    rows: RelevanceRows
    evidence: RatedScores
    metrics: Mapping[str, str]
    stored: Mapping[str, Values] = field(default_factory=dict)  # scores of networks that are not here, by row
    stored_by: Mapping[str, str] = field(default_factory=dict)  # whose they are, by row

    def with_stored(self, scores: Sequence[tuple[str, str, StoredScores]]) -> ScoredColumn:
        """Return the column with stored scores: the row's name, whose they are, and the score of each reply."""
        name = self.rows.column.name
        return replace(
            self,
            stored={row: np.array([of[name, one] for one in self.evidence.responses]) for row, _, of in scores},
            stored_by={row: signature for row, signature, _ in scores},
        )

    @property
    def has_systems(self) -> bool:
        """Whether the systems of (nearly all) rows are known."""
        return any(system != UNKNOWN for system in self.evidence.systems)

    def columns(self) -> dict[str, Values]:
        """What is correlated with the ratings: the metrics, the authors' IDK, and the oracle if systems are known."""
        scores = {**self.evidence.scores, **self.stored}
        replies = [self.rows.data.responses[name] for name in self.evidence.responses]
        if all("idk" in reply.meta for reply in replies):
            scores[AUTHORS_ROW] = np.array([reply.meta["idk"] for reply in replies])
        if self.has_systems:
            known = np.array([system != UNKNOWN for system in self.evidence.systems])
            scores[ORACLE] = np.where(known, self.evidence.baselines[ORACLE], NAN)
        return scores


@dataclass(frozen=True)
class ColumnCorrelation:
    """One row's correlation in one column, with its values on the resamples."""

    interval: Interval
    samples: Values


def score_relevance_rows(rows: RelevanceRows, specs: Sequence[str]) -> ScoredColumn:
    """Score a column's rows under every spec."""
    scores = score(rows.data, specs)
    return ScoredColumn(rows, collect_rated_scores(scores, rows.data, rows.column.aspect), scores.metrics)


def correlate_column(scored: ScoredColumn, plan: BootstrapPlan) -> dict[str, ColumnCorrelation]:
    """Every row's correlation in a column; within systems only rows whose system is known count, and no oracle."""
    evidence = scored.evidence
    columns = scored.columns()
    if plan.at == "within_system":
        known = np.array([system != UNKNOWN for system in evidence.systems])
        columns = {name: np.where(known, values, NAN) for name, values in columns.items() if name != ORACLE}
    plan = replace(plan, seed=scored.rows.column.seed)
    units = [scored.rows.units[name] for name in evidence.responses]
    return correlate_scores(columns, evidence.mean, plan, units, evidence.systems)


def correlate_scores(
    scores: Mapping[str, Values],
    ratings: Values,
    plan: BootstrapPlan,
    units: Sequence[str] | None,
    systems: Sequence[str] | None = None,
) -> dict[str, ColumnCorrelation]:
    """The correlation of each row's scores with the ratings; ``units`` are what is resampled."""
    done = resample_correlations(scores, ratings, plan, systems=systems, items=units)
    counts = zip(done.n.tolist(), done.n_missing.tolist(), done.n_units.tolist(), strict=True)
    return {
        name: ColumnCorrelation(plan.interval(float(value), samples, *of_name), samples)
        for name, value, samples, of_name in zip(done.names, done.values, done.samples.T, counts, strict=True)
    }


def macro_average(correlations: Sequence[ColumnCorrelation], plan: BootstrapPlan) -> Interval:
    """Return the mean over columns, counting as many units as the column with the fewest."""
    value = float(np.mean([one.interval.value for one in correlations]))
    return plan.interval(value, np.mean([one.samples for one in correlations], axis=0), *_sum_counts(correlations))


def find_worst_column(correlations: Mapping[str, ColumnCorrelation]) -> tuple[str, Interval]:
    """The column with the lowest correlation (or without one) and that column's own interval."""
    values = {name: one.interval.value for name, one in correlations.items()}
    column = min(values, key=lambda name: -math.inf if math.isnan(values[name]) else values[name])
    return column, correlations[column].interval


def column_sensitivity(correlations: Sequence[ColumnCorrelation], plan: BootstrapPlan) -> Interval:
    """Return the ratio of the best to the worst correlation; no interval if the worst is often not positive."""
    value = domain_sensitivity([one.interval.value for one in correlations]).value
    samples = np.stack([one.samples for one in correlations])
    low = samples.min(axis=0)
    ratios = np.divide(samples.max(axis=0), low, out=np.full_like(low, NAN), where=low > 0)
    return plan.interval(value if np.isfinite(value) else NAN, ratios, *_sum_counts(correlations))


def _sum_counts(correlations: Sequence[ColumnCorrelation]) -> tuple[int, int, int]:
    intervals = [one.interval for one in correlations]
    return sum(i.n for i in intervals), sum(i.n_missing for i in intervals), min(i.n_clusters for i in intervals)
