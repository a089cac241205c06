"""The mean of a unit's ratings, with its standard error and Student's t interval; one rating has neither."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._votes import Aggregated, Votes
from rejoinder.stats.arrays import NAN


def aggregate(votes: Votes) -> Aggregated:
    """The mean of each unit."""
    from scipy.special import stdtrit

    n = votes.sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = votes.by_unit(votes.values[:, None])[:, 0] / n
        squares = votes.by_unit(((votes.values - mean[votes.unit]) ** 2)[:, None])[:, 0]
        error = np.where(n > 1, np.sqrt(squares / (n - 1) / n), NAN)
    reach = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), 0.975), NAN) * error
    return Aggregated(mean, mean, error, mean - reach, mean + reach, n, votes.categories)
