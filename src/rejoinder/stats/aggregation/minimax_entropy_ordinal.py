"""Minimax conditional entropy for ordered classes (Zhou, Liu, Platt and Meek 2014, section 3).

Neighbouring classes are easily confused, distant ones are not. So the model counts for raters and units: for every cut
s of the scale, how often a class below or above s got a label below or above s. That is 4 (classes - 1) weights each
instead of classes^2.

Such weights cannot express that somebody rates everything one class too low. So a rater also has the weights of the
model without an order, unless the model is used ``as_published``.
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
