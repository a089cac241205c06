"""The mean of a unit's ratings, with its standard error and Student's t interval; one rating has neither.

Of n ratings x of a unit: m = sum(x) / n, error = sqrt(sum((x - m)^2) / (n - 1) / n), interval m ± t(n - 1, .975) error.
It assumes that ratings are numbers on a scale with equal steps, and that all raters use the scale alike.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> result = aggregate([[1, 2, 3], [4, 4, 5]], "mean")
    >>> [round(value, 2) for value in result.values.tolist()], [round(value, 2) for value in result.error.tolist()]
    ([2.0, 4.33], [0.58, 0.33])
"""

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
