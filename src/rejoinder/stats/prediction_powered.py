"""Means from few ratings and many scores: prediction-powered inference.

A metric scores all N rows, people rate n of them. With weights w that add up to 1 over the rated rows, and the mean of
the scores f over all rows,

    estimate = sum of w_i (y_i - lambda (f_i - mean f)):

the mean of the ratings, corrected for the luck of the draw, as far as the scores show it. Lambda 0 is the mean of the
ratings alone, 1 is prediction-powered inference (PPI; Angelopoulos et al. 2023), and PPI++ (Angelopoulos et al. 2024)
takes the lambda with the least variance. Their estimate has the mean of f over the unrated rows instead of all rows,
which is the same with lambda (N - n) / N for lambda.

Scores need not be on the scale of the ratings: f is then a linear function of one or several scores (ridge regression),
fitted for each conversation without that conversation (cross-fitting, as in Zrnic and Candès 2024). So the residuals
are those of rows that were not fitted, and their variance contains the uncertainty of the fit.

The estimand is the mean over these rows (the sample has a finite-population correction, and what was drawn together is
one unit), or over the rows to come (conversations are then clusters). Strata are weighted by their rows, and rows that
were drawn with known probabilities by their inverse (Hájek 1971).

Ratings on a scale have the interval of ``bounded_mean``, of what was drawn together or of conversations; there is none
below 20 ratings or 10 such groups. Ratings without ends have Student's t, with Satterthwaite's degrees of freedom over
strata.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Ints,
    Labels,
    Numbers,
    as_finite,
    as_floats,
    check_probability,
    check_same_length,
    encode_labels,
    sum_by_code,
)
from rejoinder.stats.bounded_mean import bounded_mean_ends
from rejoinder.stats.interval import Interval

Population: TypeAlias = Literal["these", "future"]
# With fewer rated conversations beyond one per score, or fewer groups beyond five per score, the scores are not used:
# intervals of 10 dialogues that were drawn whole, or of 20 ratings and three scores, covered too little with them.
FEWEST, FEWEST_FITTED, EACH = 6, 10, 5
FEWEST_RATINGS, FEWEST_GROUPS = 20, 10  # with fewer, an interval on a scale covers too little or says too little
_TINY = 1e-9
_CERTAIN = 1e-6  # rows that are left out with a smaller probability count as drawn in any case


class PoweredMean(NamedTuple):
    """A mean by the ratings alone and by ratings and scores, and how many ratings alone would be as good."""

    alone: Interval
    both: Interval
    tuning: float  # lambda
    effective_n: float
    n_rows: int
    reason: str | None = None


class _Sample(NamedTuple):
    """The rated rows, and what is known of the rows that they were drawn from."""

    y: Floats
    x: Floats  # scores minus their mean over all rows of the stratum, in standard deviations
    strata: Ints
    units: Ints  # drawn together
    conversations: Ints
    weights: Floats  # they add up to 1
    inclusion: Floats  # probabilities
    all_x: Floats
    all_strata: Ints
    all_conversations: Ints
    rated: Ints  # the places of the rated rows among all


def powered_mean(
    ratings: Numbers,
    scores: Numbers,
    *,
    units: Labels | None = None,
    conversations: Labels | None = None,
    strata: Labels | None = None,
    probabilities: Numbers | None = None,
    tuning: float | None = None,
    calibrate: bool = True,
    population: Population = "these",
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
) -> PoweredMean:
    """The mean of the ratings of all rows, from those that are rated (NaN: not rated) and the scores of all.

    - ``scores``: one per row, or a matrix with one column per metric; a missing one counts as the column's mean.
    - ``units``: what was drawn together; by default each row by itself.
    - ``conversations``: rows that are alike; they are fitted together, and are clusters of a future population.
    - ``strata``: groups of rows whose sizes are known.
    - ``probabilities``: of the rated rows, with which each was drawn; by default equal in a stratum.
    - ``tuning``: lambda; by default the one with the least variance.
    - ``calibrate``: fit the scores to the ratings; without it, one score on the scale of the ratings is taken as it is.
    - ``population``: the mean over ``these`` rows, or over ``future`` rows like them.
    - ``scale``: the lowest and the highest possible rating, which bound what unseen rows can be; None: none.
    """
    sample = _take_sample(ratings, scores, units, conversations, strata, probabilities, calibrate)
    check_probability(level, "level")
    p = sample.x.shape[1]
    if not calibrate and p != 1:
        raise InputError(f"only one score can be taken as it is, not {p}; calibrate them")
    _check_scale(sample, scale)
    n, n_units = len(sample.y), len(np.unique(sample.units))
    missing = len(sample.all_strata) - n
    empty = Interval(NAN, NAN, NAN, n, missing, n_units)
    nothing = PoweredMean(empty, empty, NAN, NAN, n + missing)
    if not n:
        return nothing._replace(reason="no row is rated")
    alone = _Moments.of(sample, np.zeros(n), np.zeros(p), population)
    few = None if alone.is_complete else _find_too_few(n, alone.n_units, population, scale)
    if np.bincount(sample.strata)[np.unique(sample.strata)].min() < 2 or n_units < 2:
        reason = few or "fewer than 2 rated units in a stratum"
        value = empty._replace(value=alone.mean, reason=reason)
        return nothing._replace(alone=value, both=value, reason=reason)
    classical = _make_interval(alone, scale, level, empty._replace(reason=few))
    if unused := _find_unused(sample, alone.n_units, tuning is None or calibrate):
        reason = "; ".join(one for one in (classical.reason, unused) if one)
        return PoweredMean(classical, classical, 0.0, float(n), n + missing, reason)
    moved, slope, weight = _correct(sample, tuning, calibrate, population)
    both = _Moments.of(sample, moved, slope, population)
    ratio = alone.variance / both.variance if both.variance > 0 else (math.inf if alone.variance > 0 else 1.0)
    interval = _make_interval(both, scale, level, empty._replace(reason=few))
    return PoweredMean(classical, interval, weight, n * ratio, n + missing, classical.reason)


def _check_scale(sample: _Sample, scale: tuple[float, float] | None) -> None:
    if scale is None:
        return
    low, high = scale
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"a scale needs a low end below its high end, not {low:g} and {high:g}")
    outside = sample.y[(sample.y < low) | (sample.y > high)]
    if len(outside):
        raise InputError(f"the rating {outside[0]:g} lies outside the scale {low:g} to {high:g}; give the whole scale")


def _find_too_few(n: int, n_groups: int, population: Population, scale: tuple[float, float] | None) -> str | None:
    """Why there is no interval, and what it would take."""
    if scale is not None and n < FEWEST_RATINGS:
        return f"no interval, which takes {FEWEST_RATINGS} ratings (there are {n})"
    groups = "conversations" if population == "future" else "groups that were drawn together"
    if scale is not None and n_groups < FEWEST_GROUPS:
        return f"no interval, which takes ratings in {FEWEST_GROUPS} {groups} (there are {n_groups})"
    return f"no interval, which takes ratings in 2 {groups}" if n_groups < 2 else None


def _find_unused(sample: _Sample, n_groups: int, is_fitted: bool) -> str | None:
    """Why the scores are not used."""
    p, n_conversations = sample.x.shape[1], len(np.unique(sample.conversations))
    if is_fitted and n_conversations < FEWEST + p:
        return f"fewer than {FEWEST + p} rated conversations: the scores are not used"
    if is_fitted and n_groups < FEWEST_FITTED + EACH * p:
        return f"fewer than {FEWEST_FITTED + EACH * p} ratings that were drawn apart: the scores are not used"
    return None


def _take_sample(
    ratings: Numbers,
    scores: Numbers,
    units: Labels | None,
    conversations: Labels | None,
    strata: Labels | None,
    probabilities: Numbers | None,
    calibrate: bool,
) -> _Sample:
    y = as_finite(ratings, "ratings")
    array = np.asarray(scores)
    x = as_floats(array if array.ndim == 2 else array.reshape(-1, 1), "scores", ndim=2)
    check_same_length(ratings=y, scores=x)
    x = _fill_missing(x)
    every = np.arange(len(y))
    codes = [every if one is None else _encode(one, name, len(y)) for one, name in _named(units, conversations)]
    all_strata = np.zeros(len(y), np.int64) if strata is None else _encode(strata, "strata", len(y))
    sizes = np.bincount(all_strata, minlength=1).astype(np.float64)
    centre = np.stack([sum_by_code(all_strata, column, len(sizes)) for column in x.T], axis=1) / sizes[:, None]
    x = x - centre[all_strata]
    if calibrate and len(x):
        spread = x.std(axis=0)
        x = x / np.where(spread > 0, spread, 1.0)
    rated = np.flatnonzero(~np.isnan(y))
    own = all_strata[rated]
    counts = np.bincount(own, minlength=len(sizes))
    if len(rated) and (counts == 0).any():
        raise InputError(f"{int((counts == 0).sum())} of {len(sizes)} strata have no rating; use fewer strata")
    inclusion = counts[own] / sizes[own]
    if probabilities is not None:
        inclusion = _check_inclusion(probabilities, len(y))[rated]
    w = 1 / inclusion
    w = sizes[own] / len(y) * w / sum_by_code(own, w, len(sizes))[own] if len(rated) else w
    return _Sample(
        y[rated], x[rated], own, codes[0][rated], codes[1][rated], w, inclusion, x, all_strata, codes[1], rated
    )


def _named(units: Labels | None, conversations: Labels | None) -> list[tuple[Labels | None, str]]:
    return [(units, "units"), (conversations, "conversations")]


def _encode(labels: Labels, name: str, n: int) -> Ints:
    check_same_length(ratings=np.empty(n), **{name: labels})
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return encode_labels(labels, name)[0]


def _fill_missing(x: Floats) -> Floats:
    """Scores with the mean of the known ones where one is missing: valid, as no rating decides it."""
    known = np.isfinite(x)
    if known.all():
        return x
    means = np.where(known, x, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, x, means)


def _check_inclusion(probabilities: Numbers, n: int) -> Floats:
    inclusion = as_floats(probabilities, "probabilities")
    check_same_length(ratings=np.empty(n), probabilities=inclusion)
    known = inclusion[~np.isnan(inclusion)]
    if not ((known > 0) & (known <= 1)).all():
        raise InputError("probabilities must be above 0 and at most 1")
    return inclusion


class _Moments(NamedTuple):
    """The estimate, its variance, and the groups whose draw makes the variance."""

    mean: float
    variance: float
    freedom: float
    n_units: int
    values: Floats  # of each group: the estimate, plus what the group adds to it for its weight
    weights: Floats
    shapes: Floats
    noise: float  # the standard deviation that groups without a rating add

    @property
    def is_complete(self) -> bool:
        """Whether every row was drawn, so that nothing is left to estimate."""
        return bool(self.shapes.min() >= 1 / _CERTAIN)

    @classmethod
    def of(cls, sample: _Sample, moved: Floats, slope: Floats, population: Population) -> _Moments:
        """The moments of the ratings minus what the scores predict; ``slope`` predicts all rows."""
        d, strata = sample.y - moved, sample.strata
        n_strata = int(sample.all_strata.max()) + 1
        share = sum_by_code(strata, sample.weights, n_strata)
        means = d[0] + sum_by_code(strata, sample.weights * (d - d[0]), n_strata) / share  # exact where all are equal
        mean = float(means[0] + share @ (means - means[0]) / share.sum())
        groups = sample.units if population == "these" else sample.conversations
        n_groups = np.bincount(strata[np.unique(groups + int(groups.max() + 1) * strata, return_index=True)[1]])
        own = sample.weights * (d - means[strata])
        influence = own * np.sqrt(n_groups / np.maximum(n_groups - 1, 1))[strata]
        size = max(int(sample.all_conversations.max()), int(groups.max())) + 1
        weights = np.bincount(groups, weights=sample.weights, minlength=size).astype(np.float64)
        adds = np.bincount(groups, weights=own, minlength=size)
        rated, noise, shapes = weights > 0, 0.0, np.ones(size)
        if population == "these":
            influence = influence * np.sqrt(1 - sample.inclusion)
            variance = float((np.bincount(groups, weights=influence) ** 2).sum())
            drawn = np.bincount(groups, weights=sample.weights * sample.inclusion, minlength=size)
            shapes[rated] = 1 / np.maximum(1 - drawn[rated] / weights[rated], _CERTAIN)
        else:
            every = (means[sample.all_strata] - mean + sample.all_x @ slope) / len(sample.all_x)
            predicted = np.bincount(sample.all_conversations, weights=every, minlength=size)
            adds += predicted
            noise = float(np.linalg.norm(predicted[~rated]))
            every[sample.rated] += influence
            variance = float((np.bincount(sample.all_conversations, weights=every) ** 2).sum())
        parts = sum_by_code(strata, influence**2, n_strata)
        bottom = float((parts**2 / np.maximum(n_groups - 1, 1)).sum())
        freedom = float(parts.sum()) ** 2 / bottom if bottom > 0 else float(max((n_groups - 1).sum(), 1))
        n_units = int(rated.sum())  # those that lie in several strata count once
        values = mean + adds[rated] / weights[rated]
        freedom = min(freedom, n_units - 1.0)
        return cls(mean, variance, freedom, n_units, values, weights[rated], shapes[rated], noise)


def _correct(
    sample: _Sample, tuning: float | None, calibrate: bool, population: Population
) -> tuple[Floats, Floats, float]:
    """What the scores predict of each rated row beyond the mean, the slopes that predict all rows, and lambda."""
    if calibrate:
        slopes = _fit_without_own(sample)
    elif tuning is None:  # lambda itself is fitted
        slopes = np.clip(_fit_without_own(sample), 0.0, 1.0)
        tuning, fitted = 1.0, float(slopes.mean())
        moved = (sample.x * slopes).sum(axis=1)
        return moved, slopes.mean(axis=0), fitted
    else:
        slopes = np.ones((len(sample.y), 1))
    moved = (sample.x * slopes).sum(axis=1)
    weight = _tune(sample, moved, population) if tuning is None else tuning
    return weight * moved, weight * slopes.mean(axis=0), weight


def _fit_without_own(sample: _Sample) -> Floats:
    """For each rated row, the slopes of a regression on the rated rows of all other conversations.

    Strata have their own intercepts. With several scores there is a small ridge: one row's worth per score but one.
    """
    p, n_strata = sample.x.shape[1], int(sample.all_strata.max()) + 1
    groups = np.unique(sample.conversations, return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    columns = np.concatenate([np.eye(n_strata)[sample.strata], sample.x], axis=1)
    k, w = n_strata + p, sample.weights * len(sample.y)
    left, right = np.zeros((n_groups, k, k)), np.zeros((n_groups, k))
    for i in range(k):
        right[:, i] = np.bincount(groups, weights=w * columns[:, i] * sample.y, minlength=n_groups)
        for j in range(i, k):
            left[:, i, j] = left[:, j, i] = np.bincount(groups, weights=w * columns[:, i] * columns[:, j])
    left, right = left.sum(axis=0) - left, right.sum(axis=0) - right
    penalty = np.full(k, _TINY)
    penalty[n_strata:] = max(p - 1, _TINY * max(1.0, float(np.abs(left).max())))
    solved = np.linalg.solve(left + np.diag(penalty), right[..., None])[..., 0]
    return np.asarray(solved[:, n_strata:][groups])


def _tune(sample: _Sample, moved: Floats, population: Population) -> float:
    """The lambda from 0 to 1 that gives the least variance."""
    groups = sample.units if population == "these" else sample.conversations
    scale = np.sqrt(1 - sample.inclusion) if population == "these" else np.ones(len(moved))
    sums = []
    for values in (sample.y, moved):
        share = sum_by_code(sample.strata, sample.weights, int(sample.all_strata.max()) + 1)
        means = sum_by_code(sample.strata, sample.weights * values, len(share)) / share
        sums.append(np.bincount(groups, weights=sample.weights * scale * (values - means[sample.strata])))
    bottom = float(sums[1] @ sums[1])
    return min(1.0, max(0.0, float(sums[0] @ sums[1]) / bottom)) if bottom > 0 else 0.0


def _make_interval(moments: _Moments, scale: tuple[float, float] | None, level: float, empty: Interval) -> Interval:
    """The interval by the ends of the scale, or Student's; none where ``empty`` has a reason, or nothing is unknown."""
    mean = moments.mean if scale is None else min(scale[1], max(scale[0], moments.mean))
    empty = empty._replace(value=mean)
    if empty.reason is not None or moments.is_complete:
        return empty
    if scale is not None:
        ends = bounded_mean_ends(
            moments.values,
            scale,
            weights=moments.weights,
            shapes=moments.shapes,
            noise=moments.noise,
            level=level,
        )
        return empty._replace(low=min(mean, ends.low), high=max(mean, ends.high))
    if moments.variance == 0:
        return empty._replace(reason="no interval, as all ratings are equal and no scale says what others can be")
    from scipy.special import stdtrit

    reach = float(stdtrit(max(moments.freedom, 1.0), (1 + level) / 2)) * math.sqrt(moments.variance)
    return empty._replace(low=mean - reach, high=mean + reach)
