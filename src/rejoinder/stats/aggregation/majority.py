"""The label that more than half of a unit's raters gave; a unit without one gets none, so that ties are not hidden.

For votes y of a unit: the class k with #(y = k) / n > 1/2, else NaN. It assumes what ``mode`` assumes, and in addition
that no label is better than a doubtful one.

    >>> from rejoinder.stats.aggregation import aggregate
    >>> nan = float("nan")
    >>> votes = [[1, 1, 2], [2, 2, 1], [1, nan, 2], [2, 2, 1], [1, 1, 2], [nan, 2, 1]]  # units by raters
    >>> aggregate(votes, "majority").values.tolist()
    [1.0, 2.0, nan, 2.0, 1.0, nan]
"""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import NAN


def aggregate(votes: Votes) -> Aggregated:
    """The label of more than half, where there is one."""
    labels = label_units(votes.as_classes("majority"), votes.shares)
    with np.errstate(invalid="ignore"):
        return labels._replace(values=np.where(labels.confidence > 0.5 + 1e-12, labels.values, NAN))
