"""Two sources of variation in a difference between two systems: the items, and the people who rate them.

The difference on one item varies from item to item by ``between``, and by the noise of its ratings, each of which
deviates from its reply's mean by ``within``. With r people rating each reply its variance is between^2 + sides *
within^2 / r: two sides where replies are rated, one where pairs are compared. More raters reduce the second part only,
more items both; so a pilot shows which of the two to add.

The noise is treated as independent from rating to rating. A rater who is strict with all replies cancels out of a
difference when the same people rate both sides; then the plan is on the safe side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Labels, Numbers, as_floats, check_same_length
from rejoinder.stats.power import PowerEstimate, detectable_difference, estimate_spread, power_at, rows_needed


class RatingNoise(NamedTuple):
    """The standard deviation of true differences between items, and of one rating around its reply's mean.

    ``difference`` is the pilot's own; ``raters`` the number of ratings per reply there (harmonic mean); ``icc`` and
    ``cluster_size`` are of the dialogues that items come from.
    """

    between: float
    within: float
    sides: int = 2
    icc: float = 0.0
    cluster_size: float = 1.0
    difference: float = NAN
    raters: float = NAN
    n: int = 0
    reason: str | None = None

    def sd(self, raters: float) -> float:
        """The standard deviation of a difference when each reply has this many raters."""
        return math.sqrt(self.between**2 + self.sides * self.within**2 / raters)

    def icc_at(self, raters: float) -> float:
        """The correlation within clusters with this many raters, whose noise clusters do not share."""
        if math.isnan(self.raters) or self.sd(raters) == 0:
            return self.icc
        return min(1.0, self.icc * (self.sd(self.raters) / self.sd(raters)) ** 2)


class RatingPlan(NamedTuple):
    """A number of raters per reply, with the power or what is needed for it."""

    raters: float
    power: PowerEstimate
    ratings: float  # in all


def estimate_noise(first: Numbers, second: Numbers | None = None, clusters: Labels | None = None) -> RatingNoise:
    """The noise in a pilot: matrices of both systems' ratings of the same items (rows), or one matrix of points."""
    x = as_floats(first, "first", ndim=2)
    sides = [x] if second is None else [x, as_floats(second, "second", ndim=2)]
    check_same_length(first=x, second=sides[-1])
    means, counts = zip(*(_rating_means(side) for side in sides), strict=True)
    rated = np.all([n > 0 for n in counts], axis=0)
    within = _spread_within([side[rated] for side in sides])
    zeros = np.zeros(len(x)) if second is None else means[1]
    spread = estimate_spread(np.where(rated, means[0], NAN), np.where(rated, zeros, NAN), clusters)
    empty = RatingNoise(NAN, within, len(sides), n=spread.n)
    if spread.n < 2:
        return empty._replace(reason="fewer than 2 items are rated on both sides")
    raters = float(len(sides) * rated.sum() / sum((1 / n[rated]).sum() for n in counts))
    difference = float((means[0] - zeros)[rated].mean())
    noise = empty._replace(difference=difference, raters=raters, icc=spread.icc, cluster_size=spread.cluster_size)
    if math.isnan(within):
        # All noise is attributed to the items: more raters will then seem useless, so the reason must say it.
        return noise._replace(
            between=spread.sd, within=0.0, reason="no reply has two ratings, so the noise of raters cannot be estimated"
        )
    return noise._replace(between=math.sqrt(max(0.0, spread.sd**2 - len(sides) * within**2 / raters)))


def _rating_means(matrix: Floats) -> tuple[Floats, Floats]:
    n = (~np.isnan(matrix)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.nansum(matrix, axis=1) / np.where(n > 0, n, NAN), n


def _spread_within(sides: list[Floats]) -> float:
    """The standard deviation of ratings around the mean of their reply, pooled; NaN without two ratings anywhere."""
    squares, freedom = 0.0, 0
    for matrix in sides:
        means, n = _rating_means(matrix)
        squares += float(np.nansum((matrix - means[:, None]) ** 2))
        freedom += int(np.maximum(n - 1, 0).sum())
    return math.sqrt(squares / freedom) if freedom else NAN


def plan_ratings(
    noise: RatingNoise,
    difference: float | None = None,
    *,
    items: float | None = None,
    raters: float = 1.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> RatingPlan:
    """Compute what is not given: the power from difference and items, else the items, else the difference."""
    if not raters >= 1:
        raise InputError(f"raters must be 1 or more, not {raters:g}")
    if difference is None and items is None:
        raise InputError("give the difference to detect, or the number of items, or both")
    sd = noise.sd(raters)
    clusters = {"cluster_size": noise.cluster_size, "icc": noise.icc_at(raters)}
    if items is None and difference is not None:
        estimate = rows_needed(difference, sd, power=power, alpha=alpha, **clusters)
    elif difference is None and items is not None:
        estimate = detectable_difference(items, sd, power=power, alpha=alpha, **clusters)
    else:
        estimate = power_at(items or 0, difference or 0.0, sd, alpha=alpha, **clusters)
    return RatingPlan(raters, estimate, noise.sides * raters * estimate.n)
