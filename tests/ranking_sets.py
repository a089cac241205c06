"""Small situated questions for the tests of ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.selection.ranking.result import RankingResult
from rejoinder.systems import System
from rejoinder.types import Candidate, Question, Statement, Turn

GRADES = {"b": "Bad", "a": "Acceptable", "B": "Best", "-": None}


def situated(
    name: str,
    grades: str = "Bbb",
    request: str = "Please open the window.",
    relevant: str = "10",
    polarity: str | None = None,
    category: str = "time",
) -> Question:
    """A question whose first candidate is the reference; ``relevant`` has 1 for a statement that matters."""
    candidates = tuple(
        Candidate(f"{name} reply {n}", grade=GRADES[grade], source="distractor" if n else "reference")
        for n, grade in enumerate(grades)
    )
    statements = tuple(Statement(f"{name} statement {n}", category, flag == "1") for n, flag in enumerate(relevant))
    meta = {} if polarity is None else {"polarity": polarity}
    return Question(name, (Turn(request, "user"),), candidates, statements, meta=meta)


def ranked_of(questions: Sequence[Question], given: str = "u+S", **scores: Sequence[Sequence[float]]) -> RankingResult:
    """What rankers said, by their names."""
    return RankingResult(questions, given, {name: [tuple(line) for line in lines] for name, lines in scores.items()})


@dataclass(frozen=True)
class Reader(System):
    """Likes the candidates that stand early in the alphabet, and reads the first statements."""

    read: int = 1
    alone = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """The letters, the earlier the better."""
        return [[-float(ord(c.text.split()[-1][0])) for c in question.candidates] for question in questions]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """The first statements for every candidate."""
        return [
            [tuple(range(min(self.read, len(question.situation))))] * len(question.candidates) for question in questions
        ]
