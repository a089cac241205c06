"""Which metric to believe: each one's agreement with people, beside trivial baselines and what people themselves reach.

A pooled correlation mixes two things: telling systems apart, and telling a system's good replies from its bad ones. So
each metric is shown at four levels (pooled, within systems, within items, between systems), beside an oracle that knows
nothing but which system wrote the reply.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.engines.contract import Engine
from rejoinder.scoring.result import Scores
from rejoinder.stats.agreement import Agreement
from rejoinder.stats.alpha import krippendorff_alpha
from rejoinder.stats.bootstrap import Plan, Resampled, resample_plans
from rejoinder.stats.by_engine import Progress
from rejoinder.stats.ceiling import Ceiling, SplitHalf, one_against_rest, split_half
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval
from rejoinder.stats.levels import Level
from rejoinder.stats.multiple import holm
from rejoinder.stats.pairwise import PairwiseAccuracy, calibrated_accuracy
from rejoinder.stats.permutation import permutation_test
from rejoinder.verdict.evidence import Evidence, gather
from rejoinder.verdict.kinship import shared

LEVELS: tuple[Level, ...] = ("pooled", "within_system", "within_item", "system")
Test: TypeAlias = Literal["bootstrap", "permutation"]
ALPHA = 0.05


class Agreeing(NamedTuple):
    """How one metric (or baseline) agrees with the mean ratings: at each level, and in ordering pairs of replies."""

    name: str
    is_baseline: bool
    levels: Mapping[Level, Interval]
    accuracy: PairwiseAccuracy


class Better(NamedTuple):
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
    test: Test
    metrics: Sequence[Agreeing]
    baselines: Sequence[Agreeing]
    differences: Mapping[Level, Sequence[Better]]
    one_rater: Ceiling
    halves: SplitHalf
    agreement: Agreement
    kin: Sequence[tuple[str, str, str]]


def trust(
    scores: Scores,
    data: Collection,
    aspect: str | None = None,
    method: Method = "spearman",
    test: Test = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Trust:
    """Hold every metric of a run against the ratings of one aspect; workers of an engine share the resamples."""
    evidence = gather(scores, data, aspect)
    everything = {**evidence.scores, **evidence.baselines}
    plans = [_plan(level, method, resamples, seed) for level in LEVELS]
    units = {"systems": evidence.systems, "items": evidence.items}
    found = resample_plans(everything, evidence.mean, plans, **units, engine=engine, progress=progress)
    resampled = dict(zip(LEVELS, found, strict=True))
    rows = [
        Agreeing(
            name,
            name in evidence.baselines,
            {level: _interval(resampled[level], name, level, method, resamples, seed) for level in LEVELS},
            calibrated_accuracy(column, evidence.mean, evidence.items),
        )
        for name, column in everything.items()
    ]
    differences: dict[Level, list[Better]] = {}
    for level in ("pooled", "within_system"):
        differences[level] = _differences(evidence, resampled[level], level, method, test, resamples, seed)
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
        shared(scores.metrics, scores.systems),
    )


def _plan(level: Level, method: Method, resamples: int, seed: int) -> Plan:
    return Plan(at=level, resample="items", method=method, n_resamples=resamples, seed=seed)


def _interval(found: Resampled, name: str, level: Level, method: Method, resamples: int, seed: int) -> Interval:
    i = found.names.index(name)
    counts = int(found.n[i]), int(found.n_missing[i]), int(found.n_units[i])
    return _plan(level, method, resamples, seed).interval(float(found.values[i]), found.samples[:, i], *counts)


def _differences(
    evidence: Evidence, found: Resampled, level: Level, method: Method, test: Test, resamples: int, seed: int
) -> list[Better]:
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
                at=level,
                swap="both",
                method=method,
                n_permutations=resamples,
                seed=seed,
            )
            p = done.p
        else:
            p = _bootstrap_p(found, first, second)
        pairs.append(Better(first, second, float(values[first] - values[second]), p, np.nan))
    corrected = holm([pair.p for pair in pairs])
    return [pair._replace(corrected=float(c)) for pair, c in zip(pairs, corrected, strict=True)]


def _bootstrap_p(found: Resampled, first: str, second: str) -> float:
    """Twice the share of resamples in which the better metric is not the better one."""
    samples = found.samples[:, found.names.index(first)] - found.samples[:, found.names.index(second)]
    samples = samples[~np.isnan(samples)]
    if not len(samples):
        return float("nan")
    return min(1.0, 2 * (1 + int((samples <= 0).sum())) / (1 + len(samples)))
