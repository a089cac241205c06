"""Which metric to believe: each one's agreement with people, beside trivial baselines and what people themselves reach.

A pooled correlation mixes two things: telling systems apart, and telling a system's good replies from its bad ones. So
each metric is shown at four levels (pooled, within systems, within items, between systems), beside an oracle that knows
nothing but which system wrote the reply.

Replies of one dialogue are not independent of each other, so whole dialogues are resampled for intervals, and two
metrics change places for whole dialogues in the permutation test.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.rated_scores import Evidence, gather_evidence
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
from rejoinder.stats.pairwise import PairwiseAccuracy, calibrated_accuracy
from rejoinder.stats.permutation import permutation_test
from rejoinder.stats.resampling import IntervalKind, bootstrap_p_value

LEVELS: tuple[Level, ...] = ("pooled", "within_system", "within_item", "system")
TrustTest: TypeAlias = Literal["bootstrap", "permutation"]
ALPHA = 0.05


class MetricAgreement(NamedTuple):
    """How one metric (or baseline) agrees with the mean ratings: at each level, and in ordering pairs of replies."""

    name: str
    is_baseline: bool
    levels: Mapping[Level, Interval]
    accuracy: PairwiseAccuracy


class Difference(NamedTuple):
    """One metric's agreement less another's."""

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
    """What the ratings of one aspect say of the metrics of a run."""

    evidence: Evidence
    method: Method
    test: TrustTest
    metrics: Sequence[MetricAgreement]
    baselines: Sequence[MetricAgreement]
    differences: Mapping[Level, Sequence[Difference]]
    one_rater: Ceiling
    halves: SplitHalf
    agreement: Agreement
    kin: Sequence[tuple[str, str, str]]


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
    """How well every metric of a run agrees with the ratings of one aspect, beside trivial baselines.

    - ``run``: the run folder, or scores.
    - ``data``: the ratings, where they are not in the run folder: a collection or a file.
    - ``aspect``: the aspect that was rated; it may be left out where there is one.
    - ``method``: the correlation: ``spearman``, ``pearson`` or ``kendall``.
    - ``test``: how two metrics are compared: ``bootstrap`` or ``permutation``.
    - ``resamples``: how often dialogues are resampled.
    - ``seed``: the seed of the resamples.
    - ``engine``: what computes; its workers share the resamples, and the numbers are the same.
    - ``progress``: is told how many resamples are done, and of how many.

    >>> import rejoinder
    >>> trust = rejoinder.trust("RUN", aspect="appropriate")
    >>> {metric.name: metric.levels["pooled"].value > 0 for metric in trust.metrics}
    {'aptness': True, 'meteor': True}
    """
    scores, data = load(run), _resolve_data(run, data)
    evidence = gather_evidence(scores, data, aspect)
    everything = {**evidence.scores, **evidence.baselines}
    plan = make_bootstrap_plan(evidence.is_clustered, method, resamples, seed)
    plans = [replace(plan, at=level) for level in LEVELS]
    found = resample_plans(
        everything,
        evidence.mean,
        plans,
        systems=evidence.systems,
        items=evidence.items,
        dialogues=evidence.dialogues,
        engine=engine,
        progress=progress,
    )
    resampled = dict(zip(LEVELS, found, strict=True))
    rows = [
        MetricAgreement(
            name,
            name in evidence.baselines,
            {level: _metric_interval(resampled[level], name, plan) for level in LEVELS},
            calibrated_accuracy(column, evidence.mean, evidence.items),
        )
        for name, column in everything.items()
    ]
    differences: dict[Level, list[Difference]] = {}
    for level in ("pooled", "within_system"):
        differences[level] = _compare_metrics(evidence, resampled[level], replace(plan, at=level), test)
    ratings = evidence.matrix.values
    return Trust(
        evidence,
        method,
        test,
        [row for row in rows if not row.is_baseline],
        [row for row in rows if row.is_baseline],
        differences,
        one_against_rest(ratings, method),
        split_half(ratings, evidence.systems, method, n_splits=200, seed=seed),
        krippendorff_alpha(ratings, "ordinal"),
        find_shared_families(scores.metrics, scores.systems),
    )


def _resolve_data(run: Scores | Run | str | Path, data: Collection | str | Path | None) -> Collection:
    """The ratings: those that are given, else those of the run folder."""
    if isinstance(data, Collection):
        return data
    if data is not None:
        return read(data, allow_empty=True)
    if isinstance(run, Scores):
        raise InputError("scores alone hold no ratings; give the data too, or the run folder")
    return load_data(run.folder if isinstance(run, Run) else run)


def make_bootstrap_plan(is_clustered: bool, method: Method, resamples: int, seed: int) -> BootstrapPlan:
    """Dialogues are resampled; the correction for ties is left out where a dialogue has several items.

    There the spread between dialogues outweighs what ties do, and correcting for it narrows the interval: it would hold
    the truth in 93% instead of 94% (docs/results/trust-coverage.md).
    """
    kind: IntervalKind = "expanded" if is_clustered else "corrected"
    return BootstrapPlan(resample="dialogues", method=method, n_resamples=resamples, seed=seed, kind=kind)


def _metric_interval(found: ResampledCorrelations, name: str, plan: BootstrapPlan) -> Interval:
    i = found.names.index(name)
    counts = int(found.n[i]), int(found.n_missing[i]), int(found.n_units[i])
    return plan.interval(float(found.values[i]), found.samples[:, i], *counts)


def _compare_metrics(
    evidence: Evidence, found: ResampledCorrelations, plan: BootstrapPlan, test: TrustTest
) -> list[Difference]:
    """Every pair of metrics, the better first, with p-values corrected over all pairs."""
    values = dict(zip(found.names, found.values, strict=True))
    names = sorted((n for n in evidence.scores if not np.isnan(values[n])), key=lambda n: -values[n])
    pairs = []
    for first, second in itertools.combinations(names, 2):
        if test == "permutation":
            done = permutation_test(
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
            p = done.p
        else:
            p = _bootstrap_p(found, first, second, plan)
        pairs.append(Difference(first, second, float(values[first] - values[second]), p, np.nan))
    corrected = holm([pair.p for pair in pairs])
    return [pair._replace(corrected=float(c)) for pair, c in zip(pairs, corrected, strict=True)]


def _bootstrap_p(found: ResampledCorrelations, first: str, second: str, plan: BootstrapPlan) -> float:
    """How surely the better metric is the better one, by the resamples in which it is not."""
    a, b = found.names.index(first), found.names.index(second)
    n_units = int(min(found.n_units[a], found.n_units[b]))
    return bootstrap_p_value(found.samples[:, a] - found.samples[:, b], n_units, plan.kind)
