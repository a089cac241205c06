"""MACE (Hovy et al. 2013): each rater knows the class or spams with their own labels. Computed by crowd-kit.

With probability t_i rater i gives the true class, else a label drawn from s_i, whatever the unit: P(y | class k) =
t_i [y = k] + (1 - t_i) s_i(y). Fitted by variational Bayes from several starts. It assumes that errors are those of
people who do not look, rather than of people who see it differently: good for crowds, less so for experts.

    from rejoinder.stats.aggregation import aggregate

    aggregate([[1, 1, 2], [2, 2, 1], [1, 1, 1]], "mace").values    # needs rejoinder[crowd]
"""

from __future__ import annotations

from rejoinder.stats.aggregation._crowd_kit import aggregate_with_crowd_kit
from rejoinder.stats.aggregation._votes import Aggregated, Votes


def aggregate(votes: Votes) -> Aggregated:
    """The most probable class of each unit."""
    return aggregate_with_crowd_kit(votes.as_classes("mace"), "MACE", "aggregation by MACE", random_state=0)
