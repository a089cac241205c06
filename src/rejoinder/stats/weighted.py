"""Correlations within groups as functions of how often each row counts: what resampling evaluates many times over.

A resample is a matrix of counts, one line a resample and one column a row of the data. Sorting is done once; under
given counts, mid-ranks follow from cumulative counts in sorted order. The values equal those of ``correlation`` on data
in which every row is repeated as often as it counts; they are NaN where that has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.stats.correlation import Method
from rejoinder.stats.stretches import ROUNDING, Ordering, Stretches, bounded_ratio


class Weighted(Protocol):
    """Correlations of several metrics with the ratings, given counts: (resamples, metrics, groups)."""

    def __call__(self, counts: Ints) -> Floats: ...


def weighted(method: Method, scores: Sequence[Floats], ratings: Floats, groups: Stretches) -> Weighted:
    """The correlation of each metric's scores with the ratings within each group, to be evaluated under counts."""
    if method == "pearson":
        return _Pearson(scores, ratings, groups)
    if method == "spearman":
        return _Spearman(scores, ratings, groups)
    return _Kendall(scores, ratings, groups)


class _Spearman:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: Stretches) -> None:
        self.groups = groups
        self.ratings, *self.scores = (Ordering.of(values, groups) for values in (ratings, *scores))

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        rising = np.cumsum(sizes, axis=1)
        middles = self.groups.spread(2 * rising - sizes)
        weights = counts.astype(np.float64)
        y = self.ratings.ranks(counts, middles)
        weighted_y = weights * y
        var_y = self._sums(weighted_y, y)
        moments = []
        for ordering in self.scores:
            x = ordering.ranks(counts, middles)
            moments.append((self._sums(weighted_y, x), self._sums(weights * x, x)))
        return _correlations(moments, var_y, sizes)

    def _sums(self, left: Floats, right: Floats) -> Floats:
        if len(self.groups.starts) == 1:
            return np.asarray(np.matmul(left[:, None, :], right[:, :, None]))[:, 0]
        return self.groups.sums(left * right)


class _Pearson:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: Stretches) -> None:
        self.groups = groups
        self.ratings, *self.scores = (_centred(values, groups) for values in (ratings, *scores))

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        weights = counts.astype(np.float64)
        mean_y, var_y = self._moments(weights, self.ratings, sizes)
        moments = []
        for x in self.scores:
            mean_x, var_x = self._moments(weights, x, sizes)
            moments.append((self.groups.sums(weights * (x * self.ratings)) - mean_x * mean_y * sizes, var_x))
        return _correlations(moments, var_y, sizes)

    def _moments(self, weights: Floats, x: Floats, sizes: Ints) -> tuple[Floats, Floats]:
        mean = self.groups.sums(weights * x) / np.maximum(sizes, 1)
        square = self.groups.sums(weights * (x * x))
        variance = square - mean * mean * sizes
        return mean, np.where(variance > ROUNDING * square, variance, 0.0)


class _Kendall:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: Stretches) -> None:
        self.groups = groups
        self.ratings = Ordering.of(ratings, groups)
        self.scores = [(Ordering.of(x, groups), _Inversions(x, self.ratings.runs, groups)) for x in scores]

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        tied_y = self.ratings.squares(counts, self.groups)
        moments = []
        for ordering, inversions in self.scores:
            tied_x = ordering.squares(counts, self.groups)
            discordant, tied_both = inversions(counts)
            surplus = sizes * sizes - tied_x - tied_y + tied_both - 4 * discordant
            moments.append((surplus, sizes * sizes - tied_x))
        return _correlations(moments, sizes * sizes - tied_y, sizes)


class _Inversions:
    """The discordant pairs of each group under counts, bit by bit as in ``correlation.inversions``."""

    def __init__(self, scores: Floats, runs: Ints, groups: Stretches) -> None:
        self.groups = groups
        self.order = np.lexsort((runs, scores, groups.codes))
        ordered = runs[self.order]
        x = scores[self.order]
        last = np.ones(len(x), dtype=bool)
        last[:-1] = (x[1:] != x[:-1]) | (ordered[1:] != ordered[:-1])
        self.both = Ordering(self.order, np.flatnonzero(last), runs)
        self.levels: list[tuple[Bools, Ints, Ints]] = []
        for bit in reversed(range(int(runs.max(initial=0)).bit_length())):
            prefix = ordered >> (bit + 1)
            starts = np.flatnonzero(np.diff(prefix, prepend=-1))
            start_of = np.repeat(starts, np.diff(np.append(starts, len(ordered))))
            resort = np.argsort(ordered >> bit, kind="stable")
            self.levels.append((((ordered >> bit) & 1).astype(bool), start_of, resort))
            ordered = ordered[resort]

    def __call__(self, counts: Ints) -> tuple[Ints, Ints]:
        """Discordant pairs, and the sum of squared sizes of the runs that are tied on both sides."""
        weights = counts.take(self.order, axis=1)
        total = np.zeros((len(counts), len(self.groups.starts)), dtype=np.int64)
        for ones, start_of, resort in self.levels:
            of_ones = np.where(ones, weights, 0)
            before = np.cumsum(of_ones, axis=1) - of_ones
            before -= before.take(start_of, axis=1)
            total += self.groups.sums(np.where(ones, 0, weights * before))
            weights = weights.take(resort, axis=1)
        return total, self.both.squares(counts, self.groups)


def _centred(values: Floats, groups: Stretches) -> Floats:
    """Values around their group's mean and of order one, so that sums of squares lose nothing."""
    sizes = np.diff(np.append(groups.starts, len(values)))
    means = np.add.reduceat(values / np.repeat(sizes, sizes), groups.starts)
    deviations = values - np.repeat(means, sizes)
    scales = np.maximum.reduceat(np.abs(deviations), groups.starts)
    magnitude = np.maximum.reduceat(np.abs(values), groups.starts)
    constant = scales <= ROUNDING * magnitude
    scaled: Floats = deviations / np.repeat(np.where(constant, np.inf, scales), sizes)
    return scaled


def _correlations(moments: Sequence[tuple[Floats | Ints, Floats | Ints]], var_y: Floats | Ints, sizes: Ints) -> Floats:
    """From each metric's covariance and variance to its correlation: (resamples, metrics, groups)."""
    covariances, variances = (np.stack(parts, axis=1) for parts in zip(*moments, strict=True))
    return bounded_ratio(covariances, variances, var_y[:, None], sizes[:, None])
