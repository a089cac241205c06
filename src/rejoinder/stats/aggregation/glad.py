"""GLAD (Whitehill et al. 2009): each rater has an ability, each unit a difficulty. Computed by crowd-kit."""

from __future__ import annotations

from rejoinder.stats.aggregation._crowd_kit import aggregate_with_crowd_kit
from rejoinder.stats.aggregation._votes import Aggregated, Votes


def aggregate(votes: Votes) -> Aggregated:
    """The most probable class of each unit."""
    return aggregate_with_crowd_kit(votes.as_classes("glad"), "GLAD", "aggregation by GLAD")
