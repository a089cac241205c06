"""What a system reads of a question: what was said, and the different candidates in an order of their own.

A system sees each different text once, in an order that depends on the texts alone. So the order in the file can decide
nothing, and two candidates that say the same get the same score.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from rejoinder.types import Question, Turn

MOST_QUESTIONS = 256  # that are worked on at once: what bounds the memory


def said(question: Question) -> tuple[Turn, ...]:
    """The turns of the context that say something, the oldest first."""
    return tuple(turn for turn in question.context if turn.text.strip())


def replies(question: Question) -> list[str]:
    """The different candidates that say something, in the order of their digests."""
    texts = {candidate.text for candidate in question.candidates if candidate.text.strip()}
    return sorted(texts, key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest())


def placed(question: Question, scores: Mapping[str, float]) -> list[float]:
    """The scores of texts as a question's candidates have them; NaN for a text without one."""
    return [scores.get(candidate.text, math.nan) for candidate in question.candidates]


def chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    """The questions, some at a time."""
    for start in range(0, len(questions), MOST_QUESTIONS):
        yield questions[start : start + MOST_QUESTIONS]


def scored(
    questions: Sequence[Question], score: Callable[[Sequence[tuple[Question, str]]], Sequence[float]]
) -> list[list[float]]:
    """The scores of all candidates by a function that takes them one by one, each with its question."""
    found: list[list[float]] = []
    for chunk in chunks(questions):
        asked = [(question, text) for question in chunk for text in replies(question)]
        values = iter(score(asked) if asked else ())
        found += [placed(question, {text: next(values) for text in replies(question)}) for question in chunk]
    return found
