"""The mean of some rows minus the mean of the others, with whole dialogues (clusters) as the units of chance.

Unlike paired differences, the two groups hold different rows; a cluster may have rows in one of them or in both. With
group means m1 and m0 over n1 and n0 rows, each cluster g has the part s1_g = sum of (x_i - m1) / n1 over its rows in
the first group, and s0_g likewise, and

    se^2 = v1 + v0 - 2 c,   v = G / (G - 1) * sum of s_g^2,   c = sqrt(G1 G0 / ((G1 - 1) (G0 - 1))) * sum of s1_g s0_g,

where G1 and G0 count the clusters of each group. The degrees of freedom are Satterthwaite's. Without clusters this is
Welch's t-test (1947).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.stats.arrays import NAN, Floats, Labels, Numbers, as_floats, check_same_length, encode_labels


class GroupDifference(NamedTuple):
    """The difference of two groups' means with its interval and p-value, and how much data it rests on."""

    value: float
    low: float
    high: float
    p: float
    n_first: int
    n_second: int
    clusters_first: int
    clusters_second: int
    reason: str | None = None


def group_difference(
    values: Numbers, is_first: NDArray[np.bool_], clusters: Labels | None = None, level: float = 0.95
) -> GroupDifference:
    """The mean of the first group minus the mean of all other rows; missing values are left out."""
    from scipy.special import stdtr, stdtrit

    x = as_floats(values, "values")
    check_same_length(values=x, is_first=is_first)
    codes = np.arange(len(x))
    if clusters is not None:
        check_same_length(values=x, clusters=clusters)
        codes, _ = encode_labels(clusters, "clusters")
    known = np.isfinite(x)
    codes = np.unique(codes[known], return_inverse=True)[1]
    x, first = x[known], np.asarray(is_first, dtype=bool)[known]
    size = int(codes.max(initial=-1)) + 1
    one, other = (_Group.of(x[own], codes[own], size) for own in (first, ~first))
    empty = GroupDifference(NAN, NAN, NAN, NAN, one.n, other.n, one.n_clusters, other.n_clusters)
    if not one.n or not other.n:
        return empty._replace(reason="no values" if not one.n else "no other values")
    value = one.mean - other.mean
    if min(one.n_clusters, other.n_clusters) < 2:
        return empty._replace(value=value, reason="fewer than 2 clusters")
    covariance = math.sqrt(one.factor * other.factor) * float(one.parts @ other.parts)
    error = math.sqrt(max(0.0, one.variance + other.variance - 2 * covariance))
    spread = one.variance**2 / (one.n_clusters - 1) + other.variance**2 / (other.n_clusters - 1)
    if error == 0 or spread == 0:
        p = 1.0 if value == 0 else NAN
        return empty._replace(value=value, low=value, high=value, p=p, reason="no variance")
    freedom = (one.variance + other.variance) ** 2 / spread
    margin = float(stdtrit(freedom, (1 + level) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return empty._replace(value=value, low=value - margin, high=value + margin, p=p)


class _Group(NamedTuple):
    """One group: its mean, and each cluster's part in the error of that mean."""

    mean: float
    n: int
    n_clusters: int
    parts: Floats

    @classmethod
    def of(cls, x: Floats, codes: NDArray[np.int64], size: int) -> _Group:
        if not len(x):
            return cls(NAN, 0, 0, np.zeros(size))
        mean = float(x.mean())
        parts: Floats = np.bincount(codes, weights=(x - mean) / len(x), minlength=size).astype(np.float64)
        return cls(mean, len(x), len(np.unique(codes)), parts)

    @property
    def factor(self) -> float:
        return self.n_clusters / (self.n_clusters - 1)

    @property
    def variance(self) -> float:
        return self.factor * float(self.parts @ self.parts)
