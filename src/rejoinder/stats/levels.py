"""The levels at which a metric can agree with ratings, as functions of a draw: (resamples, metrics).

pooled: over all rows. within_system, within_item: the mean of the correlations inside each system or item that has one.
system: between the systems' mean scores and mean ratings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from rejoinder.stats.arrays import Bools, Floats, Ints, Labels, Numbers, as_finite, check_one_of, check_same_length
from rejoinder.stats.correlation import Method
from rejoinder.stats.resampling import ResampleDraw, ResamplingDesign
from rejoinder.stats.weighted_correlation import (
    SortedGroups,
    WeightedCorrelation,
    pairwise_correlation,
    weighted_correlation,
)

Level: TypeAlias = Literal["pooled", "within_system", "within_item", "system"]


class LevelCorrelation(Protocol):
    """Each metric's correlation with the ratings at one level, in each resample of a draw."""

    def __call__(self, draw: ResampleDraw) -> Floats: ...


def correlation_at_level(
    level: Level, method: Method, scores: Sequence[Floats], ratings: Floats, design: ResamplingDesign
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

    def __call__(self, draw: ResampleDraw) -> Floats:
        return np.full((len(draw.rows), self.n_metrics), np.nan)


class _WithinGroups:
    def __init__(
        self, level: Level, method: Method, scores: Sequence[Floats], ratings: Floats, design: ResamplingDesign
    ) -> None:
        groups = {"within_system": design.systems, "within_item": design.items}.get(level, np.zeros_like(design.items))
        self.level = level
        self.order = np.argsort(groups, kind="stable")
        self.sorted = bool((self.order == np.arange(len(groups))).all())
        self.correlations: WeightedCorrelation = weighted_correlation(
            method, [x[self.order] for x in scores], ratings[self.order], SortedGroups.of(groups[self.order])
        )

    def __call__(self, draw: ResampleDraw) -> Floats:
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
    def __init__(self, method: Method, scores: Sequence[Floats], ratings: Floats, design: ResamplingDesign) -> None:
        self.method = method
        self.order = np.argsort(design.systems, kind="stable")
        self.systems = SortedGroups.of(design.systems[self.order])
        self.ratings, *self.scores = (x[self.order] for x in (ratings, *scores))

    def __call__(self, draw: ResampleDraw) -> Floats:
        rows = draw.rows.take(self.order, axis=1)
        sizes = self.systems.sums(rows)
        weights = np.where(sizes > 0, draw.systems, 0)
        y = self._means(rows, sizes, self.ratings)
        values = [pairwise_correlation(self.method, self._means(rows, sizes, x), y, weights) for x in self.scores]
        return np.stack(values, axis=1)

    def _means(self, rows: Ints, sizes: Ints, values: Floats) -> Floats:
        return self.systems.sums(rows * values) / np.maximum(sizes, 1)


def _unit_scale(values: Floats) -> Floats:
    """The values times a power of two, so that no sum of squares overflows; correlations do not change."""
    scaled: Floats = np.ldexp(values, -math.frexp(np.abs(values).max(initial=0.0))[1])
    return scaled


class MetricBlock(NamedTuple):
    """Metrics that have scores on the same rows, and these rows."""

    members: list[int]
    scores: list[Floats]
    ratings: Floats
    design: ResamplingDesign

    def correlate(self, at: Level, method: Method) -> LevelCorrelation:
        """Each metric's correlation with the ratings under a draw."""
        return correlation_at_level(at, method, self.scores, self.ratings, self.design)


@dataclass(frozen=True)
class CorrelationData:
    """Columns of scores, the ratings, and the system, item and dialogue of each row."""

    columns: Sequence[Floats]
    ratings: Floats
    design: ResamplingDesign

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
        return cls(list(columns.values()), y, ResamplingDesign.of(len(y), systems, items, dialogues))

    def blocks(self) -> list[MetricBlock]:
        """The metrics grouped by the rows that they have scores on."""
        grouped = []
        for usable, members in self._patterns():
            rows: Ints = np.flatnonzero(usable)
            scores = [self.columns[i][rows] for i in members]
            grouped.append(MetricBlock(members, scores, self.ratings[rows], self.design.only(rows)))
        return grouped

    def _patterns(self) -> list[tuple[Bools, list[int]]]:
        rated = ~np.isnan(self.ratings)
        patterns: dict[bytes, tuple[Bools, list[int]]] = {}
        for i, x in enumerate(self.columns):
            usable = rated & ~np.isnan(x)
            patterns.setdefault(usable.tobytes(), (usable, []))[1].append(i)
        return list(patterns.values())
