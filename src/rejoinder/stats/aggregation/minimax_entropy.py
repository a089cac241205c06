"""Minimax conditional entropy for unordered classes (Zhou, Liu, Platt and Meek 2014, section 2)."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._minimax import PUBLISHED_STRENGTH, STRENGTH, MinimaxStructure, fit_minimax
from rejoinder.stats.aggregation._votes import Aggregated, Votes


def aggregate(votes: Votes, as_published: bool = False) -> Aggregated:
    """The most probable class of each unit; every pair of class and label has a weight for each rater and unit.

    All votes share one weight, that of a label which is the class.
    """
    votes = votes.as_classes("minimax_entropy")
    size = len(votes.categories)
    every = np.eye(size**2)
    shared = np.zeros((size**2, 0)) if as_published else np.eye(size).reshape(-1, 1)
    return fit_minimax(votes, MinimaxStructure(shared, every, every), PUBLISHED_STRENGTH if as_published else STRENGTH)
