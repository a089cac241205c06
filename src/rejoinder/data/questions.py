"""Which candidates of a question are right: those with its best grade.

A grade is a number (higher is better) or a word from one of the scales below. A question whose candidates all have the
same grade, or whose words come from two scales, has no right answer: that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rejoinder.errors import InputError, brief, nearest
from rejoinder.types import Question, Statement

TRUE, FALSE = "true", "false"
# From worst to best; words of one rank are equally good.
SCALES: tuple[tuple[frozenset[str], ...], ...] = (
    (frozenset({FALSE}), frozenset({TRUE})),
    (frozenset({"adversarial", "random"}), frozenset({"positive"})),
    (frozenset({"bad"}), frozenset({"acceptable"}), frozenset({"best"})),
)


def rank_grades(question: Question) -> list[float]:
    """Return the grade of each candidate as a number, in order; only the order of the numbers means something."""
    grades = [candidate.grade for candidate in question.candidates]
    if None in grades:
        raise InputError(
            f"question {question.id}: candidate {grades.index(None) + 1} has no grade, so the right answer is unknown; "
            "grade it, or build a test set with: rejoinder build"
        )
    if all(isinstance(grade, int | float) for grade in grades):
        return [float(grade) for grade in grades if grade is not None]
    words = [str(grade).casefold() for grade in grades]
    for scale in SCALES:
        if set(words) <= frozenset().union(*scale):
            return [float(next(n for n, rank in enumerate(scale) if word in rank)) for word in words]
    raise InputError(
        f"question {question.id}: its grades {brief(sorted(set(map(str, grades))))} belong to no known scale; "
        "use numbers, true and false, or Bad, Acceptable and Best"
    )


def find_right_candidates(question: Question) -> frozenset[int]:
    """Return the positions of the right candidates."""
    ranks = rank_grades(question)
    best = max(ranks)
    if min(ranks) == best and len(ranks) > 1:
        raise InputError(f"question {question.id}: all {len(ranks)} candidates have the same grade; one must be better")
    return frozenset(n for n, rank in enumerate(ranks) if rank == best)


CATEGORIES = ("location", "possession", "time", "date", "behavior", "environment")
REQUEST, RELEVANT, WHOLE = "u", "u+S1", "u+S"
DISTRACTORS = ("5", "10", "15")
INPUTS = (REQUEST, RELEVANT, WHOLE, *DISTRACTORS)


def limit_situation(questions: Sequence[Question], input_name: str) -> list[Question]:
    """Return the questions with only part of their situation, as ``input_name`` says (one of ``INPUTS``)."""
    if input_name not in INPUTS:
        raise InputError(f"no input is called {input_name!r}; {nearest(input_name, list(INPUTS))}")
    return [replace(question, situation=_select_statements(question, input_name)) for question in questions]


def _select_statements(question: Question, input_name: str) -> tuple[Statement, ...]:
    if input_name == REQUEST:
        return ()
    if input_name == WHOLE:
        return question.situation
    if input_name == RELEVANT:
        if question.situation and all(statement.relevant is None for statement in question.situation):
            raise InputError(
                f"question {question.id}: its statements are not marked as relevant or not, which {input_name} needs"
            )
        return tuple(statement for statement in question.situation if statement.relevant)
    return _expanded_statements(question, input_name)


def _expanded_statements(question: Question, count: str) -> tuple[Statement, ...]:
    statements, places = question.meta.get("expanded"), question.meta.get("distractors", {})
    if not statements or count not in places:
        raise InputError(
            f"question {question.id}: its meta has no expanded situation with {count} distractors; rank it with u+S"
        )
    wanted = set(places[count])
    return tuple(
        Statement(statement["text"], statement.get("category"), statement.get("relevant"))
        for place, statement in enumerate(statements)
        if place in wanted or statement.get("relevant")
    )
