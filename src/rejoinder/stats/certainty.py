"""How far any metric could follow ratings that are not sure themselves: the correlation of such ratings with the truth.

A model of aggregation says for each unit how probable each class is. If that is right, the truth t has in each unit the
mean e and the standard deviation s that the model gives, and the labels v correlate with it by

    cov(v, e) / sqrt(var(v) (var(e) + mean(s^2))).

Means of ratings with standard errors s come out as truth plus noise: sqrt(1 - mean(s^2) / var(v)).
Both are Pearson's correlations, and a metric that knew the truth would reach no more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Numbers, finite, is_constant, same_length


class Reachable(NamedTuple):
    """The correlation that the truth itself would have with the ratings."""

    value: float
    n: int
    n_missing: int
    reason: str | None = None


def reachable_by_labels(values: Numbers, expected: Numbers, spread: Numbers) -> Reachable:
    """For labels whose classes have probabilities: their mean and standard deviation in each unit."""
    v, e, s = finite(values, "values"), finite(expected, "expected"), finite(spread, "spread")
    same_length(values=v, expected=e, spread=s)
    known = ~np.isnan(v + e + s)
    v, e, s = v[known], e[known], s[known]
    found = Reachable(NAN, len(v), int((~known).sum()))
    if len(v) < 3:
        return found._replace(reason="fewer than 3 units say how sure they are")
    if is_constant(v):
        return found._replace(reason="the labels are all the same")
    truth = float(e.var() + (s**2).mean())
    value = float(np.mean((v - v.mean()) * (e - e.mean()))) / math.sqrt(float(v.var()) * truth)
    return found._replace(value=min(1.0, value))


def reachable_by_means(values: Numbers, errors: Numbers) -> Reachable:
    """For means with their standard errors; units without one (a single rating) are left out."""
    v, s = finite(values, "values"), finite(errors, "errors")
    same_length(values=v, errors=s)
    known = ~np.isnan(v + s)
    v, s = v[known], s[known]
    found = Reachable(NAN, len(v), int((~known).sum()))
    if len(v) < 3:
        return found._replace(reason="fewer than 3 units say how sure they are")
    if is_constant(v):
        return found._replace(reason="the means are all the same")
    share = 1 - float((s**2).mean()) / float(v.var(ddof=1))
    if share <= 0:
        return found._replace(value=0.0, reason="the means vary no more than their errors do")
    return found._replace(value=math.sqrt(share))
