"""Do two systems differ? McNemar's test on the questions that both answered, with Holm's correction for all pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import NAN
from rejoinder.stats.holm import holm
from rejoinder.stats.mcnemar import mcnemar_test
from rejoinder.stats.paired_difference import difference_interval, sign_flip_test
from rejoinder.table import Estimate

ALPHA = 0.05
_RESAMPLES, _PERMUTATIONS = 2000, 4999


class SystemDifference(NamedTuple):
    """One system against another: the questions that one alone got right, and whether that may be chance.

    ``by_cluster`` is the p-value of swapping the systems dialogue by dialogue, ties included: where questions belong
    together, or points were shared, McNemar's test alone would be too sure. Both are corrected.
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


def differences(selected: SelectionResult, order: Sequence[str], seed: int = 0) -> list[SystemDifference]:
    """Every pair of systems, the one that stands first in ``order`` first."""
    found = [_compare_systems(selected, first, second, seed) for first, second in itertools.combinations(order, 2)]
    corrected = holm([one.p for one in found]).tolist()
    by_cluster = holm([one.by_cluster for one in found]).tolist()
    return [one._replace(corrected=c, by_cluster=b) for one, c, b in zip(found, corrected, by_cluster, strict=True)]


def _compare_systems(selected: SelectionResult, first: str, second: str, seed: int) -> SystemDifference:
    x, y = selected.points[first], selected.points[second]
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, clusters = x[both], y[both], selected.clusters[both]
    whole = np.isin(x, (0, 1)) & np.isin(y, (0, 1))
    test = mcnemar_test(x[whole], y[whole])
    interval = difference_interval(x, y, clusters, n_resamples=_RESAMPLES, seed=seed)
    swapped = sign_flip_test(x, y, clusters, n_permutations=_PERMUTATIONS, seed=seed)
    return SystemDifference(
        first,
        second,
        len(x),
        int((x[whole] > y[whole]).sum()),
        int((x[whole] < y[whole]).sum()),
        Estimate(interval.value, interval.low, interval.high),
        test.p,
        NAN,
        swapped.p,
    )


def summarise_differences(order: Sequence[str], found: Sequence[SystemDifference]) -> str:
    """Which system is ahead of which, in one sentence."""
    if len(order) < 2:
        return "Fewer than two systems answered, so there is nothing to compare."
    best = order[0]
    beaten = [one.second for one in found if one.first == best and one.survives and one.difference.value > 0]
    still = [system for system in order[1:] if system not in beaten]
    if not beaten:
        return f"{best} comes first, but no difference to another system survives correction."
    rest = f"; the difference to {_join_names(still)} may be chance" if still else ""
    return f"{best} is surely ahead of {_join_names(beaten)}{rest}."


def _join_names(names: Sequence[str]) -> str:
    if len(names) > 6:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
