"""Does a system select by position? How its selections are spread over the places.

A candidate's place must not matter. If candidates were shuffled, the right one is at each place equally often, and so
are a system's selections. A set whose right candidates are spread unevenly was not shuffled, and then selections by
place say nothing; asking again with the candidates in reverse order (``answers.check_order``) always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import NAN, Floats

_SHUFFLED = 0.001  # p-value of the right candidates' places below which a set counts as not shuffled
_MIN_EXPECTED = 5.0  # expected selections per place that the chi-squared approximation needs


class PlaceShares(NamedTuple):
    """The share of selections at each place, the shares expected by chance, and the p-value of the difference."""

    system: str
    shares: tuple[float, ...]
    expected: tuple[float, ...]
    p: float


def are_places_shuffled(selected: SelectionResult) -> bool:
    """Whether the right candidates are spread over the places as if by chance."""
    return (
        not _chi_squared_p(*_count_places(selected, [tuple(sorted(places)) for places in selected.right])) < _SHUFFLED
    )


def measure_place_shares(selected: SelectionResult) -> list[PlaceShares]:
    """Return how the selections of each system are spread over the places."""
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
    """How often each place was selected, each question counting once, and how often it would be by chance."""
    width = max(len(question.candidates) for question in selected.questions)
    counts, expected = np.zeros(width), np.zeros(width)
    for question, selection in zip(selected.questions, selections, strict=True):
        if selection:
            counts[list(selection)] += 1 / len(selection)
            expected[: len(question.candidates)] += 1 / len(question.candidates)
    return counts, expected


def _chi_squared_p(counts: Floats, expected: Floats) -> float:
    """The p-value of Pearson's chi-squared test; NaN if there are too few selections."""
    from scipy.special import chdtrc

    if len(counts) < 2 or (expected < _MIN_EXPECTED).any():
        return NAN
    return float(chdtrc(len(counts) - 1, float(((counts - expected) ** 2 / expected).sum())))
