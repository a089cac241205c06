"""Bootstrap intervals of correlations between metrics and ratings: items, systems or both are drawn again.

All metrics see the same resamples, so their differences have intervals too. A rank correlation is ranked anew in every
resample (see ``weighted``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Bools, Floats, Ints, Labels, Numbers, at_least, finite, same_length
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval
from rejoinder.stats.levels import Level, at_level
from rejoinder.stats.percentile import Kind, percentile_interval
from rejoinder.stats.resampling import Design, Unit


@dataclass(frozen=True)
class Plan:
    """What decides a bootstrap interval: which correlation, at which level, what is drawn again and how often."""

    at: Level = "pooled"
    resample: Unit = "items"
    method: Method = "spearman"
    n_resamples: int = 1000
    seed: int = 0
    level: float = 0.95
    kind: Kind = "corrected"

    def interval(self, value: float, samples: Floats, n: int, n_missing: int, n_units: int) -> Interval:
        """The interval of this plan around an estimate."""
        return percentile_interval(value, samples, n, n_missing, n_units, self.level, self.kind)


DEFAULT_PLAN = Plan()


class Resampled(NamedTuple):
    """Correlations of several metrics with the ratings, and their values on resamples (resamples by metrics)."""

    names: tuple[str, ...]
    values: Floats
    samples: Floats
    n: Ints
    n_missing: Ints
    n_units: Ints


def resample_correlations(
    scores: Mapping[str, Numbers],
    ratings: Numbers,
    plan: Plan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
) -> Resampled:
    """Every metric's correlation with the ratings at a level, on the data and on seeded resamples of them.

    Missing and infinite scores of a metric are left out for that metric alone. Without systems all rows are of one
    system; without items every row is an item of its own.
    """
    y = finite(ratings, "ratings")
    columns = {name: finite(values, name) for name, values in scores.items()}
    for name, x in columns.items():
        same_length(**{name: x, "ratings": y})
    at_least(plan.n_resamples, 1, "n_resamples")
    design = Design.of(len(y), systems, items)
    size = len(columns)
    values, samples = np.full(size, NAN), np.full((plan.n_resamples, size), NAN)
    n, n_units = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for usable, members in _by_pattern(~np.isnan(y), list(columns.values())):
        rows = np.flatnonzero(usable)
        part = design.only(rows)
        of_members = [list(columns.values())[i][rows] for i in members]
        correlate = at_level(plan.at, plan.method, of_members, y[rows], part)
        values[members] = correlate(part.as_it_is())[0]
        n[members], n_units[members] = len(rows), part.n_units(plan.resample)
        draws = part.draws(plan.resample, plan.n_resamples, plan.seed)
        samples[:, members] = np.concatenate([correlate(draw) for draw in draws])
    return Resampled(tuple(columns), values, samples, n, len(y) - n, n_units)


def correlation_intervals(
    scores: Mapping[str, Numbers],
    ratings: Numbers,
    plan: Plan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
) -> dict[str, Interval]:
    """Every metric's correlation with the ratings at a level, with its bootstrap interval."""
    done = resample_correlations(scores, ratings, plan, systems=systems, items=items)
    counts = zip(done.n.tolist(), done.n_missing.tolist(), done.n_units.tolist(), strict=True)
    return {
        name: plan.interval(float(value), samples, *of_name)
        for name, value, samples, of_name in zip(done.names, done.values, done.samples.T, counts, strict=True)
    }


def correlation_difference(
    first: Numbers,
    second: Numbers,
    ratings: Numbers,
    plan: Plan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
) -> Interval:
    """How much better the first metric correlates with the ratings than the second, on rows that have both."""
    x, y = finite(first, "first"), finite(second, "second")
    same_length(first=x, second=y)
    missing = np.isnan(x) | np.isnan(y)
    scores = {"first": np.where(missing, NAN, x), "second": np.where(missing, NAN, y)}
    done = resample_correlations(scores, ratings, plan, systems=systems, items=items)
    value = float(done.values[0] - done.values[1])
    samples = done.samples[:, 0] - done.samples[:, 1]
    counts = int(done.n[0]), int(done.n_missing[0]), int(done.n_units[0])
    return plan.interval(value, samples, *counts)


def _by_pattern(rated: Bools, scores: Sequence[Floats]) -> Iterator[tuple[Bools, list[int]]]:
    """The metrics that can be used on the same rows, so that the ratings are ranked once for all of them."""
    patterns: dict[bytes, tuple[Bools, list[int]]] = {}
    for i, x in enumerate(scores):
        usable = rated & ~np.isnan(x)
        patterns.setdefault(usable.tobytes(), (usable, []))[1].append(i)
    yield from patterns.values()
