"""Minimax conditional entropy for ordered classes (Zhou, Liu, Platt and Meek 2014, section 3).

P(rater i labels unit j of class c as k) is proportional to exp(sum over cuts s of a_i(s, c < s, k < s) + b_j(s, c < s,
k < s)): the model counts, for every cut s of the scale, how often a class below or above s got a label below or above
s. That is 4 (classes - 1) weights each instead of classes^2. It assumes that neighbouring classes are easily confused
and distant ones are not.

Such weights cannot express that somebody rates everything one class too low. So a rater also has the weights of the
model without an order, unless the model is used ``as_published``.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> aggregate([[1, 1, 2], [2, 2, 2], [1, 1, 1], [2, 1, 1]], "minimax_entropy_ordinal").values.tolist()
    [1.0, 2.0, 1.0, 1.0]
"""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._minimax import PUBLISHED_STRENGTH, STRENGTH, MinimaxStructure, fit_minimax
from rejoinder.stats.aggregation._votes import Aggregated, Votes
from rejoinder.stats.arrays import Floats


def aggregate(votes: Votes, as_published: bool = False) -> Aggregated:
    """The most probable class of each unit; the categories are taken in the order of their numbers."""
    votes = votes.as_classes("minimax_entropy_ordinal")
    size = len(votes.categories)
    cut = cut_features(size)
    if as_published:
        return fit_minimax(votes, MinimaxStructure(np.zeros((size**2, 0)), cut, cut), PUBLISHED_STRENGTH)
    return fit_minimax(votes, MinimaxStructure(cut, np.concatenate([cut, np.eye(size**2)], axis=1), cut), STRENGTH)


def cut_features(size: int) -> Floats:
    """Whether class and label lie below or above each cut: (class and label, cut and sides)."""
    above = (np.arange(size)[:, None] >= np.arange(1, size)[None, :]).astype(np.float64)
    sides = np.stack([1 - above, above])
    products = np.einsum("acs,bks->cksab", sides, sides)
    features: Floats = products.reshape(size**2, -1)
    return features
