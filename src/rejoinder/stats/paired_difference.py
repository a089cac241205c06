"""Is one system better than another? Paired differences, with whole dialogues (clusters) resampled or flipped together.

``first`` and ``second`` hold both systems' scores of the same items, row by row; pairs with a missing side are left out
and counted. Without clusters every pair is its own cluster.
"""

from __future__ import annotations

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Ints,
    Labels,
    Numbers,
    as_finite,
    check_at_least,
    check_same_length,
    encode_labels,
    make_generator,
)
from rejoinder.stats.interval import Interval, scaled_mean
from rejoinder.stats.resampling import IntervalKind, percentile_interval, resample_counts
from rejoinder.stats.significance import Significance

_CELLS = 2**18


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
    differences, codes, n_missing = paired_differences(first, second, clusters)
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
    differences, codes, n_missing = paired_differences(first, second, clusters)
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


def paired_differences(first: Numbers, second: Numbers, clusters: Labels | None) -> tuple[Floats, Ints, int]:
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
