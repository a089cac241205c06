"""The levels at which a metric can agree with ratings, as functions of a draw: (resamples, metrics).

pooled: over all rows. within_system, within_item: the mean of the correlations inside each system or item that has one.
system: between the systems' mean scores and mean ratings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np

from rejoinder.stats.arrays import Floats, Ints, one_of
from rejoinder.stats.correlation import Method
from rejoinder.stats.resampling import Design, Draw
from rejoinder.stats.stretches import ROUNDING, Stretches, bounded_ratio
from rejoinder.stats.weighted import Weighted, weighted

Level: TypeAlias = Literal["pooled", "within_system", "within_item", "system"]


class AtLevel(Protocol):
    """Each metric's correlation with the ratings at one level, in each resample of a draw."""

    def __call__(self, draw: Draw) -> Floats: ...


def at_level(level: Level, method: Method, scores: Sequence[Floats], ratings: Floats, design: Design) -> AtLevel:
    """The level by its name; the rows must be complete."""
    one_of(level, Level, "level")
    one_of(method, Method, "correlation")
    if not len(ratings):
        return _Undefined(len(scores))
    scores, ratings = [_unit_scale(x) for x in scores], _unit_scale(ratings)
    if level == "system":
        return _BetweenSystems(method, scores, ratings, design)
    return _WithinGroups(level, method, scores, ratings, design)


def within_groups(method: Method, scores: Floats, ratings: Floats, groups: Ints) -> Floats:
    """The correlation inside each group, NaN where there is none; groups are numbered without a gap."""
    one_of(method, Method, "correlation")
    if not len(ratings):
        return np.empty(0)
    order = np.argsort(groups, kind="stable")
    x, y = _unit_scale(scores[order]), _unit_scale(ratings[order])
    correlations = weighted(method, [x], y, Stretches.of(groups[order]))
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
        self.correlations: Weighted = weighted(
            method, [x[self.order] for x in scores], ratings[self.order], Stretches.of(groups[self.order])
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
        self.systems = Stretches.of(design.systems[self.order])
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
    """The correlation of each line of x with the same line of y when entries count ``weights`` times.

    It compares all entries with all, which suits few entries that differ from line to line (means of systems).
    """
    counts = weights.astype(np.float64)
    if method == "pearson":
        u, v = (_deviations(values, counts) for values in (x, y))
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


def _deviations(values: Floats, counts: Floats) -> Floats:
    """Values less their weighted mean; all zero where they differ by rounding only."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    deviations = np.where(counts > 0, values - (counts * values).sum(axis=1, keepdims=True) / total, 0.0)
    largest = np.abs(deviations).max(axis=1, keepdims=True)
    magnitude = np.abs(np.where(counts > 0, values, 0.0)).max(axis=1, keepdims=True)
    return np.where(largest > ROUNDING * magnitude, deviations, 0.0)


def _unit_scale(values: Floats) -> Floats:
    """The values times a power of two, so that no sum of squares overflows; no correlation changes by it."""
    scaled: Floats = np.ldexp(values, -math.frexp(np.abs(values).max(initial=0.0))[1])
    return scaled
