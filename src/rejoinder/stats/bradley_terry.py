"""A ranking of systems from pairwise judgements: Bradley and Terry (1952), with Davidson's (1970) model of ties.

Strengths add up to 0. A system with strength a wins 1 / (1 + exp(b - a)) of the judgements against one with strength b
that are not ties. By Davidson's model a tie has v times the geometric mean of the probabilities of the two wins: two
equal systems tie in v / (2 + v) of their judgements. Without ties v is 0, and the model is Bradley and Terry's. With
``ties="half"`` a tie is half a win for each instead, and there is no v. Intervals come from the robust (sandwich)
covariance with the factor G / (G - 1), over judgements or over clusters of them (raters, items), and Student's t with
G - 1 degrees of freedom.

Strengths exist unless some systems only won or only lost against all others; otherwise ``reason`` names them, and
``shrinkage`` (a penalty of shrinkage / 2 times the sum of squared strengths) makes the strengths finite. With
Davidson's ties, wins must also go in a circle that has more wins than ties. Systems that never met, even through
others, cannot be compared at all.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import (
    NAN,
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
from rejoinder.stats.davidson import REMEDY, StrengthFit, explain_no_strengths, fit_strengths, robust_errors
from rejoinder.stats.resampling import resample_counts

Ties: TypeAlias = Literal["half", "davidson"]
SHRINKAGE = 0.1  # where some strengths are infinite
_RESAMPLE_SHRINKAGE = 0.1
_SAME_STRENGTH = 1e-9


POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}  # the first system's points for each choice of a preference


class SystemStrength(NamedTuple):
    """One system's strength with its interval, its points and its judgements."""

    system: Any
    value: float
    low: float
    high: float
    points: float
    n: int


class TieParameter(NamedTuple):
    """Davidson's tie parameter with its interval: infinite where every judgement is a tie."""

    value: float
    low: float
    high: float

    @property
    def equal_share(self) -> float:
        """How often two systems of the same strength tie."""
        return 1 / (1 + 2 / self.value) if self.value else 0.0

    def sentence(self) -> str:
        """The parameter in one sentence."""
        if math.isnan(self.low):
            return f"Tie parameter {self.value:.3g} (Davidson 1970)."
        return (
            f"Tie parameter {self.value:.3g} [{self.low:.3g}, {self.high:.3g}] (Davidson 1970): two systems of the "
            f"same strength tie in {self.equal_share:.0%} of their pairs."
        )


class StrengthRanking(NamedTuple):
    """Systems from the strongest to the weakest (by share of points where there are no strengths)."""

    strengths: tuple[SystemStrength, ...]
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None
    ties: TieParameter | None = None  # None where a tie is half a win, and where there are no strengths


def rank_systems(
    first: Labels,
    second: Labels,
    points: Numbers,
    clusters: Labels | None = None,
    *,
    ties: Ties = "half",
    shrinkage: float = 0.0,
    level: float = 0.95,
) -> StrengthRanking:
    """Bradley-Terry strengths from the points (1, 0.5 or 0) that the first system got against the second."""
    y, (a, b), groups, names, n_missing = _drop_missing(first, second, points, clusters)
    check_probability(level, "level")
    if not shrinkage >= 0:
        raise InputError(f"shrinkage must be 0 or more, not {shrinkage}")
    size = len(names)
    wins, tied = _count_outcomes(y, a, b, np.zeros_like(a), size, 1, ties)[:, 0]
    n_clusters = len(np.unique(groups))
    strengths, errors, parameter = np.full(size, NAN), np.full(size, NAN), None
    reason = explain_no_strengths(wins, tied, names, shrinkage)
    if reason is None:
        fit = fit_strengths(wins, tied, shrinkage)
        strengths, errors = fit.strengths, robust_errors(fit, shrinkage, y, a, b, groups)
        parameter = _estimate_ties(fit, errors[size:], n_clusters, level) if ties == "davidson" else None
        reason = "no interval: fewer than 2 clusters" if n_clusters < 2 else None
    listed = _list_systems(names, wins + tied / 2, strengths, errors, n_clusters, level)
    return StrengthRanking(listed, len(y), n_missing, n_clusters, reason, parameter)


def rank_finite(
    first: Labels, second: Labels, points: Numbers, clusters: Labels | None = None, *, ties: Ties = "half"
) -> tuple[StrengthRanking, str | None]:
    """The ranking, its strengths shrunk by ``SHRINKAGE`` where some are infinite, and why they had to be."""
    ranking = rank_systems(first, second, points, clusters, ties=ties)
    reason, is_infinite, _ = (ranking.reason or "").partition(REMEDY)
    if not is_infinite:
        return ranking, None
    return rank_systems(first, second, points, clusters, ties=ties, shrinkage=SHRINKAGE), reason


def rank_strengths(
    first: Labels,
    second: Labels,
    points: Numbers,
    clusters: Labels | None = None,
    *,
    ties: Ties = "half",
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
    outcomes = _count_outcomes(y, a, b, groups, size, n_clusters, ties)
    wins, tied = outcomes.sum(axis=1)
    if n_clusters < 2 or explain_no_strengths(wins, tied, names, shrinkage):
        return {}
    counts = resample_counts(n_clusters, n_resamples, make_generator(seed)).astype(np.float64)
    ranks = np.full((n_resamples, size, 2), NAN)
    for i, (wins, tied) in enumerate(np.einsum("rg,kgab->rkab", counts, outcomes)):
        shrunk = shrinkage or (_RESAMPLE_SHRINKAGE if explain_no_strengths(wins, tied, names, 0.0) else 0.0)
        strengths = fit_strengths(wins, tied, shrunk).strengths
        drawn = (wins + wins.T + tied).sum(axis=1) > 0
        above = (strengths[None, :] > strengths[:, None] + _SAME_STRENGTH) & drawn[None, :]
        level_with = (np.abs(strengths[None, :] - strengths[:, None]) <= _SAME_STRENGTH) & drawn[None, :]
        best = 1.0 + above.sum(axis=1)
        ranks[i, drawn] = np.stack([best, best + level_with.sum(axis=1) - 1], axis=1)[drawn]
    tail = (1 - check_probability(level, "level")) / 2
    low = np.nanquantile(ranks[:, :, 0], tail, axis=0, method="inverted_cdf")
    high = np.nanquantile(ranks[:, :, 1], 1 - tail, axis=0, method="inverted_cdf")
    return {name: (int(low[s]), int(high[s])) for s, name in enumerate(names)}


def _count_outcomes(y: Floats, a: Ints, b: Ints, groups: Ints, size: int, n_groups: int, ties: Ties) -> Floats:
    """Wins and ties, per group one row per system against each system in a column; half a tie may be a win."""
    wins = y if ties == "half" else (y == 1).astype(np.float64)
    losses = 1 - y if ties == "half" else (y == 0).astype(np.float64)
    tied = np.zeros_like(y) if ties == "half" else (y == 0.5).astype(np.float64)
    forward, backward = (groups * size + a) * size + b, (groups * size + b) * size + a
    cells = n_groups * size**2
    counts = [
        sum_by_code(forward, one, cells) + sum_by_code(backward, other, cells)
        for one, other in ((wins, losses), (tied, tied))
    ]
    return np.stack(counts).reshape(2, n_groups, size, size)


def _estimate_ties(fit: StrengthFit, error: Floats, n_clusters: int, level: float) -> TieParameter:
    value = float(np.exp(fit.log_ties))
    if not len(error):
        return TieParameter(value, NAN, NAN)
    reach = _find_t(n_clusters, level) * float(error[0])
    return TieParameter(value, float(np.exp(fit.log_ties - reach)), float(np.exp(fit.log_ties + reach)))


def _find_t(n_clusters: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n_clusters - 1, (1 + level) / 2)) if n_clusters > 1 else NAN


def _list_systems(
    names: list[Any], won: Floats, strengths: Floats, errors: Floats, n_clusters: int, level: float
) -> tuple[SystemStrength, ...]:
    t = _find_t(n_clusters, level)
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
