"""The model of Dawid and Skene (1979): each rater has a matrix of how true classes turn into labels; fitted by EM.

With the classes' shares p(k) and rater i's matrix e_i(k, l), the probability of label l for class k, a unit j with
votes y_ij has class k with

    P(k | votes) = p(k) prod_i e_i(k, y_ij) / sum_m p(m) prod_i e_i(m, y_ij)            (E step)
    e_i(k, l) = sum_j P_j(k) [y_ij = l] / sum_j P_j(k) [i rated j],  p(k) = mean_j P_j(k)   (M step)

It assumes that raters err independently given the class, and alike on all units of a class; so it needs raters with
many units each, and learns even from one who mixes up two classes. With few votes its probabilities are too close to 0
and 1. It starts from the shares of the votes, as crowd-kit's does, and stops when no probability changes any more. A
count of 0 in a rater's matrix becomes 1e-10 for labels that the rater used at all, so that no product becomes 0.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> nan = float("nan")
    >>> votes = [[1, 1, 2], [2, 2, 1], [1, nan, 2], [2, 2, 1], [1, 1, 2], [nan, 2, 1]]  # units by raters
    >>> aggregate(votes, "dawid_skene").values.tolist()  # the third rater always says the opposite
    [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
"""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import Floats, sum_by_code

MIN_PROBABILITY = 1e-10


def aggregate(votes: Votes, max_steps: int = 2000, tolerance: float = 1e-7) -> Aggregated:
    """The most probable class of each unit; EM stops when no probability changes by more than ``tolerance``."""
    votes = votes.as_classes("dawid_skene")
    rated = votes.sizes > 0
    probabilities = np.nan_to_num(votes.shares)
    change, steps = np.inf, 0
    while change > tolerance and steps < max_steps:
        priors = np.maximum(probabilities[rated].mean(axis=0), MIN_PROBABILITY)
        label_probabilities = estimate_confusions(votes, probabilities)[votes.rater, votes.label]
        scores = np.log(priors) + votes.by_unit(np.log(label_probabilities))
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        after = scores / scores.sum(axis=1, keepdims=True)
        change, steps = float(np.abs(after - probabilities)[rated].max()), steps + 1
        probabilities = after
    return label_units(votes, probabilities, steps, change <= tolerance)


def estimate_confusions(votes: Votes, probabilities: Floats) -> Floats:
    """The probability that each rater (first) gives each label (second) to a unit of each class (third)."""
    size = len(votes.categories)
    cells = (((votes.rater * size + votes.label) * size)[:, None] + np.arange(size)).ravel()
    counts = sum_by_code(cells, probabilities[votes.unit].ravel(), votes.n_raters * size**2).reshape(-1, size, size)
    used = np.zeros((votes.n_raters, size), dtype=bool)
    used[votes.rater, votes.label] = True
    counts = np.where(used[:, :, None], np.maximum(counts, MIN_PROBABILITY), 0.0)
    total = counts.sum(axis=1, keepdims=True)
    confusions: Floats = counts / np.where(total > 0, total, 1.0)
    return confusions
