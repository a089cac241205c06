"""How well people agree with each other, in the terms in which a metric is judged: the ceiling for any metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Ints,
    Labels,
    Numbers,
    at_least,
    encode,
    finite,
    floats,
    generator,
    same_length,
    sums_by,
)
from rejoinder.stats.correlation import Correlation, Method, correlate
from rejoinder.stats.levels import pairwise_correlation
from rejoinder.stats.units import compact


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
    """Each rater's correlation with the mean of the other raters, over the units (lines) that they share.

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
    found = Ceiling(NAN, len(defined), len(each) - len(defined), each, pooled)
    if not len(defined):
        return found._replace(reason="no rater shares 3 units that vary with another")
    return found._replace(value=float(defined.mean()))


def split_half(
    ratings: Numbers, systems: Labels, method: Method = "spearman", n_splits: int = 1000, seed: int = 0
) -> SplitHalf:
    """Rank systems by two random halves of each unit's ratings and correlate the rankings (Sato et al. 2020, 4.2).

    ``systems`` says whose response each unit (line) is. Units with one rating are left out; of an odd number, the
    second half has one more.
    """
    matrix = compact(finite_matrix(ratings))
    same_length(ratings=matrix, systems=systems)
    codes, _ = encode(systems, "systems")
    at_least(n_splits, 1, "n_splits")
    sizes = (~np.isnan(matrix)).sum(axis=1)
    used = sizes >= 2
    codes = np.unique(codes[used], return_inverse=True)[1]
    n_systems = int(codes.max(initial=-1)) + 1
    found = SplitHalf(NAN, NAN, NAN, n_splits, n_systems, int(used.sum()), int((~used).sum()))
    if n_systems < 3:
        return found._replace(reason="fewer than 3 systems with two ratings on a unit")
    first, second = _halves(matrix[used], codes, n_systems, n_splits, seed)
    values = pairwise_correlation(method, first, second, np.ones(first.shape, dtype=np.int64))
    values = values[~np.isnan(values)]
    if not len(values):
        return found._replace(reason="the systems' means are all the same")
    low, high = np.quantile(values, (0.025, 0.975))
    return found._replace(value=float(values.mean()), low=float(low), high=float(high))


def _halves(matrix: Floats, codes: Ints, n_systems: int, n_splits: int, seed: int) -> tuple[Floats, Floats]:
    """The systems' means over the first and over the second half of every unit's ratings: (splits, systems)."""
    random = generator(seed)
    missing = np.isnan(matrix)
    filled = np.nan_to_num(matrix)
    half = ((~missing).sum(axis=1) // 2)[:, None]
    system = np.broadcast_to(codes[:, None], matrix.shape)
    means: tuple[list[Floats], list[Floats]] = ([], [])
    for _ in range(n_splits):
        keys = np.where(missing, 2.0, random.random(matrix.shape))
        place = keys.argsort(axis=1).argsort(axis=1)
        for of_half, chosen in zip(means, (place < half, (place >= half) & ~missing), strict=True):
            counts = sums_by(system[chosen], np.ones(int(chosen.sum())), n_systems)
            of_half.append(sums_by(system[chosen], filled[chosen], n_systems) / counts)
    return np.array(means[0]), np.array(means[1])


def finite_matrix(ratings: Numbers) -> Floats:
    """A matrix of ratings in which infinite ones are missing."""
    matrix = floats(ratings, "ratings", ndim=2)
    return finite(matrix.ravel(), "ratings").reshape(matrix.shape)
