"""Accuracy with an interval, and the ranks that each system may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.report.table import Estimate
from rejoinder.selection.result import Selected
from rejoinder.stats.arrays import NAN, Labels, Numbers
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.rank_range import rank_ranges

RESAMPLES = 2000


class Standing(NamedTuple):
    """One system: how many questions it answered, how many with a tie for the top, its accuracy and its ranks."""

    system: str
    n: int
    unanswered: int
    ties: int
    accuracy: Estimate
    rank: float
    low: float
    high: float


def standings(selected: Selected, seed: int = 0) -> list[Standing]:
    """All systems, the most accurate first; whole dialogues (or contexts) are drawn again for the ranks."""
    systems, size = selected.systems, len(selected.questions)
    values = np.concatenate([selected.points[system] for system in systems])
    codes = np.repeat(np.arange(len(systems)), size)
    ranked = rank_ranges(values, codes, np.tile(selected.clusters, len(systems)), n_resamples=RESAMPLES, seed=seed)
    found = []
    for place in ranked.ranges:
        system = systems[place.system]
        mine = selected.points[system]
        unanswered = int(np.isnan(mine).sum())
        ties = sum(len(places) > 1 for places in selected.chosen[system])
        accuracy = proportion(mine, selected.clusters)
        found.append(Standing(system, size - unanswered, unanswered, ties, accuracy, place.rank, place.low, place.high))
    return found


def proportion(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Estimate:
    """The mean of values from 0 to 1 with Wilson's interval (1927), for as many questions as the clusters are worth.

    The number of questions is divided by the design effect: the cluster-robust variance of the mean over that of
    independent zeros and ones, and never less than 1 (Korn and Graubard 1998). Where all values are 0 or all are 1 no
    variance can be seen, and each cluster counts as one question. Student's t stands for the normal quantile.
    """
    from scipy.special import stdtrit

    found = mean_interval(values, clusters, level)
    mean, n = found.value, found.n
    if math.isnan(mean) or found.n_clusters < 2:
        return Estimate(mean, NAN, NAN)
    t = float(stdtrit(found.n_clusters - 1, (1 + level) / 2))
    independent = mean * (1 - mean) / n * found.n_clusters / (found.n_clusters - 1)
    effect = n / found.n_clusters
    if independent > 0 and found.high > found.low:
        effect = max(1.0, ((found.high - mean) / t) ** 2 / independent)
    worth = n / effect
    middle = (mean + t * t / (2 * worth)) / (1 + t * t / worth)
    reach = t / (1 + t * t / worth) * math.sqrt(mean * (1 - mean) / worth + t * t / (4 * worth * worth))
    # At the ends of the scale the formula gives 0 and 1 but for rounding.
    return Estimate(mean, min(mean, max(0.0, middle - reach)), max(mean, min(1.0, middle + reach)))


def range_of_ranks(one: Standing) -> str | None:
    """The ranks as they are shown: 2 or 1–3."""
    if math.isnan(one.low) or math.isnan(one.high):
        return None
    return f"{one.low:g}" if one.low == one.high else f"{one.low:g}–{one.high:g}"


def wrong_if_unanswered(one: Standing) -> float:
    """The accuracy of a system if what it did not answer were wrong."""
    return one.accuracy.value * one.n / (one.n + one.unanswered) if one.n else 0.0


def answered(found: Sequence[Standing]) -> list[str]:
    """The systems that answered anything, in their order."""
    return [one.system for one in found if one.n]
