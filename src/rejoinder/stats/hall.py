"""Student's t of a mean, corrected for skewness by Hall's transformation (1992).

The t statistic of n skewed values is itself skewed: a sample that happens to hold few of the values in the tail has a
mean too far from it and looks more precise than it is. With the skewness g of the values and a = g / (3 sqrt n),

    h(t) = t + a t^2 + a^2 t^3 / 3 + g / (6 sqrt n)

removes the skewness of t to the order 1 / sqrt n. It rises everywhere and has an inverse in closed form, so a test and
an interval that use it agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rejoinder.stats.arrays import NAN, Floats
from rejoinder.stats.student import t_quantile


@dataclass(frozen=True)
class HallMean:
    """A mean, its standard error, and the number and skewness of the values that it is made of."""

    value: float
    error: float
    skewness: float
    n: int

    @classmethod
    def of(cls, value: float, error: float, deviations: Floats) -> HallMean | None:
        """The mean of values or of clusters, from their deviations; None with fewer than 3 or without variance."""
        n = len(deviations)
        if n < 3:
            return None
        scale = float(np.linalg.norm(deviations)) / math.sqrt(n - 1)
        if not (0 < scale < math.inf and 0 < error < math.inf):
            return None
        return cls(value, error, n / ((n - 1) * (n - 2)) * float(((deviations / scale) ** 3).sum()), n)

    @property
    def _slope(self) -> float:
        return self.skewness / (3 * math.sqrt(self.n))

    @property
    def _shift(self) -> float:
        return self.skewness / (6 * math.sqrt(self.n))

    def p(self) -> float:
        """The two-sided p-value of a true mean of 0."""
        from scipy.special import stdtr

        t, slope = self.value / self.error, self._slope
        transformed = t + slope * t * t + slope * slope * t**3 / 3 + self._shift
        return 2 * float(stdtr(self.n - 1, -abs(transformed))) if math.isfinite(transformed) else NAN

    def ends(self, level: float) -> tuple[float, float]:
        """The true means that ``p`` does not reject at 1 - level."""
        t = t_quantile(self.n - 1, (1 + level) / 2)
        return self.value - self.error * self._invert(t), self.value - self.error * self._invert(-t)

    def _invert(self, reach: float) -> float:
        """The t that is transformed into ``reach``."""
        shifted, slope = reach - self._shift, self._slope
        return shifted if abs(slope) < 1e-9 else (float(np.cbrt(1 + 3 * slope * shifted)) - 1) / slope
