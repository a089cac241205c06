"""A ranking of systems from pairwise judgements: Bradley and Terry (1952), a tie being half a win for each.

Strengths add up to 0, and a system with strength a is expected to get 1 / (1 + exp(b - a)) points of a judgement
against one with strength b. Intervals come from the robust (sandwich) covariance with the factor G / (G - 1), over
judgements or over clusters of them (raters, items), and Student's t with G - 1 degrees of freedom.

Strengths exist when nobody can be split off who only won or only lost; otherwise ``reason`` says whom, and
``shrinkage`` (a penalty of shrinkage / 2 times the sum of squared strengths) makes them finite. Systems that never met,
even through others, cannot be compared at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, encode, floats, probability, same_length, sums_by
from rejoinder.stats.bradley_terry import fit, robust_errors, why_not

POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}  # the first system's points for each choice of a preference


class Strength(NamedTuple):
    """One system's strength with its interval, its points and its judgements."""

    system: Any
    value: float
    low: float
    high: float
    points: float
    n: int


class Ranking(NamedTuple):
    """Systems from the strongest to the weakest (by share of points where there are no strengths)."""

    strengths: tuple[Strength, ...]
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def rank_systems(
    first: Labels,
    second: Labels,
    points: Numbers,
    clusters: Labels | None = None,
    *,
    shrinkage: float = 0.0,
    level: float = 0.95,
) -> Ranking:
    """Bradley-Terry strengths from the points (1, 0.5 or 0) that the first system got against the second."""
    y, (a, b), groups, names, n_missing = _judgements(first, second, points, clusters)
    probability(level, "level")
    if not shrinkage >= 0:
        raise InputError(f"shrinkage must be 0 or more, not {shrinkage}")
    size = len(names)
    won = sums_by(a * size + b, y, size**2).reshape(size, size)
    won += sums_by(b * size + a, 1 - y, size**2).reshape(size, size)
    n_clusters = len(np.unique(groups))
    strengths, errors = np.full(size, NAN), np.full(size, NAN)
    reason = why_not(won, names, shrinkage)
    if reason is None:
        strengths = fit(won, shrinkage)
        errors = robust_errors(strengths, shrinkage, y, a, b, groups)
        reason = "no interval: fewer than 2 clusters" if n_clusters < 2 else None
    return Ranking(_listed(names, won, strengths, errors, n_clusters, level), len(y), n_missing, n_clusters, reason)


def _listed(
    names: list[Any], won: Floats, strengths: Floats, errors: Floats, n_clusters: int, level: float
) -> tuple[Strength, ...]:
    from scipy.special import stdtrit

    t = float(stdtrit(n_clusters - 1, (1 + level) / 2)) if n_clusters > 1 else NAN
    points, played = won.sum(axis=1), (won + won.T).sum(axis=1)
    share = points / np.maximum(played, 1)
    order = np.lexsort((np.arange(len(names)), -share, -np.nan_to_num(strengths)))
    return tuple(
        Strength(
            names[s],
            float(strengths[s]),
            float(strengths[s] - t * errors[s]),
            float(strengths[s] + t * errors[s]),
            float(points[s]),
            round(float(played[s])),
        )
        for s in order
    )


def _judgements(
    first: Labels, second: Labels, points: Numbers, clusters: Labels | None
) -> tuple[Floats, tuple[Ints, Ints], Ints, list[Any], int]:
    """The judgements that are not missing: points, both systems, cluster; the systems' names; how many are missing."""
    y = floats(points, "points")
    same_length(first=first, second=second, points=y)
    groups = np.arange(len(y))
    if clusters is not None:
        same_length(points=y, clusters=clusters)
        groups, _ = encode(clusters, "clusters")
    both, names = encode([*first, *second], "systems")
    a, b = both[: len(y)], both[len(y) :]
    for row in np.flatnonzero(a == b)[:1]:
        raise InputError(f"judgement {row + 1} compares {names[a[row]]} with itself; leave it out")
    known = ~np.isnan(y)
    wrong = y[known & ~np.isin(y, (0.0, 0.5, 1.0))]
    if len(wrong):
        raise InputError(f"points must be 1 (first better), 0.5 (tie) or 0 (second better); found {wrong[0]:g}")
    groups = np.unique(groups[known], return_inverse=True)[1]
    return y[known], (a[known], b[known]), groups, names, int((~known).sum())
