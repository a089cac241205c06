"""GLAD (Whitehill et al. 2009): each rater has an ability, each unit a difficulty. Computed by crowd-kit.

Rater i is right on unit j with probability 1 / (1 + exp(-a_i b_j)); a_i is the ability (negative for one who says the
opposite), b_j > 0 how easy the unit is; a wrong label is any of the others with equal probability. Fitted by EM. It
assumes that one number per rater is enough: that nobody confuses two classes more than others.

    from rejoinder.stats.aggregation import aggregate

    aggregate([[1, 1, 2], [2, 2, 1], [1, 1, 1]], "glad").values    # needs rejoinder[crowd]
"""

from __future__ import annotations

from rejoinder.stats.aggregation._crowd_kit import aggregate_with_crowd_kit
from rejoinder.stats.aggregation._votes import Aggregated, Votes


def aggregate(votes: Votes) -> Aggregated:
    """The most probable class of each unit."""
    return aggregate_with_crowd_kit(votes.as_classes("glad"), "GLAD", "aggregation by GLAD")
