"""Accuracy with an interval, the range of ranks of each system, and which differences between systems are real.

Two systems are compared by McNemar's test on the questions that both answered, with Holm's correction over all pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import NAN, Labels, Numbers
from rejoinder.stats.holm import holm
from rejoinder.stats.interval import share_interval
from rejoinder.stats.mcnemar import mcnemar_test
from rejoinder.stats.paired_difference import difference_interval, sign_flip_test
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Estimate, join_names

ALPHA = 0.05
_RESAMPLES, _PERMUTATIONS = 2000, 4999


class AccuracyDifference(NamedTuple):
    """One system vs. another: the questions that only one of them got right, and whether that may be chance.

    ``by_cluster`` is the p-value of swapping the systems dialogue by dialogue, ties included: if questions belong
    together or points were shared, McNemar's test alone would be too confident. ``corrected`` is its p-value after
    Holm's correction; ``by_cluster`` is corrected too.
    """

    first: str
    second: str
    n: int
    only_first: int
    only_second: int
    difference: Estimate
    p: float
    corrected: float
    by_cluster: float

    @property
    def survives(self) -> bool:
        """Whether both tests, corrected for all pairs, find a difference."""
        return max(self.corrected, self.by_cluster) < ALPHA


def accuracy_differences(selected: SelectionResult, order: Sequence[str], seed: int = 0) -> list[AccuracyDifference]:
    """Compare every pair of systems; in each, the one that comes first in ``order`` is the first."""
    pairs = [_compare_systems(selected, first, second, seed) for first, second in itertools.combinations(order, 2)]
    corrected = holm([pair.p for pair in pairs]).tolist()
    by_cluster = holm([pair.by_cluster for pair in pairs]).tolist()
    return [pair._replace(corrected=c, by_cluster=b) for pair, c, b in zip(pairs, corrected, by_cluster, strict=True)]


def _compare_systems(selected: SelectionResult, first: str, second: str, seed: int) -> AccuracyDifference:
    x, y = selected.points[first], selected.points[second]
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, clusters = x[both], y[both], selected.clusters[both]
    whole = np.isin(x, (0, 1)) & np.isin(y, (0, 1))
    test = mcnemar_test(x[whole], y[whole])
    interval = difference_interval(x, y, clusters, n_resamples=_RESAMPLES, seed=seed)
    swap_test = sign_flip_test(x, y, clusters, n_permutations=_PERMUTATIONS, seed=seed)
    return AccuracyDifference(
        first,
        second,
        len(x),
        int((x[whole] > y[whole]).sum()),
        int((x[whole] < y[whole]).sum()),
        Estimate(interval.value, interval.low, interval.high),
        test.p,
        NAN,
        swap_test.p,
    )


def summarise_lead(order: Sequence[str], pairs: Sequence[AccuracyDifference]) -> str:
    """Return one sentence that says which systems the first one is ahead of."""
    if len(order) < 2:
        return "Fewer than two systems answered: nothing to compare."
    best = order[0]
    beaten = [pair.second for pair in pairs if pair.first == best and pair.survives and pair.difference.value > 0]
    undecided = [system for system in order[1:] if system not in beaten]
    tied = [pair.second for pair in pairs if pair.first == best and pair.difference.value == 0]
    if not beaten and tied:
        return f"{join_names([best, *tied])} share the best accuracy: no test tells them apart."
    if not beaten:
        return f"{best} comes first, but none of its differences from other systems survives correction."
    rest = f"; its difference from {join_names(undecided)} may be chance" if undecided else ""
    return f"{best} is clearly ahead of {join_names(beaten)}{rest}."


RESAMPLES = 2000


class AccuracyStanding(NamedTuple):
    """One system: how many questions it answered, how many with a tie for the top, its accuracy and range of ranks."""

    system: str
    n: int
    unanswered: int
    ties: int
    accuracy: Estimate
    rank: float
    low: float
    high: float


def accuracy_standings(selected: SelectionResult, seed: int = 0) -> list[AccuracyStanding]:
    """Return all systems, the most accurate first; the ranks come from resampling whole dialogues (or contexts)."""
    systems, size = selected.systems, len(selected.questions)
    values = np.concatenate([selected.points[system] for system in systems])
    codes = np.repeat(np.arange(len(systems)), size)
    ranked = rank_ranges(values, codes, np.tile(selected.clusters, len(systems)), n_resamples=RESAMPLES, seed=seed)
    rows = []
    for rank_range in ranked.ranges:
        system = systems[rank_range.system]
        points = selected.points[system]
        unanswered = int(np.isnan(points).sum())
        ties = sum(len(places) > 1 for places in selected.chosen[system])
        accuracy = proportion_estimate(points, selected.clusters)
        rows.append(
            AccuracyStanding(
                system, size - unanswered, unanswered, ties, accuracy, rank_range.rank, rank_range.low, rank_range.high
            )
        )
    return rows


def proportion_estimate(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Estimate:
    """The mean of values from 0 to 1 with Wilson's interval for the effective number of questions, given clusters."""
    interval = share_interval(values, clusters, level)
    return Estimate(interval.value, interval.low, interval.high)


def format_rank_range(standing: AccuracyStanding) -> str | None:
    """Return the range of ranks as text, e.g. 2 or 1–3."""
    if math.isnan(standing.low) or math.isnan(standing.high):
        return None
    return f"{standing.low:g}" if standing.low == standing.high else f"{standing.low:g}–{standing.high:g}"


def accuracy_over_all(standing: AccuracyStanding) -> float:
    """The accuracy of a system if unanswered questions count as wrong."""
    return standing.accuracy.value * standing.n / (standing.n + standing.unanswered) if standing.n else 0.0


def list_answering_systems(rows: Sequence[AccuracyStanding]) -> list[str]:
    """Return the systems that answered at least one question, in order."""
    return [standing.system for standing in rows if standing.n]
