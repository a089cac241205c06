"""Counts by unit: a statistic that is a function of summed counts is had on a thousand resamples of units at once.

A resample of units is a weight for each of them; the counts of the resample are the weights times the counts by unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.stats.arrays import NAN, Bools, Floats, Ints, Labels, at_least, encode, generator, same_length
from rejoinder.stats.interval import Interval
from rejoinder.stats.pairwise import pairs_within
from rejoinder.stats.percentile import Kind, percentile_interval
from rejoinder.stats.resampling import resample_counts

MOST_CATEGORIES = 200
TOO_MANY = f"more than {MOST_CATEGORIES} different ratings: these are no classes"
_CELLS = 2**22


@dataclass(frozen=True)
class UnitCounts:
    """What each unit adds to each cell, kept sparse: a unit touches few cells."""

    cells: Any  # scipy.sparse.csr_matrix, units by cells
    n_ratings: int
    n_left_out: int
    clusters: Ints  # which units are resampled together

    @classmethod
    def of(
        cls,
        unit: Ints,
        cell: Ints,
        amount: Floats,
        shape: tuple[int, int],
        n_ratings: int,
        n_left_out: int,
        clusters: Ints | None = None,
    ) -> UnitCounts:
        """From rows: this unit adds this amount to this cell; without clusters every unit is its own."""
        from scipy.sparse import csr_matrix

        together = np.arange(shape[0]) if clusters is None else clusters
        return cls(csr_matrix((amount, (unit, cell)), shape), n_ratings, n_left_out, together)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.cells.shape[0])

    def whole(self) -> Floats:
        """The counts of the data themselves, as one line."""
        return np.asarray(self.cells.sum(axis=0), dtype=np.float64).reshape(1, -1)

    def interval(
        self,
        statistic: Callable[[Floats], Floats],
        *,
        n_resamples: int = 1000,
        seed: int = 0,
        level: float = 0.95,
        kind: Kind = "corrected",
    ) -> list[Interval]:
        """The intervals of the values (one column each) that a statistic gives for lines of counts."""
        at_least(n_resamples, 1, "n_resamples")
        values = statistic(self.whole())[0]
        random = generator(seed)
        n_clusters = int(self.clusters.max(initial=-1)) + 1
        at_once = max(1, _CELLS // max(self.n_units, self.cells.shape[1], 1))
        samples = []
        for start in range(0, n_resamples, at_once):
            weights = resample_counts(n_clusters, min(at_once, n_resamples - start), random).take(self.clusters, axis=1)
            samples.append(statistic(np.asarray((self.cells.T @ weights.T.astype(np.float64)).T)))
        columns = np.concatenate(samples).T
        counts = self.n_ratings, self.n_left_out, n_clusters
        return [
            percentile_interval(float(value), column, *counts, level=level, kind=kind)
            for value, column in zip(values, columns, strict=True)
        ]


def used_clusters(matrix: Floats, clusters: Labels | None) -> Ints | None:
    """The clusters of the units with two ratings or more, numbered anew."""
    if clusters is None:
        return None
    same_length(ratings=matrix, clusters=clusters)
    return np.unique(encode(clusters, "clusters")[0][_used(matrix)], return_inverse=True)[1]


def _used(matrix: Floats) -> Bools:
    used: Bools = np.isfinite(matrix).sum(axis=1) >= 2
    return used


def coded(matrix: Floats) -> tuple[Floats, Ints, Ints, Floats, int]:
    """The units with two ratings or more: their lines, and each rating's unit and category; the categories."""
    known = np.isfinite(matrix)
    used = _used(matrix)
    part = np.where(known, matrix, NAN)[used]
    unit, rater = np.nonzero(known[used])
    values, code = np.unique(part[unit, rater], return_inverse=True)
    return part, unit, code, values, int((~used).sum())


def ordered_pairs(unit: Ints) -> tuple[Ints, Ints]:
    """All pairs of two different ratings of one unit, both ways round; the units come in order."""
    first, second, _ = pairs_within(unit)
    return np.concatenate([first, second]), np.concatenate([second, first])


def beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """One less observed over expected disagreement; NaN where none is expected."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(expected > 1e-14, 1 - observed / np.where(expected > 1e-14, expected, 1.0), NAN)
    return found
