"""How well people agree with each other, measured as for a metric: the ceiling for any metric."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Ints,
    Labels,
    Numbers,
    as_finite,
    as_floats,
    check_at_least,
    check_same_length,
    encode_labels,
    is_constant,
    make_generator,
    sum_by_code,
)
from rejoinder.stats.correlation import Correlation, Method, correlate
from rejoinder.stats.rating_matrix import compact_ratings
from rejoinder.stats.weighted_correlation import pairwise_correlation


class Ceiling(NamedTuple):
    """One rater against the rest: the mean correlation over raters, each rater's, and that of all ratings pooled."""

    value: float
    n_raters: int
    n_left_out: int
    raters: Floats
    pooled: Correlation
    reason: str | None = None


class SplitHalf(NamedTuple):
    """The mean correlation of two rankings of systems by halves of the ratings, and the middle 95% of the splits."""

    value: float
    low: float
    high: float
    n_splits: int
    n_systems: int
    n_units: int
    n_left_out: int
    reason: str | None = None


def one_against_rest(ratings: Numbers, method: Method = "spearman") -> Ceiling:
    """Each rater's correlation with the mean of the other raters, over the units (rows) that they share.

    A rater with fewer than three such units, or with the same rating for all, has none and is left out of the mean.
    Where raters rated few units each, look at ``pooled``: every rating against the mean of the others on its unit.
    """
    matrix = finite_matrix(ratings)
    present = ~np.isnan(matrix)
    others = present.sum(axis=1, keepdims=True) - present
    rest = np.nansum(matrix, axis=1, keepdims=True) - np.nan_to_num(matrix)
    rest = np.where(present & (others > 0), rest / np.maximum(others, 1), NAN)
    each = np.array([correlate(x, y, method).value for x, y in zip(matrix.T, rest.T, strict=True)])
    rows = np.flatnonzero(present.ravel())
    pooled = correlate(matrix.ravel()[rows], rest.ravel()[rows], method)
    defined = each[~np.isnan(each)]
    empty = Ceiling(NAN, len(defined), len(each) - len(defined), each, pooled)
    if not len(defined):
        return empty._replace(reason="no rater shares 3 units that vary with another")
    return empty._replace(value=float(defined.mean()))


def split_half(
    ratings: Numbers, systems: Labels, method: Method = "spearman", n_splits: int = 1000, seed: int = 0
) -> SplitHalf:
    """Rank systems by two random halves of each unit's ratings and correlate the rankings (Sato et al. 2020, 4.2).

    ``systems`` names the system of each unit (row). Units with one rating are left out; with an odd number of ratings,
    the second half has one more.
    """
    matrix = compact_ratings(finite_matrix(ratings))
    check_same_length(ratings=matrix, systems=systems)
    codes, _ = encode_labels(systems, "systems")
    check_at_least(n_splits, 1, "n_splits")
    sizes = (~np.isnan(matrix)).sum(axis=1)
    used = sizes >= 2
    codes = np.unique(codes[used], return_inverse=True)[1]
    n_systems = int(codes.max(initial=-1)) + 1
    empty = SplitHalf(NAN, NAN, NAN, n_splits, n_systems, int(used.sum()), int((~used).sum()))
    if n_systems < 3:
        return empty._replace(reason="fewer than 3 systems with two ratings on a unit")
    first, second = _split_half_means(matrix[used], codes, n_systems, n_splits, seed)
    values = pairwise_correlation(method, first, second, np.ones(first.shape, dtype=np.int64))
    values = values[~np.isnan(values)]
    if not len(values):
        return empty._replace(reason="the systems' means are all the same")
    low, high = np.quantile(values, (0.025, 0.975))
    return empty._replace(value=float(values.mean()), low=float(low), high=float(high))


def _split_half_means(matrix: Floats, codes: Ints, n_systems: int, n_splits: int, seed: int) -> tuple[Floats, Floats]:
    """The systems' means over the first and over the second half of every unit's ratings: (splits, systems)."""
    random = make_generator(seed)
    missing = np.isnan(matrix)
    filled = np.nan_to_num(matrix)
    half = ((~missing).sum(axis=1) // 2)[:, None]
    system = np.broadcast_to(codes[:, None], matrix.shape)
    means: tuple[list[Floats], list[Floats]] = ([], [])
    for _ in range(n_splits):
        keys = np.where(missing, 2.0, random.random(matrix.shape))
        position = keys.argsort(axis=1).argsort(axis=1)
        for half_means, in_half in zip(means, (position < half, (position >= half) & ~missing), strict=True):
            counts = sum_by_code(system[in_half], np.ones(int(in_half.sum())), n_systems)
            half_means.append(sum_by_code(system[in_half], filled[in_half], n_systems) / counts)
    return np.array(means[0]), np.array(means[1])


def finite_matrix(ratings: Numbers) -> Floats:
    """A matrix of ratings in which infinite ones are missing."""
    matrix = as_floats(ratings, "ratings", ndim=2)
    return as_finite(matrix.ravel(), "ratings").reshape(matrix.shape)


class ReachableCorrelation(NamedTuple):
    """The correlation that the true values themselves would have with the ratings."""

    value: float
    n: int
    n_missing: int
    reason: str | None = None


def reachable_by_labels(values: Numbers, expected: Numbers, spread: Numbers) -> ReachableCorrelation:
    """The reachable correlation of labels, from the mean and standard deviation of each unit's class probabilities."""
    v, e, s = as_finite(values, "values"), as_finite(expected, "expected"), as_finite(spread, "spread")
    check_same_length(values=v, expected=e, spread=s)
    known = ~np.isnan(v + e + s)
    v, e, s = v[known], e[known], s[known]
    empty = ReachableCorrelation(NAN, len(v), int((~known).sum()))
    if len(v) < 3:
        return empty._replace(reason="fewer than 3 units state their uncertainty")
    if is_constant(v):
        return empty._replace(reason="the labels are all the same")
    truth = float(e.var() + (s**2).mean())
    value = float(np.mean((v - v.mean()) * (e - e.mean()))) / math.sqrt(float(v.var()) * truth)
    return empty._replace(value=min(1.0, value))


def reachable_by_means(values: Numbers, errors: Numbers) -> ReachableCorrelation:
    """The reachable correlation of means, from their standard errors; units without one (one rating) are left out."""
    v, s = as_finite(values, "values"), as_finite(errors, "errors")
    check_same_length(values=v, errors=s)
    known = ~np.isnan(v + s)
    v, s = v[known], s[known]
    empty = ReachableCorrelation(NAN, len(v), int((~known).sum()))
    if len(v) < 3:
        return empty._replace(reason="fewer than 3 units state their uncertainty")
    if is_constant(v):
        return empty._replace(reason="the means are all the same")
    share = 1 - float((s**2).mean()) / float(v.var(ddof=1))
    if share <= 0:
        return empty._replace(value=0.0, reason="the means vary no more than their errors do")
    return empty._replace(value=math.sqrt(share))
