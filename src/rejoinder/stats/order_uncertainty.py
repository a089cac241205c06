"""How uncertain the order of every two systems is: from resampled items, or from Bradley-Terry strengths."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Floats,
    as_finite,
    check_at_least,
    make_generator,
)
from rejoinder.stats.bradley_terry import StrengthRanking
from rejoinder.stats.resampling import resample_counts

_CELLS = 2**20


def order_uncertainty(table: Floats, *, n_resamples: int = 1000, seed: int = 0) -> Floats:
    """For every two systems, twice the smaller share of resamples in which one of them is ahead: (systems, systems).

    The table has one row per item and one column per system, NaN where there is no value; means are taken over the
    resampled items, and equal means count as half. A system without values is a toss-up against all others.
    """
    check_at_least(n_resamples, 1, "n_resamples")
    values = as_finite(table.ravel(), "table").reshape(table.shape)
    present = ~np.isnan(values)
    n_items, n_systems = table.shape
    ahead = np.zeros((n_systems, n_systems))
    n_known = np.zeros((n_systems, n_systems))
    random = make_generator(seed)
    batch_size = max(1, _CELLS // max(n_items, n_systems**2, 1))
    for start in range(0, n_resamples, batch_size):
        counts = resample_counts(n_items, min(batch_size, n_resamples - start), random).astype(np.float64)
        sizes = counts @ present
        means = counts @ np.nan_to_num(values) / np.where(sizes > 0, sizes, NAN)
        difference = means[:, :, None] - means[:, None, :]
        known = ~np.isnan(difference)
        equal = np.abs(np.nan_to_num(difference)) <= 1e-12 * np.abs(np.nan_to_num(means))[:, :, None]
        ahead += np.where(known, np.where(equal, 0.5, difference > 0), 0.0).sum(axis=0)
        n_known += known.sum(axis=0)
    share = np.where(n_known > 0, ahead / np.maximum(n_known, 1), 0.5)
    uncertain: Floats = 2 * np.minimum(share, 1 - share)
    np.fill_diagonal(uncertain, 0.0)
    return uncertain


def strength_uncertainty(ranking: StrengthRanking) -> dict[tuple[str, str], float]:
    """For every two systems, the two-sided p-value of their difference in strength; 1 where there are no strengths.

    The two errors are treated as independent, which is accurate enough to choose what to ask next.
    """
    from scipy.special import ndtr

    p_values = {}
    for a in ranking.strengths:
        for b in ranking.strengths:
            error = np.hypot(a.high - a.low, b.high - b.low) / (2 * 1.96)
            distance = abs(a.value - b.value) / error if error > 0 else NAN
            p_values[str(a.system), str(b.system)] = 1.0 if np.isnan(distance) else float(2 * ndtr(-distance))
    return p_values
