"""The result of a significance test."""

from __future__ import annotations

from typing import NamedTuple


class Significance(NamedTuple):
    """A test's statistic and its two-sided p-value; both NaN, with a reason, where there is nothing to test."""

    statistic: float
    p: float
    n: int
    n_missing: int
    reason: str | None = None
