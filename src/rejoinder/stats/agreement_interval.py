"""Krippendorff's alpha and Fleiss' kappa with bootstrap intervals over units: all ratings of a unit stay together.

The values equal those of ``agreement``. Here they are computed from coincidences (Krippendorff 2011) and counts, so
that a resample only changes the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rejoinder.stats.agreement import Scale, Weights, krippendorff_alpha
from rejoinder.stats.arrays import (
    NAN,
    Bools,
    Floats,
    Ints,
    Labels,
    Numbers,
    as_floats,
    check_at_least,
    check_one_of,
    check_same_length,
    encode_labels,
    make_generator,
)
from rejoinder.stats.interval import Interval
from rejoinder.stats.pairwise_accuracy import pairs_within
from rejoinder.stats.rating_matrix import rating_unit_interval
from rejoinder.stats.resampling import IntervalKind, percentile_interval, resample_counts

MAX_CATEGORIES = 200
TOO_MANY_CATEGORIES = f"more than {MAX_CATEGORIES} different ratings: these are not classes"
_CELLS = 2**22


@dataclass(frozen=True)
class UnitCounts:
    """What each unit adds to each cell, as a sparse matrix: a unit touches few cells."""

    cells: Any  # scipy.sparse.csr_matrix, units by cells
    n_ratings: int
    n_left_out: int
    clusters: Ints  # which units are resampled together

    @classmethod
    def of(
        cls,
        unit: Ints,
        cell: Ints,
        amount: Floats,
        shape: tuple[int, int],
        n_ratings: int,
        n_left_out: int,
        clusters: Ints | None = None,
    ) -> UnitCounts:
        """Build from rows: this unit adds this amount to this cell; without clusters every unit is its own cluster."""
        from scipy.sparse import csr_matrix

        cluster_codes = np.arange(shape[0]) if clusters is None else clusters
        return cls(csr_matrix((amount, (unit, cell)), shape), n_ratings, n_left_out, cluster_codes)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.cells.shape[0])

    def whole(self) -> Floats:
        """The counts of the data themselves, as one row."""
        return np.asarray(self.cells.sum(axis=0), dtype=np.float64).reshape(1, -1)

    def interval(
        self,
        statistic: Callable[[Floats], Floats],
        *,
        n_resamples: int = 1000,
        seed: int = 0,
        level: float = 0.95,
        kind: IntervalKind = "corrected",
    ) -> list[Interval]:
        """The intervals of the values (one column each) that a statistic returns for rows of counts."""
        check_at_least(n_resamples, 1, "n_resamples")
        values = statistic(self.whole())[0]
        random = make_generator(seed)
        n_clusters = int(self.clusters.max(initial=-1)) + 1
        batch_size = max(1, _CELLS // max(self.n_units, self.cells.shape[1], 1))
        samples = []
        for start in range(0, n_resamples, batch_size):
            weights = resample_counts(n_clusters, min(batch_size, n_resamples - start), random).take(
                self.clusters, axis=1
            )
            samples.append(statistic(np.asarray((self.cells.T @ weights.T.astype(np.float64)).T)))
        columns = np.concatenate(samples).T
        counts = self.n_ratings, self.n_left_out, n_clusters
        return [
            percentile_interval(float(value), column, *counts, level=level, kind=kind)
            for value, column in zip(values, columns, strict=True)
        ]


def used_clusters(matrix: Floats, clusters: Labels | None) -> Ints | None:
    """The clusters of the units with two ratings or more, renumbered from 0."""
    if clusters is None:
        return None
    check_same_length(ratings=matrix, clusters=clusters)
    return np.unique(encode_labels(clusters, "clusters")[0][_used_units(matrix)], return_inverse=True)[1]


def _used_units(matrix: Floats) -> Bools:
    used: Bools = np.isfinite(matrix).sum(axis=1) >= 2
    return used


def encode_units(matrix: Floats) -> tuple[Floats, Ints, Ints, Floats, int]:
    """The units with two or more ratings: their rows, each rating's unit and category, the categories, n left out."""
    known = np.isfinite(matrix)
    used = _used_units(matrix)
    part = np.where(known, matrix, NAN)[used]
    unit, rater = np.nonzero(known[used])
    values, code = np.unique(part[unit, rater], return_inverse=True)
    return part, unit, code, values, int((~used).sum())


def ordered_pairs(unit: Ints) -> tuple[Ints, Ints]:
    """All pairs of two different ratings of one unit, in both orders; the units come in order."""
    first, second, _ = pairs_within(unit)
    return np.concatenate([first, second]), np.concatenate([second, first])


def beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """One minus observed over expected disagreement; NaN where none is expected."""
    with np.errstate(invalid="ignore", divide="ignore"):
        values: Floats = np.where(expected > 1e-14, 1 - observed / np.where(expected > 1e-14, expected, 1.0), NAN)
    return values


def alpha_interval(
    ratings: Numbers,
    scale: Scale = "ordinal",
    clusters: Labels | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Krippendorff's alpha of a matrix, units by raters, with its interval; clusters are resampled whole."""
    check_one_of(scale, Scale, "scale")
    matrix = as_floats(ratings, "ratings", ndim=2)
    whole = krippendorff_alpha(matrix, scale)  # raises if the ratings are invalid
    if whole.reason:
        return Interval(whole.value, NAN, NAN, whole.n, whole.n_left_out, whole.n_units, whole.reason)
    part, unit, code, values, left_out = encode_units(matrix)
    cluster_codes = used_clusters(matrix, clusters)
    if len(values) > MAX_CATEGORIES:
        return rating_unit_interval(
            part,
            lambda m: krippendorff_alpha(m, scale).value,
            cluster_codes,
            n_resamples=n_resamples,
            seed=seed,
            level=level,
            kind="corrected",
        )
    size = len(values)
    (first, second), sizes = ordered_pairs(unit), np.bincount(unit)
    amount = 1 / (sizes[unit[first]] - 1)
    counts = UnitCounts.of(
        unit[first], code[first] * size + code[second], amount, (len(part), size**2), len(unit), left_out, cluster_codes
    )

    def alphas(rows: Floats) -> Floats:
        coincidences = rows.reshape(-1, size, size)
        totals = coincidences.sum(axis=2)
        n = totals.sum(axis=1)
        distance = _category_distances(scale, values, totals)
        observed = (coincidences * distance).sum(axis=(1, 2)) * (n - 1)
        expected = np.einsum("bc,bck,bk->b", totals, np.broadcast_to(distance, coincidences.shape), totals)
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
    """Fleiss' kappa of a matrix of categories, units by raters, with its interval."""
    matrix = as_floats(ratings, "ratings", ndim=2)
    part, unit, code, values, left_out = encode_units(matrix)
    if not len(unit):
        return Interval(NAN, NAN, NAN, 0, left_out, 0, "no unit has two ratings")
    if len(values) > MAX_CATEGORIES:
        return Interval(NAN, NAN, NAN, len(unit), left_out, len(part), TOO_MANY_CATEGORIES)
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

    def kappas(samples: Floats) -> Floats:
        shares = samples[:, :size] / samples[:, :size].sum(axis=1, keepdims=True)
        return beyond_chance(1 - samples[:, size] / samples[:, size + 1], 1 - (shares**2).sum(axis=1))[:, None]

    return counts.interval(kappas, n_resamples=n_resamples, seed=seed, level=level)[0]


def _category_distances(scale: Scale, values: Floats, totals: Floats) -> Floats:
    """Squared differences of the categories, one matrix per resample (or one for all)."""
    a, b = values[:, None], values[None, :]
    if scale == "nominal":
        unequal: Floats = (a != b).astype(np.float64)
        return unequal[None]
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


MIN_SHARED = 10


class CohenAgreement(NamedTuple):
    """Cohen's kappa over pairs of raters, and of each rater with the others.

    ``mean`` is over the ``n_pairs`` pairs of raters with enough common units, weighted by how many. ``raters`` has one
    entry per column of the matrix: the kappa of the rater's rating with another rater's, over all others and all shared
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
    least_shared: int = MIN_SHARED,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> CohenAgreement:
    """Cohen's kappa of all pairs of raters that share enough units, and of each rater against the rest."""
    check_one_of(weights, Weights, "weighting")
    matrix = as_floats(ratings, "ratings", ndim=2)
    part, unit, code, values, left_out = encode_units(matrix)
    rater = np.nonzero(np.isfinite(part))[1]
    n_raters, size = matrix.shape[1], len(values)
    if size > MAX_CATEGORIES:
        empty = Interval(NAN, NAN, NAN, len(unit), left_out, len(part), TOO_MANY_CATEGORIES)
        return CohenAgreement(empty, 0, [empty] * n_raters, np.zeros(n_raters, dtype=np.int64))
    cluster_codes = used_clusters(matrix, clusters)
    first, second = ordered_pairs(unit)
    shared = np.bincount(np.unique(unit[first] * n_raters + rater[first]) % n_raters, minlength=n_raters)
    cost = _kappa_costs(weights, size)
    # Each rater's table has their ratings in its rows and all others' in its columns; the tables of pairs follow.
    pair = np.minimum(rater[first], rater[second]) * n_raters + np.maximum(rater[first], rater[second])
    pairs, pair_codes, pair_counts = np.unique(pair, return_inverse=True, return_counts=True)
    frequent = np.flatnonzero(pair_counts // 2 >= least_shared)
    table_index = np.full(len(pairs), -1)
    table_index[frequent] = np.arange(len(frequent))
    once = (rater[first] < rater[second]) & (table_index[pair_codes] >= 0)
    cell = code[first] * size + code[second]
    cells = np.concatenate(
        [rater[first] * size**2 + cell, (n_raters + table_index[pair_codes[once]]) * size**2 + cell[once]]
    )
    units = np.concatenate([unit[first], unit[first][once]])
    shape = len(part), (n_raters + len(frequent)) * size**2
    counts = UnitCounts.of(units, cells, np.ones(len(cells)), shape, len(unit), left_out, cluster_codes)

    def kappas(rows: Floats) -> Floats:
        tables = rows.reshape(len(rows), n_raters + len(frequent), size, size)
        each = _table_kappas(tables, cost)
        n = tables[:, n_raters:].sum(axis=(2, 3))
        n = np.where(np.isnan(each[:, n_raters:]), 0, n)
        with np.errstate(invalid="ignore"):
            mean = (np.nan_to_num(each[:, n_raters:]) * n).sum(axis=1, keepdims=True) / n.sum(axis=1, keepdims=True)
        return np.concatenate([mean, each[:, :n_raters]], axis=1)

    intervals = counts.interval(kappas, n_resamples=n_resamples, seed=seed, level=level)
    mean = intervals[0] if len(frequent) else intervals[0]._replace(reason=f"no two raters share {least_shared} units")
    return CohenAgreement(mean, len(frequent), intervals[1:], shared)


def _kappa_costs(weights: Weights, size: int) -> Floats:
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    costs: dict[str, Floats] = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}
    return costs[weights]


def _table_kappas(tables: Floats, cost: Floats) -> Floats:
    """Cohen's kappa of each table (the last two axes)."""
    n = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (tables * cost).sum(axis=(-2, -1)) / n
        expected = np.einsum("...a,ab,...b->...", tables.sum(axis=-1), cost, tables.sum(axis=-2)) / n**2
    return beyond_chance(observed, expected)
