"""How much of a situation a ranker is shown (SUGAR, sections 4.2 and 4.4).

``u`` is the request alone, ``u+S1`` the request and the statements that are known to matter, ``u+S`` the whole
situation. ``5``, ``10`` and ``15`` are the statements that matter and that many that do not, as the question's meta has
them (``expanded`` and ``distractors``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rejoinder.errors import InputError, nearest
from rejoinder.types import Question, Statement

CATEGORIES = ("location", "possession", "time", "date", "behavior", "environment")
REQUEST, RELEVANT, WHOLE = "u", "u+S1", "u+S"
DISTRACTORS = ("5", "10", "15")
INPUTS = (REQUEST, RELEVANT, WHOLE, *DISTRACTORS)


def shown(questions: Sequence[Question], given: str) -> list[Question]:
    """The questions with only that much of their situation."""
    if given not in INPUTS:
        raise InputError(f"no input is called {given!r}; {nearest(given, list(INPUTS))}")
    return [replace(question, situation=_statements(question, given)) for question in questions]


def _statements(question: Question, given: str) -> tuple[Statement, ...]:
    if given == REQUEST:
        return ()
    if given == WHOLE:
        return question.situation
    if given == RELEVANT:
        if question.situation and all(statement.relevant is None for statement in question.situation):
            raise InputError(
                f"question {question.id}: nobody said which statements are relevant, so {given} is unknown"
            )
        return tuple(statement for statement in question.situation if statement.relevant)
    return _expanded(question, given)


def _expanded(question: Question, count: str) -> tuple[Statement, ...]:
    statements, places = question.meta.get("expanded"), question.meta.get("distractors", {})
    if not statements or count not in places:
        raise InputError(
            f"question {question.id}: its meta has no expanded situation with {count} distractors; rank it with u+S"
        )
    wanted = set(places[count])
    return tuple(
        Statement(found["text"], found.get("category"), found.get("relevant"))
        for place, found in enumerate(statements)
        if place in wanted or found.get("relevant")
    )
