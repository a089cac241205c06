"""How many items a planned paired comparison needs, what power it has, and what difference it can detect.

The paired t test on n differences with standard deviation sd detects a true mean difference with the power of the
noncentral t distribution. Clusters of m rows whose differences correlate by icc inflate the variance of the mean by the
design effect 1 + (m - 1) icc (Kish 1965) and leave n / m - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Labels, Numbers, check_probability, sum_by_code
from rejoinder.stats.paired_difference import subtract_pairs

_MAX_ROWS = 10**12


class PowerEstimate(NamedTuple):
    """A plan: with n rows a true difference is detected with this power."""

    power: float
    n: float
    difference: float
    effective_n: float
    design_effect: float
    reason: str | None = None


def power_at(
    n: float, difference: float, sd: float, *, cluster_size: float = 1.0, icc: float = 0.0, alpha: float = 0.05
) -> PowerEstimate:
    """The power of a two-sided test at level alpha with n rows."""
    _check_arguments(sd, cluster_size, icc, alpha)
    if not (n > 0 and math.isfinite(n) and math.isfinite(difference)):
        raise InputError(f"n must be a positive number and difference a number, not {n} and {difference}")
    effect = 1 + (cluster_size - 1) * icc
    estimate = PowerEstimate(NAN, n, difference, n / effect, effect)
    freedom = n / cluster_size - 1
    if not freedom > 0:
        return estimate._replace(reason="fewer than 2 clusters")
    if sd == 0:
        return estimate._replace(reason="the differences do not vary")
    return estimate._replace(power=_noncentral_t_power(abs(difference) / sd * math.sqrt(n / effect), freedom, alpha))


def rows_needed(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    alpha: float = 0.05,
) -> PowerEstimate:
    """The fewest rows that detect a true difference with at least the given power."""
    check_probability(power, "power")
    high = math.floor(cluster_size) + 1

    def at(n: int) -> PowerEstimate:
        return power_at(n, difference, sd, cluster_size=cluster_size, icc=icc, alpha=alpha)

    if difference == 0 or sd == 0:
        reason = "a difference of 0 cannot be detected" if difference == 0 else "the differences do not vary"
        return at(high)._replace(power=NAN, n=NAN, effective_n=NAN, reason=reason)
    low = high - 1
    while at(high).power < power:
        low, high = high, 2 * high
        if high > _MAX_ROWS:
            return at(high)._replace(power=NAN, n=NAN, effective_n=NAN, reason=f"more than {_MAX_ROWS:,} rows")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle).power >= power else (middle, high)
    return at(high)


def detectable_difference(
    n: float, sd: float, *, power: float = 0.8, cluster_size: float = 1.0, icc: float = 0.0, alpha: float = 0.05
) -> PowerEstimate:
    """The smallest true difference that n rows detect with the given power."""
    check_probability(power, "power")
    estimate = power_at(n, 0.0, sd, cluster_size=cluster_size, icc=icc, alpha=alpha)._replace(difference=NAN)
    if estimate.reason:
        return estimate
    if power <= alpha:
        reason = "a test finds a difference that often even where there is none"
        return estimate._replace(power=power, difference=0.0, reason=reason)
    freedom = n / cluster_size - 1
    low, high = 0.0, 1.0
    while _noncentral_t_power(high, freedom, alpha) < power:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if _noncentral_t_power(middle, freedom, alpha) >= power else (middle, high)
    return estimate._replace(power=power, difference=high * sd / math.sqrt(estimate.effective_n))


def _noncentral_t_power(noncentrality: float, freedom: float, alpha: float) -> float:
    """Both tails of the noncentral t beyond the critical value; normal where its series fails."""
    from scipy.special import nctdtr, ndtr, stdtrit

    critical = float(stdtrit(freedom, 1 - alpha / 2))
    upper = 1 - float(nctdtr(freedom, noncentrality, critical))
    lower = float(nctdtr(freedom, noncentrality, -critical))
    if math.isnan(upper):
        upper = float(ndtr(noncentrality - critical))
    if math.isnan(lower):
        lower = float(ndtr(-noncentrality - critical))
    return min(1.0, upper + lower)


def _check_arguments(sd: float, cluster_size: float, icc: float, alpha: float) -> None:
    check_probability(alpha, "alpha")
    if not (sd >= 0 and math.isfinite(sd)):
        raise InputError(f"sd must be 0 or more, not {sd}")
    if not (cluster_size >= 1 and math.isfinite(cluster_size)):
        raise InputError(f"cluster_size must be at least 1, not {cluster_size}")
    if not 0 <= icc <= 1:
        raise InputError(f"icc must lie between 0 and 1, not {icc}")


class DifferenceSpread(NamedTuple):
    """The standard deviation of paired differences, their correlation within clusters, and rows per cluster."""

    sd: float
    icc: float
    cluster_size: float
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def estimate_spread(first: Numbers, second: Numbers, clusters: Labels | None = None) -> DifferenceSpread:
    """The numbers to plan with, from a pilot: sd of the differences, intraclass correlation, rows per cluster.

    The correlation is the one of the analysis of variance, not below 0; the cluster size is the one that the design
    effect needs when clusters differ, the sum of squared sizes over the rows.
    """
    differences, codes, n_missing = subtract_pairs(first, second, clusters)
    n, sizes = len(differences), np.bincount(codes).astype(np.float64)
    spread = DifferenceSpread(NAN, NAN, NAN, n, n_missing, len(sizes))
    if n < 2:
        return spread._replace(reason="fewer than 2 pairs")
    scale = float(np.abs(differences).max()) or 1.0
    x = differences / scale
    spread = spread._replace(sd=float(x.std(ddof=1)) * scale, cluster_size=float((sizes**2).sum() / n))
    if len(sizes) == n:
        return spread._replace(icc=0.0)
    if len(sizes) < 2:
        return spread._replace(reason="fewer than 2 clusters")
    means = sum_by_code(codes, x, len(sizes)) / sizes
    between = float((sizes * (means - x.mean()) ** 2).sum()) / (len(sizes) - 1)
    inside = float(((x - means[codes]) ** 2).sum()) / (n - len(sizes))
    typical = (n - float((sizes**2).sum()) / n) / (len(sizes) - 1)
    total = between + (typical - 1) * inside
    return spread._replace(icc=max(0.0, (between - inside) / total) if total > 0 else 0.0)
