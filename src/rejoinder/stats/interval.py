"""A mean with a confidence interval that allows for clusters: rows of one dialogue are not independent.

The standard error is the cluster-robust one (Liang and Zeger 1986, with the factor G / (G - 1)),

    se^2 = G / (G - 1) * sum over clusters g of (sum of (x_i - mean) over i in g)^2 / N^2,

and the interval is mean ± t * se with Student's t of G - 1 degrees of freedom. Without clusters every row is its own
and this is the ordinary t interval.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Labels, Numbers, encode, floats, probability, same_length


class Interval(NamedTuple):
    """An estimate between the ends of its confidence interval, and how much stands behind it."""

    value: float
    low: float
    high: float
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def mean_interval(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Interval:
    """The mean of the values that are not missing, with its cluster-robust interval."""
    from scipy.special import stdtrit

    x = floats(values, "values")
    probability(level, "level")
    known = ~np.isnan(x)
    codes = np.arange(len(x))
    if clusters is not None:
        same_length(values=x, clusters=clusters)
        codes, _ = encode(clusters, "clusters")
    codes = np.unique(codes[known], return_inverse=True)[1]
    x = x[known]
    n_clusters = int(codes.max(initial=-1)) + 1
    nothing = Interval(NAN, NAN, NAN, len(x), len(known) - len(x), n_clusters)
    if not len(x):
        return nothing._replace(reason="no values")
    if not np.isfinite(x).all():
        return nothing._replace(reason="infinite values")
    mean = scaled_mean(x)
    if n_clusters < 2:
        return nothing._replace(value=mean, reason="fewer than 2 clusters")
    with np.errstate(over="ignore"):  # values near the largest float give an infinite interval
        sums = np.bincount(codes, weights=(x - mean) / len(x))
        error = math.sqrt(n_clusters / (n_clusters - 1)) * float(np.linalg.norm(sums))
    margin = float(stdtrit(n_clusters - 1, (1 + level) / 2)) * error
    return nothing._replace(value=mean, low=mean - margin, high=mean + margin)


def scaled_mean(x: Floats) -> float:
    """The mean of finite values, exact for a constant and without overflow of the sum."""
    low, high = float(x.min()), float(x.max())
    if low == high:
        return low
    with np.errstate(over="ignore"):
        mean = float(x.mean())
    return mean if math.isfinite(mean) else float((x / len(x)).sum())
