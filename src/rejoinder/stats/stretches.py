"""Rows that lie sorted by group, and variables sorted within groups: what ranks under changing counts are read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rejoinder.stats.arrays import Floats, Ints

Number = TypeVar("Number", np.float64, np.int64)
ROUNDING = 1e-13  # a variance below this share of the mean square is rounding: the values are one and the same


@dataclass(frozen=True)
class Stretches:
    """Rows that lie sorted by group, every group one stretch of them."""

    codes: Ints
    starts: Ints

    @classmethod
    def of(cls, codes: Ints) -> Stretches:
        """The stretches of rows whose groups are numbered 0, 1, ... in ascending order without a gap."""
        return cls(codes, np.flatnonzero(np.diff(codes, prepend=-1)))

    def sums(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The sum over each group: (resamples, rows) to (resamples, groups)."""
        if len(self.starts) == 1:
            return np.asarray(values.sum(axis=1, keepdims=True))
        summed: npt.NDArray[Number] = np.add.reduceat(values, self.starts, axis=1)
        return summed

    def spread(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Each group's value to its rows; a single group is left to broadcasting."""
        return values if len(self.starts) == 1 else values.take(self.codes, axis=1)


class Ordering(NamedTuple):
    """A variable sorted within groups: the order, where each run of equal values ends, and the run of each row."""

    order: Ints
    ends: Ints
    runs: Ints

    @classmethod
    def of(cls, values: Floats, groups: Stretches) -> Ordering:
        """Sort one variable; ties and groups make the runs."""
        order = np.lexsort((values, groups.codes))
        ordered, group = values[order], groups.codes[order]
        last = np.ones(len(values), dtype=bool)
        last[:-1] = (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])
        runs = np.empty(len(values), dtype=np.int64)
        runs[order] = np.cumsum(last) - last
        return cls(order, np.flatnonzero(last), runs)

    def cumulative(self, counts: Ints) -> Ints:
        """The counts up to the end of each run."""
        rising = np.cumsum(counts.take(self.order, axis=1), axis=1)
        return rising if len(self.ends) == len(self.order) else rising.take(self.ends, axis=1)

    def ranks(self, counts: Ints, middles: Ints) -> Floats:
        """Twice each row's mid-rank within its group, less its group's mean."""
        upto = self.cumulative(counts)
        doubled = upto.copy()
        doubled[:, 1:] += upto[:, :-1]
        ranks: Floats = (doubled.take(self.runs, axis=1) - middles).astype(np.float64)
        return ranks

    def squares(self, counts: Ints, groups: Stretches) -> Ints:
        """The sum of squared run sizes in each group, which counts the tied pairs."""
        sizes = np.diff(self.cumulative(counts), axis=1, prepend=0)
        first_runs = np.searchsorted(groups.codes[self.order[self.ends]], np.arange(len(groups.starts)))
        squared: Ints = np.add.reduceat(sizes * sizes, first_runs, axis=1)
        return squared


def bounded_ratio(covariance: Floats | Ints, x: Floats | Ints, y: Floats | Ints, sizes: Ints) -> Floats:
    """covariance / sqrt(x * y), within -1 and 1; NaN where a side is constant or fewer than three rows count."""
    defined = (x > 0) & (y > 0) & (sizes >= 3)
    scale = np.sqrt(np.where(defined, x, 1.0)) * np.sqrt(np.where(defined, y, 1.0))
    value: Floats = np.where(defined, np.clip(covariance / scale, -1.0, 1.0), np.nan)
    return value
