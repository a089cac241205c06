"""Krippendorff's alpha (Krippendorff 2011): agreement of any number of raters, with missing ratings.

alpha = 1 - D_o / D_e, where D_o is the mean difference of ratings of the same unit and D_e that of any two ratings.
The difference of two values is: nominal, whether they differ; interval, their squared difference; ordinal, the squared
difference of their mid-ranks among all ratings used; ratio, ((a - b) / (a + b))^2. Units with one rating are left out.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.agreement import Agreement
from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, floats, one_of, sums_by
from rejoinder.stats.pairwise import pairs_within
from rejoinder.stats.ranks import midranks

Scale: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
_CELLS = 2**20


def krippendorff_alpha(ratings: Numbers, scale: Scale = "ordinal") -> Agreement:
    """Alpha of a matrix, units by raters, NaN where a rating is missing."""
    one_of(scale, Scale, "scale")
    matrix = floats(ratings, "ratings", ndim=2)
    present = np.isfinite(matrix)
    used = present.sum(axis=1) >= 2
    unit, _ = np.nonzero(present & used[:, None])
    values = matrix[present & used[:, None]]
    found = Agreement(NAN, NAN, NAN, len(values), int(used.sum()), int((~used).sum()))
    if not len(values):
        return found._replace(reason="no unit has two ratings")
    if scale == "ratio" and (values < 0).any():
        raise InputError(f"a ratio scale has no negative ratings; found {values.min():g}: use interval")
    if (values == values[0]).all():
        return found._replace(
            observed=0.0, expected=0.0, reason="no disagreement is expected: all ratings are the same"
        )
    unit = np.unique(unit, return_inverse=True)[1]
    if scale == "nominal":
        observed, expected = _nominal(values, unit)
    elif scale == "ratio":
        observed, expected = _ratio(values, unit)
    else:
        observed, expected = _squares(midranks(values) if scale == "ordinal" else _bounded(values), unit)
    return found._replace(value=1 - observed / expected, observed=observed, expected=expected)


def _squares(values: Floats, unit: Ints) -> tuple[float, float]:
    """Mean squared differences, inside units and of all; twice the sum of squares around the mean makes the pairs."""
    n, sizes = len(values), np.bincount(unit)
    inside = values - (sums_by(unit, values, len(sizes)) / sizes)[unit]
    observed = 2 * float((inside**2 * (sizes / (sizes - 1))[unit]).sum()) / n
    overall = values - values.mean()
    return observed, 2 * float((overall**2).sum()) / (n - 1)


def _nominal(values: Floats, unit: Ints) -> tuple[float, float]:
    n, sizes = len(values), np.bincount(unit)
    categories, codes = np.unique(values, return_inverse=True)
    cells, counts = np.unique(unit * len(categories) + codes, return_counts=True)
    same = sums_by(cells // len(categories), (counts * counts).astype(np.float64), len(sizes))
    observed = float(((sizes**2 - same) / (sizes - 1)).sum()) / n
    shares = np.bincount(codes).astype(np.float64)
    return observed, float(n**2 - (shares**2).sum()) / (n * (n - 1))


def _ratio(values: Floats, unit: Ints) -> tuple[float, float]:
    n, sizes = len(values), np.bincount(unit)
    first, second, of_unit = pairs_within(unit)
    each = _relative(values[first], values[second])
    observed = 2 * float((each / (sizes - 1)[of_unit]).sum()) / n
    distinct, counts = np.unique(values, return_counts=True)
    total = 0.0
    at_once = max(1, _CELLS // len(distinct))
    for start in range(0, len(distinct), at_once):
        part = slice(start, start + at_once)
        total += float(counts[part] @ _relative(distinct[part, None], distinct[None, :]) @ counts)
    return observed, total / (n * (n - 1))


def _relative(a: Floats, b: Floats) -> Floats:
    """((a - b) / (a + b))^2, and 0 for two zeros; halves keep the sum from overflowing."""
    total = a / 2 + b / 2
    share: Floats = np.where(total > 0, (a / 2 - b / 2) / np.where(total > 0, total, 1.0), 0.0)
    return share**2


def _bounded(values: Floats) -> Floats:
    """The values on a scale where no square overflows; alpha does not change by it."""
    scaled: Floats = values / np.abs(values).max()
    return scaled
