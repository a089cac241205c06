"""Cohen's kappa with intervals by drawing units again: over all pairs of raters, and of each rater against the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.agreement import Weights
from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, floats, one_of
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

LEAST_SHARED = 10


class RaterAgreement(NamedTuple):
    """Cohen's kappa over pairs of raters, and of each rater with the others.

    ``mean`` is over the ``n_pairs`` pairs of raters with enough common units, weighted by how many. ``raters`` has one
    entry a column of the matrix: the kappa of the rater's rating with another rater's, over all others and all shared
    units; ``shared`` counts those units.
    """

    mean: Interval
    n_pairs: int
    raters: list[Interval]
    shared: Ints


def cohen_intervals(
    ratings: Numbers,
    weights: Weights = "none",
    clusters: Labels | None = None,
    *,
    least_shared: int = LEAST_SHARED,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> RaterAgreement:
    """Cohen's kappa of all pairs of raters that share enough units, and of each rater against the rest."""
    one_of(weights, Weights, "weighting")
    matrix = floats(ratings, "ratings", ndim=2)
    part, unit, code, values, left_out = coded(matrix)
    rater = np.nonzero(np.isfinite(part))[1]
    n_raters, size = matrix.shape[1], len(values)
    if size > MOST_CATEGORIES:
        nothing = Interval(NAN, NAN, NAN, len(unit), left_out, len(part), TOO_MANY)
        return RaterAgreement(nothing, 0, [nothing] * n_raters, np.zeros(n_raters, dtype=np.int64))
    together = used_clusters(matrix, clusters)
    first, second = ordered_pairs(unit)
    shared = np.bincount(np.unique(unit[first] * n_raters + rater[first]) % n_raters, minlength=n_raters)
    cost = _costs(weights, size)
    # Each rater's table counts them in its lines and all others in its columns; each pair's table stands behind those.
    pair = np.minimum(rater[first], rater[second]) * n_raters + np.maximum(rater[first], rater[second])
    met, number, often = np.unique(pair, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(often // 2 >= least_shared)
    place = np.full(len(met), -1)
    place[kept] = np.arange(len(kept))
    once = (rater[first] < rater[second]) & (place[number] >= 0)
    cell = code[first] * size + code[second]
    cells = np.concatenate([rater[first] * size**2 + cell, (n_raters + place[number[once]]) * size**2 + cell[once]])
    units = np.concatenate([unit[first], unit[first][once]])
    shape = len(part), (n_raters + len(kept)) * size**2
    counts = UnitCounts.of(units, cells, np.ones(len(cells)), shape, len(unit), left_out, together)

    def kappas(lines: Floats) -> Floats:
        tables = lines.reshape(len(lines), n_raters + len(kept), size, size)
        each = _table_kappas(tables, cost)
        n = tables[:, n_raters:].sum(axis=(2, 3))
        n = np.where(np.isnan(each[:, n_raters:]), 0, n)
        with np.errstate(invalid="ignore"):
            mean = (np.nan_to_num(each[:, n_raters:]) * n).sum(axis=1, keepdims=True) / n.sum(axis=1, keepdims=True)
        return np.concatenate([mean, each[:, :n_raters]], axis=1)

    found = counts.interval(kappas, n_resamples=n_resamples, seed=seed, level=level)
    mean = found[0] if len(kept) else found[0]._replace(reason=f"no two raters share {least_shared} units")
    return RaterAgreement(mean, len(kept), found[1:], shared)


def _costs(weights: Weights, size: int) -> Floats:
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    costs: dict[str, Floats] = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}
    return costs[weights]


def _table_kappas(tables: Floats, cost: Floats) -> Floats:
    """Cohen's kappa of tables in the last two axes."""
    n = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tables * cost).sum(axis=(-2, -1)) / n
        expected = np.einsum("...a,ab,...b->...", tables.sum(axis=-1), cost, tables.sum(axis=-2)) / n**2
    return beyond_chance(observed, expected)
