"""How far apart two columns of scores are, place by place: values whose mean is the figure, so that it has an interval.

A standardised gap and an AUC are no plain means. To first order each is one: the figure plus the influence of each
place (for the AUC, Obuchowski 1997, who sums DeLong's placements over clusters). The cluster-robust interval of the
mean of these values is the figure's; so is that of the difference of two scorers at the same places.
"""

from __future__ import annotations

import numpy as np

from rejoinder.contract import NAN
from rejoinder.models.speaker_network import Array
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.stats.ranks import midranks


def gap_values(true: Array, other: Array) -> Array:
    """Values whose mean is the difference of the means over the root of the mean variance; NaN where one is missing."""
    there = ~(np.isnan(true) | np.isnan(other))
    x, y = true[there], other[there]
    values = np.full(len(true), NAN)
    if not len(x):
        return values
    variance = (x.var() + y.var()) / 2
    if variance == 0:
        values[there] = 0.0
        return values
    gap = (x.mean() - y.mean()) / np.sqrt(variance)
    squares = ((x - x.mean()) ** 2 + (y - y.mean()) ** 2) / 2 - variance
    values[there] = (x - y) / np.sqrt(variance) - gap * squares / (2 * variance)
    return values


def auc_values(true: Array, other: Array) -> Array:
    """Values whose mean is the chance that a true reply is above one of the others; ties count half."""
    there = ~(np.isnan(true) | np.isnan(other))
    x, y = true[there].astype(np.float64), other[there].astype(np.float64)
    values = np.full(len(true), NAN)
    n = len(x)
    if n:
        together = midranks(np.concatenate([x, y]))
        above = (together[:n] - midranks(x)) / n  # of the others, the share that each true reply is above
        below = 1 - (together[n:] - midranks(y)) / n  # of the true replies, the share above each other
        values[there] = above + below - above.mean()
    return values


def won_values(true: Array, other: Array) -> Array:
    """1 where the true reply has the higher score at its own place, one half for a tie."""
    missing = np.isnan(true) | np.isnan(other)
    return np.where(missing, NAN, (true > other) + 0.5 * (true == other))


def first_values(scores: Array) -> Array:
    """1 where the first column is above all others; NaN where one of them is missing."""
    whole = ~np.isnan(scores).any(axis=1)
    return np.where(whole, (scores[:, :1] > scores[:, 1:]).all(axis=1), NAN)


def mean_of(values: Array, dialogues: Array) -> Interval:
    """The mean of values with its interval, clustered by dialogue."""
    return mean_interval(values, dialogues.tolist())
