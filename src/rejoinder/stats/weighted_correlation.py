"""Correlations of scores with ratings in which each row counts so many times, as a resample needs them.

Sorting is done once: under counts, the mid-rank of a run of equal values follows from the cumulative counts at its two
ends, and Kendall's discordant pairs are counted bit by bit. ``weighted_correlation`` does this within groups of rows,
for many resamples and metrics at a time; ``pairwise_correlation`` compares every entry with every other, which suits
few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.stats.correlation import Method

Number = TypeVar("Number", np.float64, np.int64)
ROUNDING = 1e-13  # a variance below this share of the mean square is rounding: the values are all equal


@dataclass(frozen=True)
class SortedGroups:
    """Rows sorted by group, so that every group is one contiguous range."""

    codes: Ints
    starts: Ints

    @classmethod
    def of(cls, codes: Ints) -> SortedGroups:
        """Find the ranges of rows whose groups are numbered 0, 1, ... in ascending order without a gap."""
        return cls(codes, np.flatnonzero(np.diff(codes, prepend=-1)))

    def sums(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The sum over each group: (resamples, rows) to (resamples, groups)."""
        if len(self.starts) == 1:
            return np.asarray(values.sum(axis=1, keepdims=True))
        summed: npt.NDArray[Number] = np.add.reduceat(values, self.starts, axis=1)
        return summed

    def spread(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Repeat each group's value for its rows; a single group is left to broadcasting."""
        return values if len(self.starts) == 1 else values.take(self.codes, axis=1)


class GroupOrdering(NamedTuple):
    """A variable sorted within groups: the order, where each run of equal values ends, and the run of each row."""

    order: Ints
    ends: Ints
    runs: Ints

    @classmethod
    def of(cls, values: Floats, groups: SortedGroups) -> GroupOrdering:
        """Sort one variable; ties and groups make the runs."""
        order = np.lexsort((values, groups.codes))
        ordered, group = values[order], groups.codes[order]
        last = np.ones(len(values), dtype=bool)
        last[:-1] = (ordered[1:] != ordered[:-1]) | (group[1:] != group[:-1])
        runs = np.empty(len(values), dtype=np.int64)
        runs[order] = np.cumsum(last) - last
        return cls(order, np.flatnonzero(last), runs)

    @property
    def is_untied(self) -> bool:
        """Whether no two values of a group are equal."""
        return len(self.ends) == len(self.order)

    def cumulative(self, counts: Ints) -> Ints:
        """The counts up to the end of each run."""
        totals = np.cumsum(counts.take(self.order, axis=1), axis=1)
        return totals if self.is_untied else totals.take(self.ends, axis=1)

    def ranks(self, counts: Ints, middles: Ints) -> Floats:
        """Twice each row's mid-rank within its group, minus its group's mean."""
        totals = self.cumulative(counts)
        doubled = totals.copy()
        doubled[:, 1:] += totals[:, :-1]
        ranks: Floats = (doubled.take(self.runs, axis=1) - middles).astype(np.float64)
        return ranks

    def squares(self, counts: Ints, groups: SortedGroups) -> Ints:
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


class WeightedCorrelation(Protocol):
    """Correlations of several metrics with the ratings, given counts: (resamples, metrics, groups)."""

    def __call__(self, counts: Ints) -> Floats: ...


def weighted_correlation(
    method: Method, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups
) -> WeightedCorrelation:
    """The correlation of each metric's scores with the ratings within each group, as a function of counts."""
    if method == "pearson":
        return _Pearson(scores, ratings, groups)
    if method == "spearman":
        return _Spearman(scores, ratings, groups)
    return _Kendall(scores, ratings, groups)


class _Spearman:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups) -> None:
        self.groups = groups
        self.ratings, *self.scores = (GroupOrdering.of(values, groups) for values in (ratings, *scores))

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        rising = np.cumsum(sizes, axis=1)
        middles = self.groups.spread(2 * rising - sizes)
        weights = counts.astype(np.float64)
        y = self.ratings.ranks(counts, middles)
        weighted_y = weights * y
        var_y = self._sums(weighted_y, y)
        untied = self._untied_moments(weights, weighted_y, sizes)
        moments = []
        for ordering in self.scores:
            if len(self.groups.starts) == 1 and ordering.is_untied:
                # A row's doubled rank is twice the counts up to it minus its own; ``weighted_y`` adds up to 0.
                totals = np.cumsum(weights.take(ordering.order, axis=1), axis=1)
                below = self._sums(weighted_y.take(ordering.order, axis=1), totals)
                moments.append((2 * below - untied[0], untied[1]))
            else:
                x = ordering.ranks(counts, middles)
                moments.append((self._sums(weighted_y, x), self._sums(weights * x, x)))
        return _correlations_from_moments(moments, var_y, sizes)

    def _untied_moments(self, weights: Floats, weighted_y: Floats, sizes: Ints) -> tuple[Floats, Floats]:
        """What scores without ties share: the part of a covariance that a row has with itself, and the variance."""
        squares = weights * weights
        return self._sums(weights, weighted_y), (sizes.astype(np.float64) ** 3 - self._sums(squares, weights)) / 3

    def _sums(self, left: Floats, right: Floats) -> Floats:
        if len(self.groups.starts) == 1:
            return np.asarray(np.matmul(left[:, None, :], right[:, :, None]))[:, 0]
        return self.groups.sums(left * right)


class _Pearson:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups) -> None:
        self.groups = groups
        self.ratings, *self.scores = (_centre_in_groups(values, groups) for values in (ratings, *scores))

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        weights = counts.astype(np.float64)
        mean_y, var_y = self._moments(weights, self.ratings, sizes)
        moments = []
        for x in self.scores:
            mean_x, var_x = self._moments(weights, x, sizes)
            moments.append((self.groups.sums(weights * (x * self.ratings)) - mean_x * mean_y * sizes, var_x))
        return _correlations_from_moments(moments, var_y, sizes)

    def _moments(self, weights: Floats, x: Floats, sizes: Ints) -> tuple[Floats, Floats]:
        mean = self.groups.sums(weights * x) / np.maximum(sizes, 1)
        square = self.groups.sums(weights * (x * x))
        variance = square - mean * mean * sizes
        return mean, np.where(variance > ROUNDING * square, variance, 0.0)


class _Kendall:
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups) -> None:
        self.groups = groups
        self.ratings = GroupOrdering.of(ratings, groups)
        self.scores = [(GroupOrdering.of(x, groups), _Inversions(x, self.ratings.runs, groups)) for x in scores]

    def __call__(self, counts: Ints) -> Floats:
        sizes = self.groups.sums(counts)
        tied_y = self.ratings.squares(counts, self.groups)
        moments = []
        for ordering, inversions in self.scores:
            tied_x = ordering.squares(counts, self.groups)
            discordant, tied_both = inversions(counts)
            surplus = sizes * sizes - tied_x - tied_y + tied_both - 4 * discordant
            moments.append((surplus, sizes * sizes - tied_x))
        return _correlations_from_moments(moments, sizes * sizes - tied_y, sizes)


class _Inversions:
    """The discordant pairs of each group under counts, bit by bit as in ``correlation.count_inversions``."""

    def __init__(self, scores: Floats, runs: Ints, groups: SortedGroups) -> None:
        self.groups = groups
        self.order = np.lexsort((runs, scores, groups.codes))
        ordered = runs[self.order]
        x = scores[self.order]
        last = np.ones(len(x), dtype=bool)
        last[:-1] = (x[1:] != x[:-1]) | (ordered[1:] != ordered[:-1])
        self.both = GroupOrdering(self.order, np.flatnonzero(last), runs)
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


def _centre_in_groups(values: Floats, groups: SortedGroups) -> Floats:
    """Values centred on their group's mean and scaled to order one, so that sums of squares stay exact enough."""
    sizes = np.diff(np.append(groups.starts, len(values)))
    means = np.add.reduceat(values / np.repeat(sizes, sizes), groups.starts)
    deviations = values - np.repeat(means, sizes)
    scales = np.maximum.reduceat(np.abs(deviations), groups.starts)
    magnitude = np.maximum.reduceat(np.abs(values), groups.starts)
    constant = scales <= ROUNDING * magnitude
    scaled: Floats = deviations / np.repeat(np.where(constant, np.inf, scales), sizes)
    return scaled


def _correlations_from_moments(
    moments: Sequence[tuple[Floats | Ints, Floats | Ints]], var_y: Floats | Ints, sizes: Ints
) -> Floats:
    """Each metric's correlation from its covariance and variance: (resamples, metrics, groups)."""
    covariances, variances = (np.stack(parts, axis=1) for parts in zip(*moments, strict=True))
    return bounded_ratio(covariances, variances, var_y[:, None], sizes[:, None])


def pairwise_correlation(method: Method, x: Floats, y: Floats, weights: Ints) -> Floats:
    """The correlation of each row of x with the same row of y when entries count ``weights`` times.

    It compares every entry with every other, which suits rows of few entries (means of systems).
    """
    counts = weights.astype(np.float64)
    if method == "pearson":
        u, v = (_weighted_deviations(values, counts) for values in (x, y))
        sums = [(counts * a * b).sum(axis=1) for a, b in ((u, v), (u, u), (v, v))]
        return bounded_ratio(sums[0], sums[1], sums[2], weights.sum(axis=1))
    signs = [np.sign(values[:, :, None] - values[:, None, :]) for values in (x, y)]
    if method == "spearman":  # the sum of an entry's signs is twice its mid-rank, centred
        u, v = (np.einsum("bst,bt->bs", sign, counts) for sign in signs)
        sums = [(counts * a * b).sum(axis=1) for a, b in ((u, v), (u, u), (v, v))]
    else:
        pairs = counts[:, :, None] * counts[:, None, :]
        u, v = signs
        sums = [(pairs * a * b).sum(axis=(1, 2)) for a, b in ((u, v), (u, u), (v, v))]
    return bounded_ratio(sums[0], sums[1], sums[2], weights.sum(axis=1))


def _weighted_deviations(values: Floats, counts: Floats) -> Floats:
    """Values minus their weighted mean; all zero where they differ only by rounding."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    deviations = np.where(counts > 0, values - (counts * values).sum(axis=1, keepdims=True) / total, 0.0)
    largest = np.abs(deviations).max(axis=1, keepdims=True)
    magnitude = np.abs(np.where(counts > 0, values, 0.0)).max(axis=1, keepdims=True)
    return np.where(largest > ROUNDING * magnitude, deviations, 0.0)
