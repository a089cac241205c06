"""Domain sensitivity: the best over the worst Spearman correlation over data sets (Berlot-Attwell and Rudzicz 2022)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Numbers, as_floats


class Sensitivity(NamedTuple):
    """How much a metric's correlation depends on the data set: 1 means not at all; negative or infinite is worst."""

    value: float
    best: float
    worst: float
    n: int
    n_missing: int
    reason: str | None = None


def domain_sensitivity(correlations: Numbers) -> Sensitivity:
    """The ratio best / worst of a metric's correlations, one per data set.

    It is negative when the metric is negatively correlated somewhere and infinite when the worst is 0. Without a
    positive correlation the ratio has no meaning (two negative ones would look good) and is NaN.
    """
    values = as_floats(correlations, "correlations")
    known = values[~np.isnan(values)]
    if (np.abs(known) > 1).any():
        raise InputError(f"correlations must lie between -1 and 1; found {known[np.abs(known) > 1][0]:g}")
    result = Sensitivity(NAN, NAN, NAN, len(known), len(values) - len(known))
    if not len(known):
        return result._replace(reason="no correlations")
    best, worst = float(known.max()), float(known.min())
    result = result._replace(best=best, worst=worst)
    if len(known) < 2:
        return result._replace(reason="fewer than 2 data sets")
    if not best > 0:
        return result._replace(reason="no correlation is positive")
    return result._replace(value=best / worst if worst else math.inf)
