"""The label that most raters of a unit gave (the lowest of equally many); its probability is the share of the votes.

For votes y of a unit: the class k with the largest share, #(y = k) / n. It assumes that all raters are equally good and
err independently of one another: then the commonest label is the most probable class.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> nan = float("nan")
    >>> votes = [[1, 1, 2], [2, 2, 1], [1, nan, 2], [2, 2, 1], [1, 1, 2], [nan, 2, 1]]  # units by raters
    >>> aggregate(votes, "mode").values.tolist()  # the last unit has one vote for each: the lower label
    [1.0, 2.0, 1.0, 2.0, 1.0, 1.0]
"""

from __future__ import annotations

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units


def aggregate(votes: Votes) -> Aggregated:
    """The most frequent label of each unit."""
    return label_units(votes.as_classes("mode"), votes.shares)
