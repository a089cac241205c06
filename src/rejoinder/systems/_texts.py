"""What a system reads of a question: the turns of the context, and the distinct candidates in an order of their own.

A system sees each distinct text once, in an order that depends only on the texts. So the order in the file decides
nothing, and two equal candidates get the same score.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from rejoinder.types import Question, Turn

MOST_QUESTIONS = 256  # scored at once, to limit the memory


def spoken_question_turns(question: Question) -> tuple[Turn, ...]:
    """Return the turns of the context that are not blank, oldest first."""
    return tuple(turn for turn in question.context if turn.text.strip())


def distinct_texts(question: Question) -> list[str]:
    """Return the distinct candidates that are not blank, in the order of their digests."""
    texts = {candidate.text for candidate in question.candidates if candidate.text.strip()}
    return sorted(texts, key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest())


def place_scores(question: Question, scores: Mapping[str, float]) -> list[float]:
    """Return the scores in the order of a question's candidates; NaN for a text without a score."""
    return [scores.get(candidate.text, math.nan) for candidate in question.candidates]


def batch_questions(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    """Yield the questions in batches."""
    for start in range(0, len(questions), MOST_QUESTIONS):
        yield questions[start : start + MOST_QUESTIONS]


def score_texts(
    questions: Sequence[Question], score: Callable[[Sequence[tuple[Question, str]]], Sequence[float]]
) -> list[list[float]]:
    """Return the scores of all candidates by a function of (question, candidate text) pairs."""
    scores: list[list[float]] = []
    for chunk in batch_questions(questions):
        pairs = [(question, text) for question in chunk for text in distinct_texts(question)]
        values = iter(score(pairs) if pairs else ())
        scores += [
            place_scores(question, {text: next(values) for text in distinct_texts(question)}) for question in chunk
        ]
    return scores
