"""Which metric to trust: each one's agreement with people, next to trivial baselines and what people themselves reach.

A pooled correlation mixes two things: telling systems apart, and telling a system's good replies from its bad ones. So
each metric is shown at four levels (pooled, within systems, within items, between systems), next to an oracle that
knows only which system wrote the reply.

Replies of one dialogue are not independent of each other, so whole dialogues are resampled for intervals, and the
permutation test swaps two metrics for whole dialogues.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.rated_scores import RatedScores, collect_rated_scores
from rejoinder.comparison.shared_base_models import find_shared_families
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.engines.base import Engine
from rejoinder.errors import InputError
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.stats.agreement import Agreement, krippendorff_alpha
from rejoinder.stats.bootstrap import BootstrapPlan, Progress, ResampledCorrelations, resample_plans
from rejoinder.stats.ceiling import Ceiling, SplitHalf, one_against_rest, split_half
from rejoinder.stats.correlation import Method
from rejoinder.stats.holm import holm
from rejoinder.stats.interval import Interval
from rejoinder.stats.levels import Level
from rejoinder.stats.pairwise_accuracy import PairwiseAccuracy, calibrated_accuracy
from rejoinder.stats.permutation import permutation_test
from rejoinder.stats.rating_matrix import RatingMatrix
from rejoinder.stats.resampling import IntervalKind, bootstrap_p_value
from rejoinder.types import is_unnamed

LEVELS: tuple[Level, ...] = ("pooled", "within_system", "within_item", "system")
TrustTest: TypeAlias = Literal["bootstrap", "permutation"]
ALPHA = 0.05


class MetricAgreement(NamedTuple):
    """How one metric (or baseline) agrees with the mean ratings: at each level, and in ordering pairs of replies."""

    name: str
    is_baseline: bool
    levels: Mapping[Level, Interval]
    accuracy: PairwiseAccuracy


class AgreementDifference(NamedTuple):
    """One metric's agreement minus another's."""

    first: str
    second: str
    difference: float
    p: float
    corrected: float

    @property
    def survives(self) -> bool:
        """Whether the first is significantly better after correction."""
        return self.corrected < ALPHA


@dataclass(frozen=True)
class Trust:
    """What the ratings of one aspect say about the metrics of a run."""

    evidence: RatedScores
    method: Method
    test: TrustTest
    metrics: Sequence[MetricAgreement]
    baselines: Sequence[MetricAgreement]
    differences: Mapping[Level, Sequence[AgreementDifference]]
    one_rater: Ceiling
    halves: SplitHalf
    agreement: Agreement
    shared_families: Sequence[tuple[str, str, str]]


def trust(
    run: Scores | Run | str | Path,
    data: Collection | str | Path | None = None,
    aspect: str | None = None,
    method: Method = "spearman",
    test: TrustTest = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Trust:
    """How well every metric of a run agrees with the ratings of one aspect, next to trivial baselines.

    - ``run``: the run folder, or scores.
    - ``data``: the ratings, where they are not in the run folder: a collection or a file.
    - ``aspect``: the aspect that was rated; optional where there is only one.
    - ``method``: the correlation: ``spearman``, ``pearson`` or ``kendall``.
    - ``test``: how two metrics are compared: ``bootstrap`` or ``permutation``.
    - ``resamples``: how often dialogues are resampled.
    - ``seed``: the seed of the resamples.
    - ``engine``: what computes; its workers share the resamples, and the numbers are the same.
    - ``progress``: called with the number of resamples done and the total.

    >>> import rejoinder
    >>> trust = rejoinder.trust("RUN", aspect="appropriate")
    >>> {metric.name: metric.levels["pooled"].value > 0 for metric in trust.metrics}
    {'aptness': True, 'meteor': True}
    """
    scores = load(run)
    evidence = collect_rated_scores(scores, _resolve_data(run, data), aspect)
    plan = make_bootstrap_plan(evidence.is_clustered, method, resamples, seed)
    resampled = _resample_levels(evidence, plan, engine, progress)
    rows = [
        MetricAgreement(
            name,
            name in evidence.baselines,
            {level: _metric_interval(resampled[level], name, plan) for level in LEVELS},
            calibrated_accuracy(column, evidence.mean, evidence.items),
        )
        for name, column in {**evidence.scores, **evidence.baselines}.items()
    ]
    compared: tuple[Level, ...] = ("pooled", "within_system")
    ratings = evidence.matrix.values
    return Trust(
        evidence,
        method,
        test,
        [row for row in rows if not row.is_baseline],
        [row for row in rows if row.is_baseline],
        {level: _compare_metrics(evidence, resampled[level], replace(plan, at=level), test) for level in compared},
        _measure_ceiling(evidence.matrix, method),
        split_half(ratings, evidence.systems, method, n_splits=200, seed=seed),
        krippendorff_alpha(ratings, "ordinal"),
        find_shared_families(scores.metrics, scores.systems),
    )


def _measure_ceiling(matrix: RatingMatrix, method: Method) -> Ceiling:
    """One rater against the rest; where raters have no names, every rating against the mean of the others."""
    ceiling = one_against_rest(matrix.values, method)
    if not any(is_unnamed(str(rater)) for rater in matrix.raters):
        return ceiling
    return ceiling._replace(value=ceiling.pooled.value, n_raters=0, n_left_out=0, reason=ceiling.pooled.reason)


def _resample_levels(
    evidence: RatedScores, plan: BootstrapPlan, engine: Engine | None, progress: Progress | None
) -> dict[Level, ResampledCorrelations]:
    """The correlations of all metrics and baselines with the ratings at every level, with resamples."""
    resampled = resample_plans(
        {**evidence.scores, **evidence.baselines},
        evidence.mean,
        [replace(plan, at=level) for level in LEVELS],
        systems=evidence.systems,
        items=evidence.items,
        dialogues=evidence.dialogues,
        engine=engine,
        progress=progress,
    )
    return dict(zip(LEVELS, resampled, strict=True))


def _resolve_data(run: Scores | Run | str | Path, data: Collection | str | Path | None) -> Collection:
    """The ratings: those in ``data``, else those of the run folder."""
    if isinstance(data, Collection):
        return data
    if data is not None:
        return read(data, allow_empty=True)
    if isinstance(run, Scores):
        raise InputError("scores alone hold no ratings; give the data too, or the run folder")
    return load_data(run.folder if isinstance(run, Run) else run)


def make_bootstrap_plan(is_clustered: bool, method: Method, resamples: int, seed: int) -> BootstrapPlan:
    """The plan to resample dialogues, without the correction for ties where a dialogue has several items.

    There the spread between dialogues outweighs the effect of ties, and the correction narrows the interval: it would
    contain the truth in 93% instead of 94% (docs/results/trust-coverage.md).
    """
    kind: IntervalKind = "expanded" if is_clustered else "corrected"
    return BootstrapPlan(resample="dialogues", method=method, n_resamples=resamples, seed=seed, kind=kind)


def _metric_interval(resampled: ResampledCorrelations, name: str, plan: BootstrapPlan) -> Interval:
    i = resampled.names.index(name)
    counts = int(resampled.n[i]), int(resampled.n_missing[i]), int(resampled.n_units[i])
    return plan.interval(float(resampled.values[i]), resampled.samples[:, i], *counts)


def _compare_metrics(
    evidence: RatedScores, resampled: ResampledCorrelations, plan: BootstrapPlan, test: TrustTest
) -> list[AgreementDifference]:
    """Every pair of metrics, the better first, with p-values corrected over all pairs."""
    values = dict(zip(resampled.names, resampled.values, strict=True))
    names = sorted((n for n in evidence.scores if not np.isnan(values[n])), key=lambda n: -values[n])
    pairs = []
    for first, second in itertools.combinations(names, 2):
        if test == "permutation":
            result = permutation_test(
                evidence.scores[first],
                evidence.scores[second],
                evidence.mean,
                systems=evidence.systems,
                items=evidence.items,
                dialogues=evidence.dialogues,
                at=plan.at,
                swap="dialogues",
                method=plan.method,
                n_permutations=plan.n_resamples,
                seed=plan.seed,
            )
            p = result.p
        else:
            p = _bootstrap_p(resampled, first, second, plan)
        pairs.append(AgreementDifference(first, second, float(values[first] - values[second]), p, np.nan))
    corrected = holm([pair.p for pair in pairs])
    return [pair._replace(corrected=float(c)) for pair, c in zip(pairs, corrected, strict=True)]


def _bootstrap_p(resampled: ResampledCorrelations, first: str, second: str, plan: BootstrapPlan) -> float:
    """The p-value of a difference between two metrics, from the resamples in which the better one is not better."""
    a, b = resampled.names.index(first), resampled.names.index(second)
    n_units = int(min(resampled.n_units[a], resampled.n_units[b]))
    return bootstrap_p_value(resampled.samples[:, a] - resampled.samples[:, b], n_units, plan.kind)
