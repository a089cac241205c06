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


def spoken_turns(question: Question) -> tuple[Turn, ...]:
    """The turns of the context that say something, the oldest first."""
    return tuple(turn for turn in question.context if turn.text.strip())


def distinct_texts(question: Question) -> list[str]:
    """The different candidates that say something, in the order of their digests."""
    texts = {candidate.text for candidate in question.candidates if candidate.text.strip()}
    return sorted(texts, key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest())


def place_scores(question: Question, scores: Mapping[str, float]) -> list[float]:
    """The scores of texts as a question's candidates have them; NaN for a text without one."""
    return [scores.get(candidate.text, math.nan) for candidate in question.candidates]


def split_questions(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    """The questions, some at a time."""
    for start in range(0, len(questions), MOST_QUESTIONS):
        yield questions[start : start + MOST_QUESTIONS]


def score_texts(
    questions: Sequence[Question], score: Callable[[Sequence[tuple[Question, str]]], Sequence[float]]
) -> list[list[float]]:
    """The scores of all candidates by a function that takes them one by one, each with its question."""
    scores: list[list[float]] = []
    for chunk in split_questions(questions):
        pairs = [(question, text) for question in chunk for text in distinct_texts(question)]
        values = iter(score(pairs) if pairs else ())
        scores += [
            place_scores(question, {text: next(values) for text in distinct_texts(question)}) for question in chunk
        ]
    return scores
