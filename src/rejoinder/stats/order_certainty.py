"""How sure the order of two systems is: 0 where every resample of items agrees on it, 1 where it is a toss-up."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, at_least, finite, generator
from rejoinder.stats.ranking import Ranking
from rejoinder.stats.resampling import resample_counts

_CELLS = 2**20


def order_uncertainty(table: Floats, *, n_resamples: int = 1000, seed: int = 0) -> Floats:
    """For every two systems, twice the smaller share of resamples in which one of them is ahead: (systems, systems).

    The table has a line an item and a column a system, NaN where there is no value; means are taken over the items
    drawn, and equal means count as half. A system that has no value is a toss-up against everybody.
    """
    at_least(n_resamples, 1, "n_resamples")
    values = finite(table.ravel(), "table").reshape(table.shape)
    there = ~np.isnan(values)
    n_items, n_systems = table.shape
    ahead = np.zeros((n_systems, n_systems))
    counted = np.zeros((n_systems, n_systems))
    random = generator(seed)
    at_once = max(1, _CELLS // max(n_items, n_systems**2, 1))
    for start in range(0, n_resamples, at_once):
        counts = resample_counts(n_items, min(at_once, n_resamples - start), random).astype(np.float64)
        sizes = counts @ there
        means = counts @ np.nan_to_num(values) / np.where(sizes > 0, sizes, NAN)
        difference = means[:, :, None] - means[:, None, :]
        known = ~np.isnan(difference)
        equal = np.abs(np.nan_to_num(difference)) <= 1e-12 * np.abs(np.nan_to_num(means))[:, :, None]
        ahead += np.where(known, np.where(equal, 0.5, difference > 0), 0.0).sum(axis=0)
        counted += known.sum(axis=0)
    share = np.where(counted > 0, ahead / np.maximum(counted, 1), 0.5)
    uncertain: Floats = 2 * np.minimum(share, 1 - share)
    np.fill_diagonal(uncertain, 0.0)
    return uncertain


def strength_uncertainty(ranking: Ranking) -> dict[tuple[str, str], float]:
    """For every two systems, the two-sided p-value of their difference in strength; 1 where there are no strengths.

    The errors of the two are taken as independent, which is near enough to choose what to ask next.
    """
    from scipy.special import ndtr

    found = {}
    for a in ranking.strengths:
        for b in ranking.strengths:
            error = np.hypot(a.high - a.low, b.high - b.low) / (2 * 1.96)
            apart = abs(a.value - b.value) / error if error > 0 else NAN
            found[str(a.system), str(b.system)] = 1.0 if np.isnan(apart) else float(2 * ndtr(-apart))
    return found
