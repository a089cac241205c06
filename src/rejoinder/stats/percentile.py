"""Intervals from the values that a statistic took on resamples.

percentile: the quantiles of the values. expanded: the percentile interval with its quantiles moved out so that for
means of few units it is as wide as Student's t interval (Hesterberg 2015). corrected: the same with the quantiles also
moved by the share of values below the estimate (Efron 1981), for statistics whose resamples are off centre: resampling
makes ties, and ties pull rank correlations towards 0.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, one_of, probability
from rejoinder.stats.interval import Interval

Kind: TypeAlias = Literal["percentile", "expanded", "corrected"]
_OFF_CENTRE = 0.025  # fewer resamples than this on one side of the estimate: they do not estimate it
_UNDEFINED = 0.1  # the share of resamples without a value above which there is no interval


def percentile_interval(
    value: float,
    samples: Floats,
    n: int,
    n_missing: int,
    n_units: int,
    level: float = 0.95,
    kind: Kind = "expanded",
) -> Interval:
    """The interval around an estimate from its values on resamples; NaN among them are resamples without one."""
    probability(level, "level")
    one_of(kind, Kind, "interval")
    nothing = Interval(value, NAN, NAN, n, n_missing, n_units)
    defined = samples[~np.isnan(samples)]
    lost = len(samples) - len(defined)
    if math.isnan(value):
        return nothing._replace(reason="the estimate is undefined")
    if n_units < 2:
        return nothing._replace(reason="fewer than 2 units to resample")
    reason = f"undefined in {lost} of {len(samples)} resamples" if lost else None
    if not len(defined) or lost > _UNDEFINED * len(samples):
        return nothing._replace(reason=reason or "no resamples")
    same = np.isclose(defined, value, rtol=1e-12, atol=1e-12)  # a perfect correlation may be 1 or all but 1
    below = float((~same & (defined < value)).sum() + same.sum() / 2) / len(defined)
    missed = nothing._replace(reason="the resamples miss the estimate; resample other units")
    if not _OFF_CENTRE <= below <= 1 - _OFF_CENTRE:
        return missed
    low, high = np.quantile(defined, _probabilities(below, n_units, level, kind))
    if not low - 1e-12 <= value <= high + 1e-12:
        return missed
    return nothing._replace(low=float(low), high=float(high), reason=reason)


def resampled_p(samples: Floats, n_units: int, kind: Kind = "expanded") -> float:
    """The two-sided p of an estimate above 0, from its values on resamples: twice the share of them that are not.

    Of the expanded kind, the share is widened as the interval is, so that p is below 1 - level where the interval of
    that level lies above 0. The estimate itself counts as a resample, so p is never 0.
    """
    from scipy.special import ndtri, stdtr

    one_of(kind, Kind, "interval")
    defined = samples[~np.isnan(samples)]
    if not len(defined) or n_units < 2:
        return NAN
    share = min(0.5, (1 + int((defined <= 0).sum())) / (1 + len(defined)))
    if kind == "expanded":
        return 2 * float(stdtr(n_units - 1, ndtri(share) * math.sqrt((n_units - 1) / n_units)))
    return 2 * share


def _probabilities(below: float, n_units: int, level: float, kind: Kind) -> tuple[float, float]:
    from scipy.special import ndtr, ndtri, stdtrit

    reach = float(-ndtri((1 - level) / 2))
    if kind != "percentile":
        reach = math.sqrt(n_units / (n_units - 1)) * float(stdtrit(n_units - 1, (1 + level) / 2))
    shift = 2 * float(ndtri(below)) if kind == "corrected" else 0.0
    return float(ndtr(shift - reach)), float(ndtr(shift + reach))
