"""Does a system select by place? Where its selections stand, and what happens when candidates are turned round.

A system must not look at where a candidate stands. Where candidates were shuffled, the right one stands anywhere
equally often, and so does what a system selects. A set whose right candidates are not spread like that was not
shuffled, and there selections by place say nothing; asking again with the candidates turned round always does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.selection.answers import find_top_places, score_questions
from rejoinder.selection.result import OrderCheck, SelectionResult
from rejoinder.stats.arrays import NAN, Floats
from rejoinder.systems import System
from rejoinder.types import Question

_SHUFFLED = 0.001  # right candidates that are less likely than this where order is chance: the set is not shuffled
_MIN_EXPECTED = 5.0  # expected selections a place, for the chi-squared distribution to hold


class PlaceShares(NamedTuple):
    """The share of selections at each place, what chance gives, and how likely such shares are by chance."""

    system: str
    shares: tuple[float, ...]
    expected: tuple[float, ...]
    p: float


def check_order(system: System, questions: Sequence[Question], most: int) -> OrderCheck:
    """Ask some questions, spread over the set, twice: as they stand and with their candidates turned round."""
    if most < 1 or not questions:
        return OrderCheck(0, 0)
    some = [questions[i] for i in np.unique(np.linspace(0, len(questions) - 1, most).round().astype(int)).tolist()]
    turned = [dataclasses.replace(question, candidates=question.candidates[::-1]) for question in some]
    changed = asked = 0
    for question, before, after in zip(
        some, score_questions(system, some), score_questions(system, turned), strict=True
    ):
        first, second = (_candidate_texts(question, find_top_places(line)) for line in (before, after[::-1]))
        asked += bool(first and second)
        changed += bool(first and second) and first != second
    return OrderCheck(asked, changed)


def _candidate_texts(question: Question, places: Sequence[int]) -> frozenset[str]:
    return frozenset(question.candidates[place].text for place in places)


def is_shuffled(selected: SelectionResult) -> bool:
    """Whether the right candidates stand where chance would put them."""
    return (
        not _chi_squared_p(*_count_places(selected, [tuple(sorted(places)) for places in selected.right])) < _SHUFFLED
    )


def places(selected: SelectionResult) -> list[PlaceShares]:
    """Where the selections of each system stand."""
    found = []
    for system in selected.systems:
        seen, expected = _count_places(selected, selected.chosen[system])
        total = seen.sum()
        shares = tuple((seen / total).tolist()) if total else (NAN,) * len(seen)
        found.append(
            PlaceShares(system, shares, tuple((expected / max(total, 1)).tolist()), _chi_squared_p(seen, expected))
        )
    return found


def _count_places(selected: SelectionResult, at: Sequence[tuple[int, ...]]) -> tuple[Floats, Floats]:
    """How often each place was taken, a question counting once; and how often chance would take it."""
    width = max(len(question.candidates) for question in selected.questions)
    seen, expected = np.zeros(width), np.zeros(width)
    for question, taken in zip(selected.questions, at, strict=True):
        if taken:
            seen[list(taken)] += 1 / len(taken)
            expected[: len(question.candidates)] += 1 / len(question.candidates)
    return seen, expected


def _chi_squared_p(seen: Floats, expected: Floats) -> float:
    """Pearson's chi-squared test; NaN where there are too few selections."""
    from scipy.special import chdtrc

    if len(seen) < 2 or (expected < _MIN_EXPECTED).any():
        return NAN
    return float(chdtrc(len(seen) - 1, float(((seen - expected) ** 2 / expected).sum())))
