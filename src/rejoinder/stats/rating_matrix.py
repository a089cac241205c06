"""Ratings as a matrix, units by raters, NaN where a rater did not rate; bootstrap intervals over units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import (
    LARGEST,
    NAN,
    Floats,
    Labels,
    Numbers,
    as_floats,
    check_at_least,
    check_same_length,
    encode_labels,
    make_generator,
)
from rejoinder.stats.interval import Interval
from rejoinder.stats.resampling import IntervalKind, percentile_interval


class RatingMatrix(NamedTuple):
    """Ratings with one row per unit (what was rated) and one column per rater."""

    values: Floats
    units: tuple[Any, ...]
    raters: tuple[Any, ...]


def rating_matrix(units: Labels, raters: Labels, ratings: Numbers) -> RatingMatrix:
    """The matrix of a list of ratings; a rater may rate each unit once."""
    values = as_floats(ratings, "ratings")
    check_same_length(units=units, raters=raters, ratings=values)
    unit, unit_names = encode_labels(units, "units")
    rater, rater_names = encode_labels(raters, "raters")
    matrix = np.full((len(unit_names), len(rater_names)), NAN)
    _, first_rows, counts = np.unique(unit * len(rater_names) + rater, return_index=True, return_counts=True)
    for row in first_rows[counts > 1][:1]:
        raise InputError(
            f"rater {rater_names[rater[row]]} rated {unit_names[unit[row]]} more than once; keep one of these ratings"
        )
    for row in np.flatnonzero(np.abs(values) > LARGEST)[:1]:
        raise InputError(
            f"rater {rater_names[rater[row]]} gave {unit_names[unit[row]]} the rating {values[row]:g}, "
            f"which is too large for a mean; keep ratings within {LARGEST:g}"
        )
    matrix[unit, rater] = values
    return RatingMatrix(matrix, tuple(unit_names), tuple(rater_names))


def compact_ratings(ratings: Numbers) -> Floats:
    """The ratings of each unit moved to the left, with no more columns than needed.

    Columns no longer stand for raters. For statistics that ignore who rated, these are the same data, and much faster
    to use when everybody rated little.
    """
    matrix = as_floats(ratings, "ratings", ndim=2)
    missing = np.isnan(matrix)
    width = int((~missing).sum(axis=1).max(initial=0))
    compacted: Floats = np.take_along_axis(matrix, np.argsort(missing, axis=1, kind="stable"), axis=1)[:, :width]
    return compacted


def rating_unit_interval(
    ratings: Numbers,
    statistic: Callable[[Floats], float],
    clusters: Labels | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    kind: IntervalKind = "expanded",
) -> Interval:
    """Any statistic of a matrix of ratings, with a bootstrap interval over units or clusters of them."""
    matrix = as_floats(ratings, "ratings", ndim=2)
    check_at_least(n_resamples, 1, "n_resamples")
    n_missing = int(np.isnan(matrix).sum())
    codes = np.arange(len(matrix)) if clusters is None else encode_labels(clusters, "clusters")[0]
    check_same_length(ratings=matrix, clusters=codes)
    size = int(codes.max(initial=-1)) + 1
    counts = matrix.size - n_missing, n_missing, size
    if not matrix.size:
        return Interval(NAN, NAN, NAN, *counts, "no ratings")
    random = make_generator(seed)
    members = [np.flatnonzero(codes == code) for code in range(size)] if clusters is not None else list(codes[:, None])
    resamples = (np.concatenate([members[c] for c in random.integers(0, size, size)]) for _ in range(n_resamples))
    samples = np.array([statistic(matrix[rows]) for rows in resamples])
    return percentile_interval(float(statistic(matrix)), samples, *counts, level=level, kind=kind)
