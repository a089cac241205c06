"""A mean with a confidence interval that allows for clusters: rows of one dialogue are not independent.

The standard error is the cluster-robust one (Liang and Zeger 1986, with the factor G / (G - 1)),

    se^2 = G / (G - 1) * sum over clusters g of (sum of (x_i - mean) over i in g)^2 / N^2,

and the interval is mean ± t * se with Student's t of G - 1 degrees of freedom. Without clusters every row is its own
cluster and this is the ordinary t interval. A share has Wilson's interval (1927), which has a width at 0 and 1 too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Labels,
    Numbers,
    as_floats,
    check_probability,
    check_same_length,
    encode_labels,
    sum_by_code,
)
from rejoinder.stats.hall import HallMean
from rejoinder.stats.student import t_quantile
from rejoinder.table import Estimate


class Interval(NamedTuple):
    """An estimate, the ends of its confidence interval, and how much data it rests on."""

    value: float
    low: float
    high: float
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def mean_interval(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Interval:
    """The mean of the values that are not missing, with its cluster-robust interval."""
    x = as_floats(values, "values")
    check_probability(level, "level")
    known = ~np.isnan(x)
    codes = np.arange(len(x))
    if clusters is not None:
        check_same_length(values=x, clusters=clusters)
        codes, _ = encode_labels(clusters, "clusters")
    codes = np.unique(codes[known], return_inverse=True)[1]
    x = x[known]
    n_clusters = int(codes.max(initial=-1)) + 1
    empty = Interval(NAN, NAN, NAN, len(x), len(known) - len(x), n_clusters)
    if not len(x):
        return empty._replace(reason="no values")
    if not np.isfinite(x).all():
        return empty._replace(reason="infinite values")
    mean = scaled_mean(x)
    if n_clusters < 2:
        return empty._replace(value=mean, reason="fewer than 2 clusters")
    with np.errstate(over="ignore"):  # values near the largest float give an infinite interval
        sums = np.bincount(codes, weights=(x - mean) / len(x))
        error = math.sqrt(n_clusters / (n_clusters - 1)) * float(np.linalg.norm(sums))
    margin = t_quantile(n_clusters - 1, (1 + level) / 2) * error
    return empty._replace(value=mean, low=mean - margin, high=mean + margin)


def skewed_mean_interval(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Interval:
    """The mean with an interval that holds for skewed values too: both the t interval and Hall's (1992).

    Where few rows are far below the rest, a t interval ends too early on that side: the mean of a sample that happens
    to hold few of them is too high, and so is its precision. Hall's transformation moves both ends with the skewness of
    the cluster totals. The wider end of the two intervals is taken on either side.
    """
    interval = mean_interval(values, clusters, level)
    if not interval.high > interval.low or interval.n_clusters < 3:
        return interval
    x = as_floats(values, "values")
    known = ~np.isnan(x)
    codes = np.arange(len(x)) if clusters is None else encode_labels(clusters, "clusters")[0]
    with np.errstate(over="ignore"):
        totals = sum_by_code(
            np.unique(codes[known], return_inverse=True)[1], x[known] - interval.value, interval.n_clusters
        )
    error = (interval.high - interval.value) / t_quantile(len(totals) - 1, (1 + level) / 2)
    hall = HallMean.of(interval.value, error, totals)
    if hall is None:
        return interval
    low, high = hall.ends(level)
    return interval._replace(low=min(interval.low, low), high=max(interval.high, high))


def share_interval(values: Numbers, clusters: Labels | None = None, level: float = 0.95) -> Interval:
    """The mean of values from 0 to 1 with Wilson's interval (1927), with the effective number of rows.

    The number of rows is divided by the design effect: the cluster-robust variance of the mean over that of independent
    zeros and ones, and never less than 1 (Korn and Graubard 1998). Where all values are 0 or all are 1 there is no
    variance, and each cluster counts as one row. Student's t replaces the normal quantile.
    """
    interval = mean_interval(values, clusters, level)
    mean, n = interval.value, interval.n
    if math.isnan(mean) or interval.n_clusters < 2:
        return interval._replace(low=NAN, high=NAN)
    t = t_quantile(interval.n_clusters - 1, (1 + level) / 2)
    independent = mean * (1 - mean) / n * interval.n_clusters / (interval.n_clusters - 1)
    effect = n / interval.n_clusters
    if independent > 0 and interval.high > interval.low:
        effect = max(1.0, ((interval.high - mean) / t) ** 2 / independent)
    effective_n = n / effect
    middle = (mean + t * t / (2 * effective_n)) / (1 + t * t / effective_n)
    reach = (
        t
        / (1 + t * t / effective_n)
        * math.sqrt(mean * (1 - mean) / effective_n + t * t / (4 * effective_n * effective_n))
    )
    # At the ends of the scale the formula gives 0 and 1 up to rounding.
    return interval._replace(low=min(mean, max(0.0, middle - reach)), high=max(mean, min(1.0, middle + reach)))


def equal_shares_interval(value: float, n: int, n_clusters: int, level: float = 0.95) -> Interval:
    """The interval of the mean of n equal values from 0 to 1, where resampling shows no variance.

    Wilson's interval bounds the share of values that could be different; these could be 0 or 1.
    """
    others = 1 - share_interval(np.ones(n_clusters), level=level).low
    return Interval(value, value - others * value, value + others * (1 - value), n, 0, n_clusters)


def scaled_mean(x: Floats) -> float:
    """The mean of finite values, exact for a constant and without overflow of the sum."""
    low, high = float(x.min()), float(x.max())
    if low == high:
        return low
    with np.errstate(over="ignore"):
        mean = float(x.mean())
    return mean if math.isfinite(mean) else float((x / len(x)).sum())


def interval_estimate(interval: Interval) -> Estimate:
    """An interval as a table cell."""
    return Estimate(interval.value, interval.low, interval.high)
