"""Minimax conditional entropy for unordered classes (Zhou, Liu, Platt and Meek 2014, section 2).

P(rater i labels unit j of class c as k) is proportional to exp(s_i(c, k) + t_j(c, k)), with a weight for every pair of
class and label, for each rater and each unit (``_minimax`` has the objective). It assumes that raters confuse classes
in their own ways and that units can be confusing in theirs; penalties keep the weights small where votes are few.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> nan = float("nan")
    >>> votes = [[1, 1, 2], [2, 2, 1], [1, nan, 2], [2, 2, 1], [1, 1, 2], [nan, 2, 1]]  # units by raters
    >>> aggregate(votes, "minimax_entropy").values.tolist()
    [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
"""

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
