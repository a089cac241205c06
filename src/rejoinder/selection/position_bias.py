"""Does a system select by place? Where its selections stand, and what happens when candidates are turned round.

A system must not look at where a candidate stands. Where candidates were shuffled, the right one stands anywhere
equally often, and so does what a system selects. A set whose right candidates are not spread like that was not
shuffled, and there selections by place say nothing; asking again with the candidates turned round always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import NAN, Floats

_SHUFFLED = 0.001  # right candidates that are less likely than this where order is chance: the set is not shuffled
_MIN_EXPECTED = 5.0  # expected selections a place, for the chi-squared distribution to hold


class PlaceShares(NamedTuple):
    """The share of selections at each place, what chance gives, and how likely such shares are by chance."""

    system: str
    shares: tuple[float, ...]
    expected: tuple[float, ...]
    p: float


def is_shuffled(selected: SelectionResult) -> bool:
    """Whether the right candidates stand where chance would put them."""
    return (
        not _chi_squared_p(*_count_places(selected, [tuple(sorted(places)) for places in selected.right])) < _SHUFFLED
    )


def places(selected: SelectionResult) -> list[PlaceShares]:
    """Where the selections of each system stand."""
    rows = []
    for system in selected.systems:
        counts, expected = _count_places(selected, selected.chosen[system])
        total = counts.sum()
        shares = tuple((counts / total).tolist()) if total else (NAN,) * len(counts)
        rows.append(
            PlaceShares(system, shares, tuple((expected / max(total, 1)).tolist()), _chi_squared_p(counts, expected))
        )
    return rows


def _count_places(selected: SelectionResult, selections: Sequence[tuple[int, ...]]) -> tuple[Floats, Floats]:
    """How often each place was taken, a question counting once; and how often chance would take it."""
    width = max(len(question.candidates) for question in selected.questions)
    counts, expected = np.zeros(width), np.zeros(width)
    for question, selection in zip(selected.questions, selections, strict=True):
        if selection:
            counts[list(selection)] += 1 / len(selection)
            expected[: len(question.candidates)] += 1 / len(question.candidates)
    return counts, expected


def _chi_squared_p(counts: Floats, expected: Floats) -> float:
    """Pearson's chi-squared test; NaN where there are too few selections."""
    from scipy.special import chdtrc

    if len(counts) < 2 or (expected < _MIN_EXPECTED).any():
        return NAN
    return float(chdtrc(len(counts) - 1, float(((counts - expected) ** 2 / expected).sum())))
