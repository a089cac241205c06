"""Accuracy with an interval, and the ranks that each system may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import Labels, Numbers
from rejoinder.stats.interval import share_interval
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Estimate

RESAMPLES = 2000


class SystemStanding(NamedTuple):
    """One system: how many questions it answered, how many with a tie for the top, its accuracy and its ranks."""

    system: str
    n: int
    unanswered: int
    ties: int
    accuracy: Estimate
    rank: float
    low: float
    high: float


def standings(selected: SelectionResult, seed: int = 0) -> list[SystemStanding]:
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
        found.append(
            SystemStanding(system, size - unanswered, unanswered, ties, accuracy, place.rank, place.low, place.high)
        )
    return found


def proportion(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Estimate:
    """The mean of values from 0 to 1 with Wilson's interval, for as many questions as the clusters are worth."""
    found = share_interval(values, clusters, level)
    return Estimate(found.value, found.low, found.high)


def format_rank_range(one: SystemStanding) -> str | None:
    """The ranks as they are shown: 2 or 1–3."""
    if math.isnan(one.low) or math.isnan(one.high):
        return None
    return f"{one.low:g}" if one.low == one.high else f"{one.low:g}–{one.high:g}"


def accuracy_over_all(one: SystemStanding) -> float:
    """The accuracy of a system if what it did not answer were wrong."""
    return one.accuracy.value * one.n / (one.n + one.unanswered) if one.n else 0.0


def list_answering_systems(found: Sequence[SystemStanding]) -> list[str]:
    """The systems that answered anything, in their order."""
    return [one.system for one in found if one.n]
