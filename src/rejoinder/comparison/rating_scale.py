"""The scale that people rated on: its two ends, as the user says them or as the ratings suggest.

The interval of an estimate needs the ends, because a reply that nobody rated may lie at either.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rejoinder.errors import InputError


class RatingScale(NamedTuple):
    """The lowest and the highest rating that a rater could give."""

    low: float
    high: float

    @property
    def name(self) -> str:
        """As a reader sees it: 1 to 5."""
        return f"{self.low:g} to {self.high:g}"


# A scale with more numbers than were used only makes an interval wider, so 1 to 3 is not among them.
_ENDS = ((0, 1), (-1, 1), (1, 5), (0, 4), (-2, 2), (0, 5), (1, 7), (-3, 3), (1, 10), (0, 10), (0, 100), (-100, 100))
_USUAL = [RatingScale(float(low), float(high)) for low, high in _ENDS]


def parse_scale(text: str) -> RatingScale:
    """The scale that ``LOW..HIGH`` stands for.

    >>> parse_scale("1..5")
    RatingScale(low=1.0, high=5.0)
    """
    low, dots, high = text.partition("..")
    try:
        if dots:
            return RatingScale(float(low), float(high))
    except ValueError:
        pass
    raise InputError(f"{text!r} is not a scale; write its lowest and highest rating, such as 1..5")


def choose_scale(scale: tuple[float, float] | None, ratings: tuple[float, float]) -> RatingScale:
    """The scale that the user says, or the first usual one that has the lowest and the highest of the ratings."""
    least, most = ratings
    if scale is None:
        for usual in _USUAL:
            if usual.low <= least and most <= usual.high:
                return usual
        raise InputError(
            f"the ratings go from {least:g} to {most:g}, which is not a usual scale; name its ends with --scale "
            "LOW..HIGH"
        )
    low, high = scale
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"a scale goes from a lower to a higher rating, not from {low:g} to {high:g}")
    if least < low or most > high:
        outside = least if least < low else most
        raise InputError(
            f"the rating {outside:g} lies outside the scale {low:g} to {high:g}; name the scale that people rated on, "
            "or correct the rating"
        )
    return RatingScale(float(low), float(high))
