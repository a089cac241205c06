"""Agreement between raters beyond chance: Cohen's kappa (1960, 1968) and Fleiss' kappa (1971).

kappa = 1 - D_o / D_e, the observed over the expected disagreement. Where no disagreement is expected, as when
everything got the same rating, there is no kappa.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, as_floats, as_paired_floats, check_one_of, sum_by_code
from rejoinder.stats.correlation import midranks
from rejoinder.stats.pairwise_accuracy import pairs_within

Weights: TypeAlias = Literal["none", "linear", "quadratic"]


class Agreement(NamedTuple):
    """A coefficient of agreement: 1 is perfect, 0 is what chance gives.

    n counts the ratings used, n_units what they rate; units with fewer than two ratings are left out.
    """

    value: float
    observed: float
    expected: float
    n: int
    n_units: int
    n_left_out: int
    reason: str | None = None


def cohen_kappa(
    first: Numbers, second: Numbers, weights: Weights = "none", categories: Numbers | None = None
) -> Agreement:
    """Cohen's kappa of two raters, row by row; weighted by the distance between categories, or its square.

    Distance is counted in categories: those that occur, in order, unless ``categories`` lists the whole scale.
    """
    x, y = as_paired_floats(first=first, second=second)
    check_one_of(weights, Weights, "weighting")
    known = ~(np.isnan(x) | np.isnan(y))
    (a, b), size = _encode_ratings([x[known], y[known]], categories)
    n = int(known.sum())
    empty = Agreement(NAN, NAN, NAN, 2 * n, n, len(known) - n)
    if not n:
        return empty._replace(reason="no unit has two ratings")
    table = np.bincount(a * size + b, minlength=size**2).reshape(size, size) / n
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    cost = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]
    observed = float((cost * table).sum())
    expected = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    return _beyond_chance(empty, observed, expected)


def fleiss_kappa(ratings: Numbers) -> Agreement:
    """Fleiss' kappa of a matrix of categories, units by raters; raters need not be the same from unit to unit.

    Units may have different numbers of ratings: the agreement inside each unit has the same weight, and chance
    agreement comes from the share of each category among all ratings used.
    """
    matrix = as_floats(ratings, "ratings", ndim=2)
    present = ~np.isnan(matrix)
    sizes = present.sum(axis=1)
    used = sizes >= 2
    unit, _ = np.nonzero(present & used[:, None])
    empty = Agreement(NAN, NAN, NAN, len(unit), int(used.sum()), int((~used).sum()))
    if not len(unit):
        return empty._replace(reason="no unit has two ratings")
    (codes,), n_categories = _encode_ratings([matrix[present & used[:, None]]], None)
    counts = np.bincount(unit * n_categories + codes, minlength=len(matrix) * n_categories)
    counts = counts.reshape(len(matrix), n_categories)[used]
    n = sizes[used]
    observed = 1 - float((((counts**2).sum(axis=1) - n) / (n * (n - 1))).mean())
    expected = 1 - float(((counts.sum(axis=0) / n.sum()) ** 2).sum())
    return _beyond_chance(empty, observed, expected)


def _beyond_chance(agreement: Agreement, observed: float, expected: float) -> Agreement:
    agreement = agreement._replace(observed=observed, expected=expected)
    if expected <= 1e-14:
        return agreement._replace(reason="no disagreement is expected: all ratings are the same")
    return agreement._replace(value=1 - observed / expected)


def _encode_ratings(columns: list[Floats], categories: Numbers | None) -> tuple[list[Ints], int]:
    """Ratings as positions on the scale, and the scale's length."""
    values = np.unique(np.concatenate(columns))
    scale = values if categories is None else np.unique(as_floats(categories, "categories"))
    unknown = values[~np.isin(values, scale)]
    if len(unknown):
        raise InputError(f"the rating {unknown[0]:g} is not among the categories; list the whole scale")
    return [np.searchsorted(scale, column) for column in columns], len(scale)


Scale: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
_CELLS = 2**20


def krippendorff_alpha(ratings: Numbers, scale: Scale = "ordinal") -> Agreement:
    """Krippendorff's alpha of a matrix, units by raters, NaN where a rating is missing."""
    check_one_of(scale, Scale, "scale")
    matrix = as_floats(ratings, "ratings", ndim=2)
    present = np.isfinite(matrix)
    used = present.sum(axis=1) >= 2
    unit, _ = np.nonzero(present & used[:, None])
    values = matrix[present & used[:, None]]
    empty = Agreement(NAN, NAN, NAN, len(values), int(used.sum()), int((~used).sum()))
    if not len(values):
        return empty._replace(reason="no unit has two ratings")
    if scale == "ratio" and (values < 0).any():
        raise InputError(f"a ratio scale has no negative ratings (found {values.min():g}); use the interval scale")
    if (values == values[0]).all():
        return empty._replace(
            observed=0.0, expected=0.0, reason="no disagreement is expected: all ratings are the same"
        )
    unit = np.unique(unit, return_inverse=True)[1]
    if scale == "nominal":
        observed, expected = _nominal_disagreement(values, unit)
    elif scale == "ratio":
        observed, expected = _ratio_disagreement(values, unit)
    else:
        observed, expected = _interval_disagreement(
            midranks(values) if scale == "ordinal" else _rescale_ratings(values), unit
        )
    return empty._replace(value=1 - observed / expected, observed=observed, expected=expected)


def _interval_disagreement(values: Floats, unit: Ints) -> tuple[float, float]:
    """Mean squared differences of pairs, inside units and overall, from the sums of squares around the mean."""
    n, sizes = len(values), np.bincount(unit)
    inside = values - (sum_by_code(unit, values, len(sizes)) / sizes)[unit]
    observed = 2 * float((inside**2 * (sizes / (sizes - 1))[unit]).sum()) / n
    overall = values - values.mean()
    return observed, 2 * float((overall**2).sum()) / (n - 1)


def _nominal_disagreement(values: Floats, unit: Ints) -> tuple[float, float]:
    n, sizes = len(values), np.bincount(unit)
    categories, codes = np.unique(values, return_inverse=True)
    cells, counts = np.unique(unit * len(categories) + codes, return_counts=True)
    same = sum_by_code(cells // len(categories), (counts * counts).astype(np.float64), len(sizes))
    observed = float(((sizes**2 - same) / (sizes - 1)).sum()) / n
    shares = np.bincount(codes).astype(np.float64)
    return observed, float(n**2 - (shares**2).sum()) / (n * (n - 1))


def _ratio_disagreement(values: Floats, unit: Ints) -> tuple[float, float]:
    n, sizes = len(values), np.bincount(unit)
    first, second, pair_unit = pairs_within(unit)
    squares = _relative_squares(values[first], values[second])
    observed = 2 * float((squares / (sizes - 1)[pair_unit]).sum()) / n
    distinct, counts = np.unique(values, return_counts=True)
    total = 0.0
    batch_size = max(1, _CELLS // len(distinct))
    for start in range(0, len(distinct), batch_size):
        part = slice(start, start + batch_size)
        total += float(counts[part] @ _relative_squares(distinct[part, None], distinct[None, :]) @ counts)
    return observed, total / (n * (n - 1))


def _relative_squares(a: Floats, b: Floats) -> Floats:
    """((a - b) / (a + b))^2, and 0 for two zeros; halves keep the sum from overflowing."""
    total = a / 2 + b / 2
    share: Floats = np.where(total > 0, (a / 2 - b / 2) / np.where(total > 0, total, 1.0), 0.0)
    return share**2


def _rescale_ratings(values: Floats) -> Floats:
    """The values on a scale where no square overflows, which leaves alpha unchanged."""
    scaled: Floats = values / np.abs(values).max()
    return scaled
