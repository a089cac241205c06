"""The levels at which a metric can agree with ratings, as functions of a draw: (resamples, metrics).

pooled: over all rows. within_system, within_item: the mean of the correlations inside each system or item that has one.
system: between the systems' mean scores and mean ratings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rejoinder.stats.arrays import Bools, Floats, Ints, Labels, Numbers, as_finite, check_one_of, check_same_length
from rejoinder.stats.correlation import Method
from rejoinder.stats.resampling import Design, Draw

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


class Ordering(NamedTuple):
    """A variable sorted within groups: the order, where each run of equal values ends, and the run of each row."""

    order: Ints
    ends: Ints
    runs: Ints

    @classmethod
    def of(cls, values: Floats, groups: SortedGroups) -> Ordering:
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
        """Twice each row's mid-rank within its group, minus its group's mean."""
        upto = self.cumulative(counts)
        doubled = upto.copy()
        doubled[:, 1:] += upto[:, :-1]
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
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups) -> None:
        self.groups = groups
        self.ratings, *self.scores = (_centre(values, groups) for values in (ratings, *scores))

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
    def __init__(self, scores: Sequence[Floats], ratings: Floats, groups: SortedGroups) -> None:
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
    """The discordant pairs of each group under counts, bit by bit as in ``correlation.count_inversions``."""

    def __init__(self, scores: Floats, runs: Ints, groups: SortedGroups) -> None:
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


def _centre(values: Floats, groups: SortedGroups) -> Floats:
    """Values centred on their group's mean and scaled to order one, so that sums of squares stay exact enough."""
    sizes = np.diff(np.append(groups.starts, len(values)))
    means = np.add.reduceat(values / np.repeat(sizes, sizes), groups.starts)
    deviations = values - np.repeat(means, sizes)
    scales = np.maximum.reduceat(np.abs(deviations), groups.starts)
    magnitude = np.maximum.reduceat(np.abs(values), groups.starts)
    constant = scales <= ROUNDING * magnitude
    scaled: Floats = deviations / np.repeat(np.where(constant, np.inf, scales), sizes)
    return scaled


def _correlations(moments: Sequence[tuple[Floats | Ints, Floats | Ints]], var_y: Floats | Ints, sizes: Ints) -> Floats:
    """Each metric's correlation from its covariance and variance: (resamples, metrics, groups)."""
    covariances, variances = (np.stack(parts, axis=1) for parts in zip(*moments, strict=True))
    return bounded_ratio(covariances, variances, var_y[:, None], sizes[:, None])


Level: TypeAlias = Literal["pooled", "within_system", "within_item", "system"]


class LevelCorrelation(Protocol):
    """Each metric's correlation with the ratings at one level, in each resample of a draw."""

    def __call__(self, draw: Draw) -> Floats: ...


def correlation_at_level(
    level: Level, method: Method, scores: Sequence[Floats], ratings: Floats, design: Design
) -> LevelCorrelation:
    """The correlation at a level, as a function of a draw; the rows must be complete."""
    check_one_of(level, Level, "level")
    check_one_of(method, Method, "correlation")
    if not len(ratings):
        return _Undefined(len(scores))
    scores, ratings = [_unit_scale(x) for x in scores], _unit_scale(ratings)
    if level == "system":
        return _BetweenSystems(method, scores, ratings, design)
    return _WithinGroups(level, method, scores, ratings, design)


def within_groups(method: Method, scores: Floats, ratings: Floats, groups: Ints) -> Floats:
    """The correlation inside each group, NaN where there is none; groups are numbered without a gap."""
    check_one_of(method, Method, "correlation")
    if not len(ratings):
        return np.empty(0)
    order = np.argsort(groups, kind="stable")
    x, y = _unit_scale(scores[order]), _unit_scale(ratings[order])
    correlations = weighted_correlation(method, [x], y, SortedGroups.of(groups[order]))
    return np.asarray(correlations(np.ones((1, len(y)), dtype=np.int64))[0, 0])


class _Undefined:
    def __init__(self, n_metrics: int) -> None:
        self.n_metrics = n_metrics

    def __call__(self, draw: Draw) -> Floats:
        return np.full((len(draw.rows), self.n_metrics), np.nan)


class _WithinGroups:
    def __init__(self, level: Level, method: Method, scores: Sequence[Floats], ratings: Floats, design: Design) -> None:
        groups = {"within_system": design.systems, "within_item": design.items}.get(level, np.zeros_like(design.items))
        self.level = level
        self.order = np.argsort(groups, kind="stable")
        self.sorted = bool((self.order == np.arange(len(groups))).all())
        self.correlations: WeightedCorrelation = weighted_correlation(
            method, [x[self.order] for x in scores], ratings[self.order], SortedGroups.of(groups[self.order])
        )

    def __call__(self, draw: Draw) -> Floats:
        values = self.groups(draw.rows)
        if self.level == "pooled":
            return values[:, :, 0]
        counts = draw.systems if self.level == "within_system" else draw.items
        weights = np.where(np.isnan(values), 0, counts[:, None, :])
        total = weights.sum(axis=2)
        mean: Floats = (weights * np.nan_to_num(values)).sum(axis=2) / np.where(total > 0, total, np.nan)
        return mean

    def groups(self, rows: Ints) -> Floats:
        """The correlations inside every group: (resamples, metrics, groups)."""
        return self.correlations(rows if self.sorted else rows.take(self.order, axis=1))


class _BetweenSystems:
    def __init__(self, method: Method, scores: Sequence[Floats], ratings: Floats, design: Design) -> None:
        self.method = method
        self.order = np.argsort(design.systems, kind="stable")
        self.systems = SortedGroups.of(design.systems[self.order])
        self.ratings, *self.scores = (x[self.order] for x in (ratings, *scores))

    def __call__(self, draw: Draw) -> Floats:
        rows = draw.rows.take(self.order, axis=1)
        sizes = self.systems.sums(rows)
        weights = np.where(sizes > 0, draw.systems, 0)
        y = self._means(rows, sizes, self.ratings)
        values = [pairwise_correlation(self.method, self._means(rows, sizes, x), y, weights) for x in self.scores]
        return np.stack(values, axis=1)

    def _means(self, rows: Ints, sizes: Ints, values: Floats) -> Floats:
        return self.systems.sums(rows * values) / np.maximum(sizes, 1)


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


def _unit_scale(values: Floats) -> Floats:
    """The values times a power of two, so that no sum of squares overflows; correlations do not change."""
    scaled: Floats = np.ldexp(values, -math.frexp(np.abs(values).max(initial=0.0))[1])
    return scaled


class MetricBlock(NamedTuple):
    """Metrics that have scores on the same rows, and these rows."""

    members: list[int]
    scores: list[Floats]
    ratings: Floats
    design: Design

    def correlate(self, at: Level, method: Method) -> LevelCorrelation:
        """Each metric's correlation with the ratings under a draw."""
        return correlation_at_level(at, method, self.scores, self.ratings, self.design)


@dataclass(frozen=True)
class CorrelationData:
    """Columns of scores, the ratings, and the system, item and dialogue of each row."""

    columns: Sequence[Floats]
    ratings: Floats
    design: Design

    @classmethod
    def of(
        cls,
        scores: Mapping[str, Numbers],
        ratings: Numbers,
        systems: Labels | None = None,
        items: Labels | None = None,
        dialogues: Labels | None = None,
    ) -> CorrelationData:
        """Check the data: every metric has a number (or NaN) for every rating."""
        y = as_finite(ratings, "ratings")
        columns = {name: as_finite(values, name) for name, values in scores.items()}
        for name, x in columns.items():
            check_same_length(**{name: x, "ratings": y})
        return cls(list(columns.values()), y, Design.of(len(y), systems, items, dialogues))

    def parts(self) -> list[MetricBlock]:
        """The metrics grouped by the rows that they have scores on."""
        found = []
        for usable, members in self._patterns():
            rows: Ints = np.flatnonzero(usable)
            scores = [self.columns[i][rows] for i in members]
            found.append(MetricBlock(members, scores, self.ratings[rows], self.design.only(rows)))
        return found

    def _patterns(self) -> list[tuple[Bools, list[int]]]:
        rated = ~np.isnan(self.ratings)
        patterns: dict[bytes, tuple[Bools, list[int]]] = {}
        for i, x in enumerate(self.columns):
            usable = rated & ~np.isnan(x)
            patterns.setdefault(usable.tobytes(), (usable, []))[1].append(i)
        return list(patterns.values())
