"""What systems selected: the questions, every score, and what is computed from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.types import Question

ScoreLine: TypeAlias = tuple[float, ...]


@dataclass(frozen=True)
class OrderCheck:
    """Some questions asked again with their candidates in reverse order: how often the selection changed."""

    asked: int
    changed: int


@dataclass(frozen=True)
class SelectionResult:
    """The scores of some systems for the same questions; ``order_checks`` holds the checks of order that were made."""

    questions: Sequence[Question]
    scores: Mapping[str, Sequence[ScoreLine]]
    signatures: Mapping[str, str] = field(default_factory=dict)
    order_checks: Mapping[str, OrderCheck] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order in which they were asked."""
        return list(self.scores)

    @functools.cached_property
    def right(self) -> list[frozenset[int]]:
        """The places of the right candidates of each question."""
        return [find_right_candidates(question) for question in self.questions]

    @functools.cached_property
    def chosen(self) -> dict[str, list[tuple[int, ...]]]:
        """The places that each system selected, per question."""
        return {system: [find_top_places(line) for line in lines] for system, lines in self.scores.items()}

    @functools.cached_property
    def points(self) -> dict[str, Floats]:
        """For each system, its points per question: 1, 0, a share if tied, or NaN if unanswered."""
        return {
            system: np.array([compute_points(r, c) for r, c in zip(self.right, places, strict=True)])
            for system, places in self.chosen.items()
        }

    @functools.cached_property
    def chance(self) -> float:
        """The accuracy of a random choice: the mean share of right candidates."""
        return float(np.mean([len(r) / len(q.candidates) for r, q in zip(self.right, self.questions, strict=True)]))

    @functools.cached_property
    def clusters(self) -> Ints:
        """The cluster of each question: questions of one dialogue belong together, else those with the same context."""
        numbers: dict[tuple[str, ...], int] = {}
        codes = []
        for question in self.questions:
            key = ("dialogue", question.dialogue) if question.dialogue is not None else _context_key(question)
            codes.append(numbers.setdefault(key, len(numbers)))
        return np.array(codes, dtype=np.int64)

    @property
    def n_clusters(self) -> int:
        """How many dialogues, or contexts, the questions come from."""
        return int(self.clusters.max(initial=-1)) + 1


def _context_key(question: Question) -> tuple[str, ...]:
    return ("context", *(turn.text for turn in question.context))


def check_questions(questions: Sequence[Question], name: str) -> None:
    """Raise an error unless every question can be answered rightly or wrongly."""
    if not questions:
        raise InputError(f"{name}: has no questions; make some with: rejoinder build")
    for question in questions:
        if len(question.candidates) < 2:
            raise InputError(
                f"{name}: question {question.id} has only one candidate, so there is nothing to select; remove it"
            )
        find_right_candidates(question)


def find_top_places(scores: ScoreLine) -> tuple[int, ...]:
    """The places of the candidates with the highest score; empty if a score is NaN."""
    if any(math.isnan(score) for score in scores):
        return ()
    best = max(scores)
    return tuple(place for place, score in enumerate(scores) if score == best)


def compute_points(right: frozenset[int], selected: tuple[int, ...]) -> float:
    """The share of the selected candidates that are right; NaN if none was selected."""
    return sum(place in right for place in selected) / len(selected) if selected else math.nan
