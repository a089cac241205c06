"""The label that more than half of a unit's raters gave; a unit without one gets none, so that ties are not hidden."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import NAN


def aggregate(votes: Votes) -> Aggregated:
    """The label of more than half, where there is one."""
    labels = label_units(votes.as_classes("majority"), votes.shares)
    with np.errstate(invalid="ignore"):
        return labels._replace(values=np.where(labels.confidence > 0.5 + 1e-12, labels.values, NAN))
