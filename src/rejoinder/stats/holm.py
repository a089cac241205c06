"""Holm's correction (1979): adjusts the p-values of several tests to control the chance of any false alarm."""

from __future__ import annotations

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import Floats, Numbers, as_floats


def holm(p_values: Numbers) -> Floats:
    """The adjusted p-values, in the same order; NaN stays NaN and does not count as a test."""
    p = as_floats(p_values, "p_values")
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise InputError("p-values must lie between 0 and 1")
    adjusted: Floats = p.copy()
    order = known[np.argsort(p[known], kind="stable")]
    products = p[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(products), 1.0)
    return adjusted
