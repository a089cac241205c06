"""The ranks that each system may have: the rank of its mean when the items are resampled."""

from __future__ import annotations

from typing import Any, NamedTuple

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
from rejoinder.stats.resampling import resample_counts

_CELLS = 2**18


class RankRange(NamedTuple):
    """One system's mean, its rank (1 is best) and the ends of the range that holds its rank in most resamples."""

    system: Any
    mean: float
    rank: float
    low: float
    high: float


class RankRanges(NamedTuple):
    """All systems, best first; those without a value come last, with NaN."""

    ranges: tuple[RankRange, ...]
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def rank_ranges(
    values: Numbers,
    systems: Labels,
    clusters: Labels,
    *,
    higher_is_better: bool = True,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> RankRanges:
    """Every system's range of ranks when whole clusters (items, dialogues) are resampled for all systems together.

    Equal means share the best rank of the tie as ``rank``; a range includes both ends of ties.
    """
    x = as_finite(values, "values")
    check_same_length(values=x, systems=systems, clusters=clusters)
    check_at_least(n_resamples, 1, "n_resamples")
    tail = (1 - check_probability(level, "level")) / 2
    codes, names = encode_labels(systems, "systems")
    groups, _ = encode_labels(clusters, "clusters")
    known = ~np.isnan(x)
    groups = np.unique(groups[known], return_inverse=True)[1]
    n_clusters = int(groups.max(initial=-1)) + 1
    cells = groups * len(names) + codes[known]
    size = n_clusters * len(names)
    sign = 1.0 if higher_is_better else -1.0
    sums = sum_by_code(cells, sign * x[known], size).reshape(n_clusters, len(names))
    sizes = sum_by_code(cells, np.ones(len(cells)), size).reshape(n_clusters, len(names))
    whole = _resampled_means(np.ones((1, n_clusters)), sums, sizes)
    rank = _tied_ranks(whole)[0][0]
    low, high = np.full(len(names), NAN), np.full(len(names), NAN)
    if n_clusters > 1:
        best, worst = _resample_ranks(sums, sizes, n_resamples, seed)
        for s in np.flatnonzero(~np.isnan(best).all(axis=0)):
            low[s] = np.nanquantile(best[:, s], tail, method="inverted_cdf")
            high[s] = np.nanquantile(worst[:, s], 1 - tail, method="inverted_cdf")
    order = np.lexsort((np.arange(len(names)), np.nan_to_num(rank, nan=np.inf)))
    columns = np.stack([sign * whole[0], rank, low, high], axis=1).tolist()
    reason = None if n_clusters > 1 else "fewer than 2 clusters"
    return RankRanges(
        tuple(RankRange(names[s], *columns[s]) for s in order),
        int(known.sum()),
        int((~known).sum()),
        n_clusters,
        reason,
    )


def _resample_ranks(sums: Floats, sizes: Floats, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
    """Each system's best and worst rank in every resample."""
    random = make_generator(seed)
    batch_size = max(1, _CELLS // max(len(sums), sums.shape[1] ** 2))
    parts = []
    for start in range(0, n_resamples, batch_size):
        counts = resample_counts(len(sums), min(batch_size, n_resamples - start), random)
        parts.append(_tied_ranks(_resampled_means(counts, sums, sizes)))
    best, worst = zip(*parts, strict=True)
    return np.concatenate(best), np.concatenate(worst)


def _resampled_means(counts: Floats | Ints, sums: Floats, sizes: Floats) -> Floats:
    """The systems' means in each resample; NaN for a system that was not drawn."""
    n = counts @ sizes
    means: Floats = counts @ sums / np.where(n > 0, n, NAN)
    return means


def _tied_ranks(means: Floats) -> tuple[Floats, Floats]:
    """The best and the worst rank that ties allow; NaN for a system without a mean."""
    own, others = means[:, :, None], means[:, None, :]
    tolerance = 1e-12 * np.abs(np.nan_to_num(own))  # means of the same numbers in another order are equal
    best = 1.0 + (others > own + tolerance).sum(axis=2)
    worst = (others >= own - tolerance).sum(axis=2).astype(np.float64)
    missing = np.isnan(means)
    return np.where(missing, NAN, best), np.where(missing, NAN, worst)
