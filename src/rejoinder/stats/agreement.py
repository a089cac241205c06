"""Agreement between raters beyond chance: Cohen's kappa (1960, 1968) and Fleiss' kappa (1971).

kappa = 1 - D_o / D_e, the observed over the expected disagreement. Where no disagreement is expected, as when
everything got the same rating, there is no kappa.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, floats, one_of, paired

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

    Distance is counted in categories: those that occur, in order, unless the whole scale is given.
    """
    x, y = paired(first=first, second=second)
    one_of(weights, Weights, "weighting")
    known = ~(np.isnan(x) | np.isnan(y))
    (a, b), size = _coded([x[known], y[known]], categories)
    n = int(known.sum())
    found = Agreement(NAN, NAN, NAN, 2 * n, n, len(known) - n)
    if not n:
        return found._replace(reason="no unit has two ratings")
    table = np.bincount(a * size + b, minlength=size**2).reshape(size, size) / n
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    cost = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]
    observed = float((cost * table).sum())
    expected = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    return _beyond_chance(found, observed, expected)


def fleiss_kappa(ratings: Numbers) -> Agreement:
    """Fleiss' kappa of a matrix, units by raters, of categories; raters need not be the same from unit to unit.

    Units may have different numbers of ratings: the agreement inside each counts alike, and chance goes by the share
    of each category among all ratings used.
    """
    matrix = floats(ratings, "ratings", ndim=2)
    present = ~np.isnan(matrix)
    sizes = present.sum(axis=1)
    used = sizes >= 2
    unit, _ = np.nonzero(present & used[:, None])
    found = Agreement(NAN, NAN, NAN, len(unit), int(used.sum()), int((~used).sum()))
    if not len(unit):
        return found._replace(reason="no unit has two ratings")
    (codes,), n_categories = _coded([matrix[present & used[:, None]]], None)
    counts = np.bincount(unit * n_categories + codes, minlength=len(matrix) * n_categories)
    counts = counts.reshape(len(matrix), n_categories)[used]
    n = sizes[used]
    observed = 1 - float((((counts**2).sum(axis=1) - n) / (n * (n - 1))).mean())
    expected = 1 - float(((counts.sum(axis=0) / n.sum()) ** 2).sum())
    return _beyond_chance(found, observed, expected)


def _beyond_chance(found: Agreement, observed: float, expected: float) -> Agreement:
    found = found._replace(observed=observed, expected=expected)
    if expected <= 1e-14:
        return found._replace(reason="no disagreement is expected: all ratings are the same")
    return found._replace(value=1 - observed / expected)


def _coded(columns: list[Floats], categories: Numbers | None) -> tuple[list[Ints], int]:
    """Ratings as positions on the scale, and the scale's length."""
    seen = np.unique(np.concatenate(columns))
    scale = seen if categories is None else np.unique(floats(categories, "categories"))
    strange = seen[~np.isin(seen, scale)]
    if len(strange):
        raise InputError(f"the rating {strange[0]:g} is not among the categories; give the whole scale")
    return [np.searchsorted(scale, column) for column in columns], len(scale)
