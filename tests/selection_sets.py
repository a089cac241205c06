"""Small test sets and systems for the tests of selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.selection.result import SelectionResult
from rejoinder.systems import System
from rejoinder.types import Candidate, Question, Turn


def question(
    name: str, grades: str = "tfff", dialogue: str | None = None, context: str | None = None, source: str | None = None
) -> Question:
    """A question whose candidates are right (t) or wrong (f)."""
    words = {"t": "true", "f": "false"}
    candidates = tuple(Candidate(f"{name} {n}", grade=words[g], source=source) for n, g in enumerate(grades))
    return Question(name, (Turn(context or f"context of {name}"),), candidates, dialogue=dialogue)


def selected_of(questions: Sequence[Question], **places: Sequence[int | Sequence[int] | None]) -> SelectionResult:
    """What systems selected, by the places of it; None is an unanswered question, several places are a tie."""

    def line(one: Question, place: int | Sequence[int] | None) -> tuple[float, ...]:
        at = () if place is None else (place,) if isinstance(place, int) else tuple(place)
        return tuple(math.nan if place is None else float(n in at) for n in range(len(one.candidates)))

    return SelectionResult(
        questions, {name: [line(q, p) for q, p in zip(questions, of, strict=True)] for name, of in places.items()}
    )


@dataclass(frozen=True)
class Longest(System):
    """Likes long candidates; counts how often it was asked."""

    factor: float = 1.0
    alone = True
    asked = []  # type: ignore[var-annotated]  # noqa: RUF012

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """The length of each candidate."""
        self.asked.append(len(questions))
        return [[self.factor * len(c.text) for c in q.candidates] for q in questions]


@dataclass(frozen=True)
class First(System):
    """Goes by place, which no system should."""

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """The first candidate wins."""
        return [[-float(n) for n in range(len(q.candidates))] for q in questions]
