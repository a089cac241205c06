"""The label that most raters of a unit gave (the lowest of equally many); its probability is the share of the votes."""

from __future__ import annotations

from rejoinder.stats.aggregation._result import Aggregated, labelled
from rejoinder.stats.aggregation._votes import Votes


def aggregate(votes: Votes) -> Aggregated:
    """The most frequent label of each unit."""
    return labelled(votes.as_classes("mode"), votes.shares)
