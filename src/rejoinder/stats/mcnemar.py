"""McNemar's test: do two systems that were right or wrong on the same items differ?

Only the items on which they disagree count: b where only the first is right, c where only the second is.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Numbers, as_paired_floats, check_at_least, check_one_of
from rejoinder.stats.significance import Significance

McNemarMethod: TypeAlias = Literal["exact", "mid_p", "chi2", "chi2_corrected"]


def mcnemar_test(first: Numbers, second: Numbers, method: McNemarMethod = "mid_p") -> Significance:
    """McNemar's test on two arrays of right (1) and wrong (0), row by row; missing rows are left out and counted."""
    x, y = as_paired_floats(first=first, second=second)
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if not (np.isin(x, (0, 1)).all() and np.isin(y, (0, 1)).all()):
        raise InputError("McNemar's test needs 1 (right) and 0 (wrong) only; apply a threshold to the scores first")
    result = mcnemar_from_counts(int((x > y).sum()), int((y > x).sum()), method)
    if not len(x):
        result = result._replace(reason="no pairs", statistic=NAN, p=NAN)
    return result._replace(n=len(x), n_missing=int((~known).sum()))


def mcnemar_from_counts(b: int, c: int, method: McNemarMethod = "mid_p") -> Significance:
    """McNemar's test from the two counts of disagreement.

    exact: binomial, statistic min(b, c). mid_p: exact minus half the probability of the observed counts (Fagerland et
    al. 2013), which keeps the level and is less conservative. chi2: (b - c)^2 / (b + c), one degree of freedom;
    chi2_corrected: with Edwards' (|b - c| - 1)^2. Without any disagreement p is 1.
    """
    from scipy.special import bdtr

    check_one_of(method, McNemarMethod, "McNemar test")
    b, c = check_at_least(b, 0, "b"), check_at_least(c, 0, "c")
    n, few = b + c, min(b, c)
    if method in ("chi2", "chi2_corrected"):
        distance = max(abs(b - c) - (method == "chi2_corrected"), 0)
        statistic = distance**2 / n if n else 0.0
        return Significance(statistic, math.erfc(math.sqrt(statistic / 2)), n, 0)
    if b == c and (method == "exact" or n == 0):
        return Significance(float(few), 1.0, n, 0)
    p = 2 * float(bdtr(few, n, 0.5))
    if method == "mid_p":
        p -= math.exp(math.lgamma(n + 1) - math.lgamma(few + 1) - math.lgamma(n - few + 1) - n * math.log(2))
    return Significance(float(few), min(1.0, p), n, 0)
