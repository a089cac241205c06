"""Williams' test that two correlations with the same variable differ (Williams 1959; Graham and Baldwin 2014).

With r12 and r13 the correlations of two metrics with the ratings and r23 that of the metrics with each other,

    t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 K (n - 1) / (n - 3) + (r12 + r13)^2 (1 - r23)^3 / 4)),
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,

has Student's distribution with n - 3 degrees of freedom for Pearson's r of normal variables; with rank correlations it
is an approximation. It treats rows as independent: where items or systems repeat, use the permutation test.
"""

from __future__ import annotations

import math

import numpy as np

from rejoinder.stats.arrays import NAN, Numbers, as_paired_floats
from rejoinder.stats.correlation import Method, correlate
from rejoinder.stats.significance import Significance


def williams_test(first: Numbers, second: Numbers, ratings: Numbers, method: Method = "pearson") -> Significance:
    """The t statistic (positive when the first metric correlates better) and its two-sided p-value."""
    x, y, z = as_paired_floats(first=first, second=second, ratings=ratings)
    known = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    n = int(known.sum())
    empty = Significance(NAN, NAN, n, len(known) - n)
    if n < 4:
        return empty._replace(reason="fewer than 4 rows")
    correlations = [correlate(a[known], b[known], method) for a, b in ((x, z), (y, z), (x, y))]
    for correlation in correlations:
        if correlation.reason:
            return empty._replace(reason=correlation.reason)
    first_r, second_r, between = (correlation.value for correlation in correlations)
    return williams_from_correlations(first_r, second_r, between, n)._replace(n_missing=len(known) - n)


def williams_from_correlations(first: float, second: float, between: float, n: int) -> Significance:
    """The test from the two correlations with the ratings and the one between the metrics, over n rows."""
    from scipy.special import stdtr

    empty = Significance(NAN, NAN, n, 0)
    if n < 4:
        return empty._replace(reason="fewer than 4 rows")
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    mean = (first + second) / 2
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if not spread > 0:
        return empty._replace(reason="the metrics agree perfectly")
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / spread)
    return empty._replace(statistic=t, p=float(2 * stdtr(n - 3, -abs(t))))
