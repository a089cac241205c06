"""The interval of a mean of values on a scale with two ends, which holds for few and skewed values too.

Of ratings that are mostly 5 and rarely 1, a small sample may hold no 1 at all. Its own spread then says nothing about
them, and an interval made of that spread ends too early. What bounds the mean without any assumption about the shape
are the ends of the scale: one more value, not seen, may lie at either. Gaffke (2005) gives all n values and this one
the weights of a flat Dirichlet distribution, and the lower bound is the quantile of the mean under such weights. For
zeros and ones this is Clopper and Pearson's bound. That it holds for every shape is borne out by simulations and not
proved (Learned-Miller and Thomas 2019, Phan et al. 2021). Like theirs it covers more than its level, so it is taken in
its mid-P form: the unseen value lies at the lower end with probability 1/2 and at the upper end otherwise, and the
quantiles of that one distribution are both ends of the interval.

Dirichlet weights are gamma variables over their sum. So the mean is at most m with the probability that

    sum of w_i (x_i - m) G_i / k_i  +  w_0 (end - m) G_0  <=  0

where G_i is gamma with shape k_i and G_0 exponential. Here w_i are the weights of the values (of conversations: the sum
over their replies), w_0 is what one value weighs, and k_i is 1, or 1 / (1 - probability) for a value that was drawn
with this probability from a finite population, so that its variance has the finite-population correction.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import Floats, Numbers, as_floats, check_probability, check_same_length

_STEP = 0.2  # of the integral, whose tails a hyperbolic sine draws in; half the step moves no end by 1e-4 of the scale
_TINY = 1e-15
_EDGE = 1e-7  # of the scale: how exact an end is; at a value itself the probability may jump
_PLACES = np.arange(0.0, 6.0, _STEP)
_NODES, _SLOPES = np.sinh(_PLACES), np.cosh(_PLACES) * np.where(_PLACES > 0, _STEP, _STEP / 2)


class Ends(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def bounded_mean_ends(
    values: Numbers,
    scale: tuple[float, float],
    *,
    weights: Numbers | None = None,
    shapes: Numbers | None = None,
    noise: float = 0.0,
    level: float = 0.95,
) -> Ends:
    """The ends of the interval of a mean of values on a scale.

    - ``values``: ratings on the scale, or such ratings minus what scores predict, which may lie beyond its ends.
    - ``scale``: the ends of the scale.
    - ``weights``: of the values; by default equal.
    - ``shapes``: 1 / (1 - probability) for each value that was drawn with this probability; by default 1.
    - ``noise``: the standard deviation of what the mean has beyond the values, with a normal distribution.

    >>> low, high = bounded_mean_ends([5.0] * 20, (1.0, 5.0))
    >>> (round(low, 3), high)  # 5 - 4 (1 - .05 ** (1 / 20)): as 20 of 20 have the mid-P bound .861
    (4.444, 5.0)
    """
    x = as_floats(values, "values")
    w = np.ones(len(x)) if weights is None else as_floats(weights, "weights")
    k = np.ones(len(x)) if shapes is None else as_floats(shapes, "shapes")
    check_same_length(values=x, weights=w, shapes=k)
    check_probability(level, "level")
    least, most = scale
    if not least < most:
        raise InputError(f"a scale needs a low end below its high end, not {least:g} and {most:g}")
    if not len(x):
        raise InputError("a mean needs values")
    w = w / w.sum()
    rows, counts = np.unique(np.stack([x, w, k]), axis=1, return_counts=True)
    distribution = _Distribution(
        rows[0], rows[1], rows[2], counts.astype(np.float64), float(w @ w), (least, most), noise
    )
    mean, tail = min(most, max(least, float(w @ x))), (1 - level) / 2
    return Ends(distribution.quantile(tail, least, mean), distribution.quantile(1 - tail, mean, most))


class _Distribution(NamedTuple):
    """The distribution of the mean: different values with their weights, shapes and counts, and one value unseen."""

    values: Floats
    weights: Floats
    shapes: Floats
    counts: Floats
    unseen: float  # its weight
    ends: tuple[float, float]
    noise: float

    def quantile(self, probability: float, low: float, high: float) -> float:
        """The value between ``low`` and ``high`` that the mean does not exceed with this probability."""
        from scipy.optimize import brentq
        from scipy.special import ndtri

        @cache  # brentq asks for both ends again
        def excess(m: float) -> float:
            """How far the probability is beyond, in normal deviates, which are almost linear in m."""
            return float(ndtri(min(1 - _TINY, max(_TINY, self.probability(m)))) - ndtri(probability))

        edge = _EDGE * (self.ends[1] - self.ends[0])
        first, last = low + edge, high - edge
        if first >= last or excess(first) >= 0:
            return low
        return high if excess(last) <= 0 else float(brentq(excess, first, last, xtol=edge))

    def probability(self, m: float) -> float:
        """The probability that the mean is at most m.

        With the cumulant generating function K of the sum it is the integral of -exp(K(t)) / t over a vertical line
        left of 0, divided by 2 pi i. On a line near the saddle point the integrand does not oscillate (Daniels 1954),
        so few nodes are enough. The line is the same for both ends of the scale. Where the sum is below 0 on average,
        the saddle point lies right of 0, and the probability is 1 minus that of the sum with its sign turned.
        """
        steps = self.weights / self.shapes * (self.values - m)
        shapes = self.shapes * self.counts
        unseen = self.unseen * (np.array(self.ends) - m)
        is_above = float(shapes @ steps + unseen.mean()) < 0
        if is_above:
            steps, unseen = -steps, -unseen
        line, spread = _saddle_point(np.append(steps, unseen), np.append(shapes, (0.5, 0.5)), self.noise)
        t = line + 1j * spread * _NODES
        factors = 1 - np.multiply.outer(steps, t)
        logs = shapes @ np.log(np.abs(factors)) + 1j * (shapes @ np.angle(factors))
        with np.errstate(under="ignore"):
            curve = np.exp((self.noise * t) ** 2 / 2 - logs) * (0.5 / (1 - unseen[0] * t) + 0.5 / (1 - unseen[1] * t))
        tail = min(1.0, max(0.0, -float((curve / t).real @ _SLOPES) * spread / math.pi))
        return 1 - tail if is_above else tail


def _saddle_point(steps: Floats, shapes: Floats, noise: float) -> tuple[float, float]:
    """Where K(t) - log(-t) is least for t below 0, and the inverse root of its curvature there."""
    low, high = 1 / float(steps.min()), 0.0  # one step is below 0: that of an end
    point = max(-1 / math.sqrt(float(shapes @ steps**2) + noise**2), low / 2)
    curve = 1.0
    for _ in range(60):
        ratios = steps / (1 - point * steps)
        slope = float(shapes @ ratios) + noise**2 * point - 1 / point
        curve = float(shapes @ ratios**2) + noise**2 + 1 / point**2
        if slope * slope <= 1e-3 * curve:  # near enough: any line left of 0 gives the same integral
            break
        low, high = (low, point) if slope > 0 else (point, high)
        point -= slope / curve
        if not low < point < high:
            point = (low + high) / 2
    return point, 1 / math.sqrt(curve)
