"""MACE (Hovy et al. 2013): each rater knows the class or spams with their own labels. Computed by crowd-kit."""

from __future__ import annotations

from rejoinder.stats.aggregation._crowd_kit import aggregate_with_crowd_kit
from rejoinder.stats.aggregation._votes import Aggregated, Votes


def aggregate(votes: Votes) -> Aggregated:
    """The most probable class of each unit."""
    return aggregate_with_crowd_kit(votes.as_classes("mace"), "MACE", "aggregation by MACE", random_state=0)
