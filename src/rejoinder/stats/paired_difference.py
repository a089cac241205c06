"""Is one system better than another? Paired differences, with whole dialogues (clusters) resampled or flipped together.

``paired_difference`` has a test and an interval that agree and that hold for skewed differences too. p is the larger of
two p-values, and the interval holds every true difference that this p does not reject:

- Sign flips. If the true difference is m, then in the cluster sums s_g - m n_g both signs are equally likely. They need
  no variance and no large sample, but symmetric differences. A set of flipped clusters reaches |sum of (s_g - m n_g)|
  exactly if m lies between its mean and the mean of the other clusters (Hartigan 1969), so the interval follows from
  the quantiles of these means.
- Student's t with Hall's correction for skewness (``hall``), which needs no symmetry but more than a few clusters.

``first`` and ``second`` hold both systems' scores of the same items, row by row; pairs with a missing side are left out
and counted. Without clusters every pair is its own cluster.
"""

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
    check_at_least,
    check_probability,
    check_same_length,
    encode_labels,
    make_generator,
    sum_by_code,
)
from rejoinder.stats.hall import HallMean
from rejoinder.stats.interval import Interval, scaled_mean
from rejoinder.stats.resampling import IntervalKind, percentile_interval, resample_counts
from rejoinder.stats.significance import Significance

_CELLS = 2**18


class PairedDifference(NamedTuple):
    """The mean of first minus second with its interval and p-value, and how much data it rests on."""

    value: float
    low: float
    high: float
    p: float
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def paired_difference(
    first: Numbers,
    second: Numbers,
    clusters: Labels | None = None,
    *,
    n_permutations: int = 4999,
    seed: int = 0,
    level: float = 0.95,
) -> PairedDifference:
    """The mean of first minus second: its interval leaves 0 out exactly where p is below 1 - level.

    With fewer clusters than it takes for a p below 1 - level (6 for 95%), there is a p but no interval.
    """
    check_at_least(n_permutations, 1, "n_permutations")
    check_probability(level, "level")
    differences, codes, n_missing = subtract_pairs(first, second, clusters)
    n_clusters = int(codes.max(initial=-1)) + 1
    result = PairedDifference(NAN, NAN, NAN, NAN, len(differences), n_missing, n_clusters)
    if not len(differences):
        return result._replace(reason="no pairs")
    scale = float(np.abs(differences).max()) or 1.0
    x = differences / scale
    value, sizes = float(x.mean()), np.bincount(codes)
    deviations = sum_by_code(codes, x - value, n_clusters)
    lows, highs = (_snap(value + ends) for ends in _flip_ends(deviations, sizes, n_permutations, make_generator(seed)))
    p = float(((lows <= 0) & (highs >= 0)).mean())
    rank = max(1, math.ceil((1 - level) * len(lows) - 1e-9))  # the fewest flips that make a p of at least 1 - level
    low = float(np.partition(lows, rank - 1)[rank - 1])
    high = float(np.partition(highs, len(highs) - rank)[len(highs) - rank])
    error = math.sqrt(n_clusters / max(1, n_clusters - 1)) * float(np.linalg.norm(deviations)) / len(x)
    hall = HallMean.of(value, error, deviations) if error > _ROUNDING else None
    if hall is not None:
        p, ends = max(p, hall.p()), hall.ends(level)
        low, high = min(low, ends[0]), max(high, ends[1])
    result = result._replace(value=scaled_mean(differences), p=p)
    if math.isinf(high - low):
        needed = math.floor(-math.log2(1 - level)) + 2
        return result._replace(reason=f"fewer than {needed} clusters" if n_clusters < needed else "too few flips")
    return result._replace(low=low * scale, high=high * scale)


_ROUNDING = 1e-12  # as a share of the largest difference


def _snap(values: Floats) -> Floats:
    """The values, with those that differ from 0 by rounding only as 0."""
    return np.where(np.abs(values) <= _ROUNDING, 0.0, values)


def _flip_ends(deviations: Floats, sizes: Ints, n_permutations: int, random: np.random.Generator) -> list[Floats]:
    """For each way to flip clusters, the means of the flipped and of the other clusters: the lower, and the higher.

    They are counted from the mean of all. The data themselves, with nothing flipped, come first and have no ends. A set
    and its complement are the same way, so the last cluster is never flipped where all ways are tried.
    """
    n, n_rows = len(sizes), int(sizes.sum())
    is_exact = n <= 30 and 2 ** (n - 1) <= 1 + n_permutations
    n_ways = 2 ** (n - 1) - 1 if is_exact else n_permutations
    weights = np.stack([deviations, sizes.astype(np.float64)], axis=1)
    batches = [np.zeros((1, 2))]
    batch_size = max(1, _CELLS // n)
    for start in range(0, n_ways, batch_size):
        size = min(batch_size, n_ways - start)
        ways = np.arange(1 + start, 1 + start + size)[:, None]
        flips = (ways >> np.arange(n)) & 1 if is_exact else random.integers(0, 2, (size, n))
        batches.append(flips.astype(np.float64) @ weights)
    sums, rows = np.concatenate(batches).T
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.stack([sums / rows, -sums / (n_rows - rows)])
    is_whole = (rows == 0) | (rows == n_rows)
    return [np.where(is_whole, -math.inf, means.min(axis=0)), np.where(is_whole, math.inf, means.max(axis=0))]


def difference_interval(
    first: Numbers,
    second: Numbers,
    clusters: Labels | None = None,
    *,
    n_resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    kind: IntervalKind = "expanded",
) -> Interval:
    """The mean of first minus second, with a bootstrap interval over whole clusters."""
    check_at_least(n_resamples, 1, "n_resamples")
    differences, codes, n_missing = subtract_pairs(first, second, clusters)
    n_clusters = int(codes.max(initial=-1)) + 1
    if not len(differences):
        return Interval(NAN, NAN, NAN, 0, n_missing, 0, "no pairs")
    mean = scaled_mean(differences)
    sums, sizes = np.bincount(codes, weights=differences - mean), np.bincount(codes)
    random = make_generator(seed)
    samples = []
    batch_size = max(1, _CELLS // n_clusters)
    for start in range(0, n_resamples, batch_size):
        counts = resample_counts(n_clusters, min(batch_size, n_resamples - start), random)
        samples.append(mean + (counts @ sums) / (counts @ sizes))
    return percentile_interval(
        mean, np.concatenate(samples), len(differences), n_missing, n_clusters, level=level, kind=kind
    )


def sign_flip_test(
    first: Numbers,
    second: Numbers,
    clusters: Labels | None = None,
    *,
    n_permutations: int = 9999,
    seed: int = 0,
) -> Significance:
    """Approximate randomisation (Noreen 1989): the share of ways to swap the systems, cluster by cluster, in which the
    mean difference is at least as large. With at most ``n_permutations`` ways, all are tried and p is exact.
    """
    check_at_least(n_permutations, 1, "n_permutations")
    differences, codes, n_missing = subtract_pairs(first, second, clusters)
    empty = Significance(NAN, NAN, len(differences), n_missing)
    if not len(differences):
        return empty._replace(reason="no pairs")
    scale = float(np.abs(differences).max())
    mean = scaled_mean(differences)
    if scale == 0:
        return empty._replace(statistic=0.0, p=1.0)
    sums = np.bincount(codes, weights=differences / scale)
    sums = sums[sums != 0]
    threshold = abs(float(sums.sum())) - 1e-12 * float(np.abs(sums).sum())
    if len(sums) <= 30 and 2 ** len(sums) <= n_permutations:
        signs = 1 - 2 * ((np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums))) & 1)
        return empty._replace(statistic=mean, p=float((np.abs(signs @ sums) >= threshold).mean()))
    random = make_generator(seed)
    n_as_large = 0
    batch_size = max(1, _CELLS // len(sums))
    for start in range(0, n_permutations, batch_size):
        size = min(batch_size, n_permutations - start)
        signs = 1 - 2 * random.integers(0, 2, (size, len(sums)))
        n_as_large += int((np.abs(signs @ sums) >= threshold).sum())
    return empty._replace(statistic=mean, p=(1 + n_as_large) / (1 + n_permutations))


def subtract_pairs(first: Numbers, second: Numbers, clusters: Labels | None) -> tuple[Floats, Ints, int]:
    """The differences that are not missing, the cluster of each, and the number missing."""
    x, y = as_finite(first, "first"), as_finite(second, "second")
    check_same_length(first=x, second=y)
    codes = np.arange(len(x))
    if clusters is not None:
        check_same_length(first=x, clusters=clusters)
        codes, _ = encode_labels(clusters, "clusters")
    with np.errstate(over="ignore"):
        differences = as_finite(x - y, "differences")
    known = ~np.isnan(differences)
    return differences[known], np.unique(codes[known], return_inverse=True)[1], int((~known).sum())
