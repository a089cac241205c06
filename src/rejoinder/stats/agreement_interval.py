"""Krippendorff's alpha and Fleiss' kappa with intervals by drawing units again: all raters of a unit stay together.

The values are those of ``agreement`` and ``alpha``; they are computed once more from coincidences (Krippendorff 2011)
and counts, which a resample only weighs anew.
"""

from __future__ import annotations

import numpy as np

from rejoinder.stats.alpha import Scale, krippendorff_alpha
from rejoinder.stats.arrays import NAN, Floats, Labels, Numbers, floats, one_of
from rejoinder.stats.interval import Interval
from rejoinder.stats.unit_counts import (
    MOST_CATEGORIES,
    TOO_MANY,
    UnitCounts,
    beyond_chance,
    coded,
    ordered_pairs,
    used_clusters,
)
from rejoinder.stats.units import unit_interval


def alpha_interval(
    ratings: Numbers,
    scale: Scale = "ordinal",
    clusters: Labels | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Krippendorff's alpha of a matrix, units by raters, with its interval; units of a cluster are drawn together."""
    one_of(scale, Scale, "scale")
    matrix = floats(ratings, "ratings", ndim=2)
    whole = krippendorff_alpha(matrix, scale)  # says what is wrong with the ratings, too
    if whole.reason:
        return Interval(whole.value, NAN, NAN, whole.n, whole.n_left_out, whole.n_units, whole.reason)
    part, unit, code, values, left_out = coded(matrix)
    together = used_clusters(matrix, clusters)
    if len(values) > MOST_CATEGORIES:
        return unit_interval(
            part,
            lambda m: krippendorff_alpha(m, scale).value,
            together,
            n_resamples=n_resamples,
            seed=seed,
            level=level,
            kind="corrected",
        )
    size = len(values)
    (first, second), sizes = ordered_pairs(unit), np.bincount(unit)
    amount = 1 / (sizes[unit[first]] - 1)
    counts = UnitCounts.of(
        unit[first], code[first] * size + code[second], amount, (len(part), size**2), len(unit), left_out, together
    )

    def alphas(lines: Floats) -> Floats:
        together = lines.reshape(-1, size, size)
        totals = together.sum(axis=2)
        n = totals.sum(axis=1)
        distance = _distances(scale, values, totals)
        observed = (together * distance).sum(axis=(1, 2)) * (n - 1)
        expected = np.einsum("bc,bck,bk->b", totals, np.broadcast_to(distance, together.shape), totals)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(expected > 0, 1 - observed / expected, NAN)[:, None]

    return counts.interval(alphas, n_resamples=n_resamples, seed=seed, level=level)[0]


def fleiss_interval(
    ratings: Numbers,
    clusters: Labels | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Fleiss' kappa of a matrix, units by raters, of categories, with its interval."""
    matrix = floats(ratings, "ratings", ndim=2)
    part, unit, code, values, left_out = coded(matrix)
    if not len(unit):
        return Interval(NAN, NAN, NAN, 0, left_out, 0, "no unit has two ratings")
    if len(values) > MOST_CATEGORIES:
        return Interval(NAN, NAN, NAN, len(unit), left_out, len(part), TOO_MANY)
    size = len(values)
    table = np.bincount(unit * size + code, minlength=len(part) * size).reshape(-1, size)
    n = table.sum(axis=1)
    alike = ((table**2).sum(axis=1) - n) / (n * (n - 1))
    rows, cells = np.nonzero(table)
    every = np.arange(len(part))
    counts = UnitCounts.of(  # the last two cells hold the sum of the units' agreement, and how many units there are
        np.concatenate([rows, every, every]),
        np.concatenate([cells, np.full(len(part), size), np.full(len(part), size + 1)]),
        np.concatenate([table[rows, cells], alike, np.ones(len(part))]),
        (len(part), size + 2),
        len(unit),
        left_out,
        used_clusters(matrix, clusters),
    )

    def kappas(lines: Floats) -> Floats:
        shares = lines[:, :size] / lines[:, :size].sum(axis=1, keepdims=True)
        return beyond_chance(1 - lines[:, size] / lines[:, size + 1], 1 - (shares**2).sum(axis=1))[:, None]

    return counts.interval(kappas, n_resamples=n_resamples, seed=seed, level=level)[0]


def _distances(scale: Scale, values: Floats, totals: Floats) -> Floats:
    """Squared differences of the categories, one matrix a resample (or one for all)."""
    a, b = values[:, None], values[None, :]
    if scale == "nominal":
        differ: Floats = (a != b).astype(np.float64)
        return differ[None]
    if scale == "interval":
        scaled = values / max(float(np.abs(values).max()), 1e-300)
        difference: Floats = (scaled[:, None] - scaled[None, :]) ** 2
        return difference[None]
    if scale == "ratio":
        total = a / 2 + b / 2
        share: Floats = np.where(total > 0, (a / 2 - b / 2) / np.where(total > 0, total, 1.0), 0.0) ** 2
        return share[None]
    ranks = np.cumsum(totals, axis=1) - totals / 2
    squared: Floats = (ranks[:, :, None] - ranks[:, None, :]) ** 2
    return squared
