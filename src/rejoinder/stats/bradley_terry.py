"""A ranking of systems from pairwise judgements: Bradley and Terry (1952), a tie being half a win for each.

Strengths add up to 0, and a system with strength a is expected to get 1 / (1 + exp(b - a)) points of a judgement
against one with strength b. Intervals come from the robust (sandwich) covariance with the factor G / (G - 1), over
judgements or over clusters of them (raters, items), and Student's t with G - 1 degrees of freedom.

Strengths exist unless some systems only won or only lost against all others; otherwise ``reason`` names them, and
``shrinkage`` (a penalty of shrinkage / 2 times the sum of squared strengths) makes the strengths finite. Systems that
never met, even through others, cannot be compared at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import (
    NAN,
    Bools,
    Floats,
    Ints,
    Labels,
    Numbers,
    as_floats,
    check_probability,
    check_same_length,
    encode_labels,
    make_generator,
    sum_by_code,
)
from rejoinder.stats.resampling import resample_counts

_MAX_STEPS = 100
_RESAMPLE_SHRINKAGE = 0.1
_SAME_STRENGTH = 1e-9


def explain_no_strengths(won: Floats, names: list[Any], shrinkage: float) -> str | None:
    """Why these points (one row per system, against each system in a column) give no strengths; None if they do."""
    if len(names) < 2:
        return "fewer than 2 systems"
    compared = won + won.T > 0
    reachable = find_reachable(compared)[0]
    if not reachable.all():
        others = ", ".join(str(name) for name, is_reachable in zip(names, reachable, strict=True) if not is_reachable)
        return f"no judgement connects {names[0]} with {others}"
    if shrinkage > 0:
        return None
    beats = find_reachable(won > 0)
    for s, name in enumerate(names):
        if not beats[:, s].all():
            return f"nobody took a point from {name} or its equals, so its strength is infinite; set shrinkage"
    return None


def find_reachable(edges: Bools) -> Bools:
    """Which nodes each node reaches along edges, itself included."""
    reach: Bools = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle][:, None] & reach[middle][None, :]
    return reach


def fit_strengths(won: Floats, shrinkage: float) -> Floats:
    """The strengths that solve the score equations, by Newton's method with halved steps."""
    played = won + won.T
    strengths = np.zeros(len(won))

    def objective(theta: Floats) -> float:
        ahead = theta[:, None] - theta[None, :]
        return float((won * np.logaddexp(0, -ahead)).sum() + shrinkage / 2 * (theta**2).sum())

    for _ in range(_MAX_STEPS):
        expected = _expected_points(strengths[:, None] - strengths[None, :])
        gradient = (won - played * expected).sum(axis=1) - shrinkage * strengths
        step = np.linalg.solve(_information_matrix(strengths, played, shrinkage), gradient)
        before, scale = objective(strengths), 1.0
        while objective(strengths + scale * step) > before + 1e-12 and scale > 1e-10:
            scale /= 2
        strengths = strengths + scale * step
        strengths -= strengths.mean()
        if np.abs(step).max() < 1e-12:
            break
    return strengths


def _expected_points(ahead: Floats) -> Floats:
    from scipy.special import expit

    share: Floats = expit(ahead)
    return share


def _information_matrix(strengths: Floats, played: Floats, shrinkage: float) -> Floats:
    """The negative second derivative, made invertible along the one direction without meaning."""
    expected = _expected_points(strengths[:, None] - strengths[None, :])
    weights = played * expected * (1 - expected)
    return np.diag(weights.sum(axis=1) + shrinkage) - weights + 1 / len(strengths)


def robust_errors(strengths: Floats, shrinkage: float, y: Floats, a: Ints, b: Ints, groups: Ints) -> Floats:
    """Robust standard errors of the strengths around their mean."""
    size = len(strengths)
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return np.full(size, NAN)
    residuals = y - _expected_points(strengths[a] - strengths[b])
    scores = sum_by_code(groups * size + a, residuals, size * n_groups)
    scores -= sum_by_code(groups * size + b, residuals, size * n_groups)
    played = np.bincount(a * size + b, minlength=size**2).reshape(size, size).astype(np.float64)
    centre = np.eye(size) - 1 / size
    bread = centre @ np.linalg.inv(_information_matrix(strengths, played + played.T, shrinkage))
    spread = bread @ scores.reshape(n_groups, size).T
    errors: Floats = np.sqrt((spread**2).sum(axis=1) * n_groups / (n_groups - 1))
    return errors


POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}  # the first system's points for each choice of a preference


class SystemStrength(NamedTuple):
    """One system's strength with its interval, its points and its judgements."""

    system: Any
    value: float
    low: float
    high: float
    points: float
    n: int


class StrengthRanking(NamedTuple):
    """Systems from the strongest to the weakest (by share of points where there are no strengths)."""

    strengths: tuple[SystemStrength, ...]
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
) -> StrengthRanking:
    """Bradley-Terry strengths from the points (1, 0.5 or 0) that the first system got against the second."""
    y, (a, b), groups, names, n_missing = _drop_missing(first, second, points, clusters)
    check_probability(level, "level")
    if not shrinkage >= 0:
        raise InputError(f"shrinkage must be 0 or more, not {shrinkage}")
    size = len(names)
    won = sum_by_code(a * size + b, y, size**2).reshape(size, size)
    won += sum_by_code(b * size + a, 1 - y, size**2).reshape(size, size)
    n_clusters = len(np.unique(groups))
    strengths, errors = np.full(size, NAN), np.full(size, NAN)
    reason = explain_no_strengths(won, names, shrinkage)
    if reason is None:
        strengths = fit_strengths(won, shrinkage)
        errors = robust_errors(strengths, shrinkage, y, a, b, groups)
        reason = "no interval: fewer than 2 clusters" if n_clusters < 2 else None
    return StrengthRanking(
        _list_systems(names, won, strengths, errors, n_clusters, level), len(y), n_missing, n_clusters, reason
    )


def rank_strengths(
    first: Labels,
    second: Labels,
    points: Numbers,
    clusters: Labels | None = None,
    *,
    shrinkage: float = 0.0,
    n_resamples: int = 500,
    seed: int = 0,
    level: float = 0.95,
) -> dict[Any, tuple[int, int]]:
    """The best and the worst rank of each system (1 is the strongest) in most resamples of whole clusters.

    A resample in which some strengths are infinite is shrunk a little; one that leaves a system out says nothing of it.
    Empty where there are fewer than 2 clusters or no strengths.
    """
    y, (a, b), groups, names, _ = _drop_missing(first, second, points, clusters)
    size, n_clusters = len(names), len(np.unique(groups))
    cells = n_clusters * size**2
    won = sum_by_code((groups * size + a) * size + b, y, cells)
    won += sum_by_code((groups * size + b) * size + a, 1 - y, cells)
    won = won.reshape(n_clusters, size, size)
    if n_clusters < 2 or explain_no_strengths(won.sum(axis=0), names, shrinkage):
        return {}
    counts = resample_counts(n_clusters, n_resamples, make_generator(seed)).astype(np.float64)
    ranks = np.full((n_resamples, size, 2), NAN)
    for i, resample in enumerate(np.einsum("rg,gab->rab", counts, won)):
        shrunk = shrinkage or (_RESAMPLE_SHRINKAGE if explain_no_strengths(resample, names, 0.0) else 0.0)
        strengths = fit_strengths(resample, shrunk)
        drawn = (resample + resample.T).sum(axis=1) > 0
        above = (strengths[None, :] > strengths[:, None] + _SAME_STRENGTH) & drawn[None, :]
        level_with = (np.abs(strengths[None, :] - strengths[:, None]) <= _SAME_STRENGTH) & drawn[None, :]
        best = 1.0 + above.sum(axis=1)
        ranks[i, drawn] = np.stack([best, best + level_with.sum(axis=1) - 1], axis=1)[drawn]
    tail = (1 - check_probability(level, "level")) / 2
    low = np.nanquantile(ranks[:, :, 0], tail, axis=0, method="inverted_cdf")
    high = np.nanquantile(ranks[:, :, 1], 1 - tail, axis=0, method="inverted_cdf")
    return {name: (int(low[s]), int(high[s])) for s, name in enumerate(names)}


def _list_systems(
    names: list[Any], won: Floats, strengths: Floats, errors: Floats, n_clusters: int, level: float
) -> tuple[SystemStrength, ...]:
    from scipy.special import stdtrit

    t = float(stdtrit(n_clusters - 1, (1 + level) / 2)) if n_clusters > 1 else NAN
    points, played = won.sum(axis=1), (won + won.T).sum(axis=1)
    share = points / np.maximum(played, 1)
    order = np.lexsort((np.arange(len(names)), -share, -np.nan_to_num(strengths)))
    return tuple(
        SystemStrength(
            names[s],
            float(strengths[s]),
            float(strengths[s] - t * errors[s]),
            float(strengths[s] + t * errors[s]),
            float(points[s]),
            round(float(played[s])),
        )
        for s in order
    )


def _drop_missing(
    first: Labels, second: Labels, points: Numbers, clusters: Labels | None
) -> tuple[Floats, tuple[Ints, Ints], Ints, list[Any], int]:
    """The judgements that are not missing: points, both systems, cluster; the systems' names; how many are missing."""
    y = as_floats(points, "points")
    check_same_length(first=first, second=second, points=y)
    groups = np.arange(len(y))
    if clusters is not None:
        check_same_length(points=y, clusters=clusters)
        groups, _ = encode_labels(clusters, "clusters")
    both, names = encode_labels([*first, *second], "systems")
    a, b = both[: len(y)], both[len(y) :]
    for row in np.flatnonzero(a == b)[:1]:
        raise InputError(f"judgement {row + 1} compares {names[a[row]]} with itself; leave it out")
    known = ~np.isnan(y)
    wrong = y[known & ~np.isin(y, (0.0, 0.5, 1.0))]
    if len(wrong):
        raise InputError(f"points must be 1 (first better), 0.5 (tie) or 0 (second better); found {wrong[0]:g}")
    groups = np.unique(groups[known], return_inverse=True)[1]
    return y[known], (a[known], b[known]), groups, names, int((~known).sum())
