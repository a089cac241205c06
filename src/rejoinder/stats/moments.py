"""A mean with its cluster-robust interval from sums that add up over parts.

With s_g the sum and n_g the number of a cluster's values, ``mean_interval`` needs only n, the number of clusters and
the sums of s_g, s_g^2, s_g n_g and n_g^2: parts that share no cluster can be counted apart and added. To keep
digits, values are taken from a fixed centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from rejoinder.stats.arrays import NAN, Labels, Numbers, encode, floats, probability, same_length
from rejoinder.stats.interval import Interval


@dataclass(frozen=True)
class Moments:
    """What is known of some values; the sums are of what lies beyond the centre."""

    n: int = 0
    n_missing: int = 0
    n_clusters: int = 0
    total: float = 0.0  # of s_g
    squares: float = 0.0  # of s_g^2
    products: float = 0.0  # of s_g n_g
    sizes: float = 0.0  # of n_g^2
    centre: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        """Of both together; they share no cluster, and have one centre."""
        if self.centre != other.centre:
            raise ValueError(f"moments around {self.centre} and around {other.centre} do not add up")
        summed = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)}
        return Moments(**{**summed, "centre": self.centre})

    def interval(self, level: float = 0.95) -> Interval:
        """The mean with its interval, as ``mean_interval`` gives it."""
        from scipy.special import stdtrit

        probability(level, "level")
        nothing = Interval(NAN, NAN, NAN, self.n, self.n_missing, self.n_clusters)
        if not self.n:
            return nothing._replace(reason="no values")
        if not math.isfinite(self.total):
            return nothing._replace(reason="infinite values")
        mean = self.total / self.n
        if self.n_clusters < 2:
            return nothing._replace(value=self.centre + mean, reason="fewer than 2 clusters")
        spread = max(0.0, self.squares - 2 * mean * self.products + mean * mean * self.sizes)
        error = math.sqrt(self.n_clusters / (self.n_clusters - 1) * spread) / self.n
        margin = float(stdtrit(self.n_clusters - 1, (1 + level) / 2)) * error
        value = self.centre + mean
        return nothing._replace(value=value, low=value - margin, high=value + margin)


def moments(values: Numbers, clusters: Labels, centre: float = 0.0) -> Moments:
    """The moments of the values that are not missing."""
    x = floats(values, "values")
    same_length(values=x, clusters=clusters)
    codes, _ = encode(clusters, "clusters")
    known = ~np.isnan(x)
    codes = np.unique(codes[known], return_inverse=True)[1]
    away = x[known] - centre
    if not len(away):
        return Moments(n_missing=len(x), centre=centre)
    sums, sizes = np.bincount(codes, weights=away), np.bincount(codes).astype(float)
    return Moments(
        len(away),
        len(x) - len(away),
        len(sums),
        math.fsum(sums),
        math.fsum(sums * sums),
        math.fsum(sums * sizes),
        math.fsum(sizes * sizes),
        centre,
    )
