"""The label that most raters of a unit gave (the lowest of equally many); its probability is the share of the votes."""

from __future__ import annotations

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units


def aggregate(votes: Votes) -> Aggregated:
    """The most frequent label of each unit."""
    return label_units(votes.as_classes("mode"), votes.shares)
