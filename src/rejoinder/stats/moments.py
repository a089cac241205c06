"""Sums from which the mean of many parts and its interval follow: parts are computed separately and added."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Labels,
    Numbers,
    as_floats,
    check_probability,
    check_same_length,
    encode_labels,
)
from rejoinder.stats.interval import Interval


@dataclass(frozen=True)
class Moments:
    """Sums over some values, from which their mean and interval follow; values are counted from the centre."""

    n: int = 0
    n_missing: int = 0
    n_clusters: int = 0
    total: float = 0.0  # of s_g
    squares: float = 0.0  # of s_g^2
    products: float = 0.0  # of s_g n_g
    sizes: float = 0.0  # of n_g^2
    centre: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        """The moments of both together; they must share no cluster and have the same centre."""
        if self.centre != other.centre:
            raise ValueError(f"moments around {self.centre} and around {other.centre} cannot be added")
        sums = {item.name: getattr(self, item.name) + getattr(other, item.name) for item in fields(self)}
        return Moments(**{**sums, "centre": self.centre})

    def interval(self, level: float = 0.95) -> Interval:
        """The mean with its interval, as ``mean_interval`` computes it."""
        from scipy.special import stdtrit

        check_probability(level, "level")
        empty = Interval(NAN, NAN, NAN, self.n, self.n_missing, self.n_clusters)
        if not self.n:
            return empty._replace(reason="no values")
        if not math.isfinite(self.total):
            return empty._replace(reason="infinite values")
        mean = self.total / self.n
        if self.n_clusters < 2:
            return empty._replace(value=self.centre + mean, reason="fewer than 2 clusters")
        spread = max(0.0, self.squares - 2 * mean * self.products + mean * mean * self.sizes)
        error = math.sqrt(self.n_clusters / (self.n_clusters - 1) * spread) / self.n
        margin = float(stdtrit(self.n_clusters - 1, (1 + level) / 2)) * error
        value = self.centre + mean
        return empty._replace(value=value, low=value - margin, high=value + margin)


def compute_moments(values: Numbers, clusters: Labels, centre: float = 0.0) -> Moments:
    """The moments of the values that are not missing."""
    x = as_floats(values, "values")
    check_same_length(values=x, clusters=clusters)
    codes, _ = encode_labels(clusters, "clusters")
    known = ~np.isnan(x)
    codes = np.unique(codes[known], return_inverse=True)[1]
    deviations = x[known] - centre
    if not len(deviations):
        return Moments(n_missing=len(x), centre=centre)
    sums, sizes = np.bincount(codes, weights=deviations), np.bincount(codes).astype(float)
    return Moments(
        len(deviations),
        len(x) - len(deviations),
        len(sums),
        math.fsum(sums),
        math.fsum(sums * sums),
        math.fsum(sums * sizes),
        math.fsum(sizes * sizes),
        centre,
    )
