"""What of test questions was seen in training: requests, and the texts of candidates in their roles.

Candidates of one example are references of another, so folds that share no example still share requests and reply
texts. A ranker can profit from it (it saw the reference as a good reply) and suffer (it saw a distractor as one). So
this is counted, and measures are broken down by it. Texts are compared by their words, case and signs aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rejoinder.selection.ranking.measures import best_of
from rejoinder.selection.ranking.result import request_of
from rejoinder.text.normalise import same_words
from rejoinder.types import Question


class Counts(NamedTuple):
    """How many of so many test questions share something with training."""

    questions: int
    examples: int  # the same id or the same request, situation and candidates
    requests: int
    reference: int  # the reference is a reference of training
    reference_offered: int  # the reference is a candidate of training, of whatever role
    distractor: int  # at least one distractor is a reference of training
    all_distractors: int
    distractor_offered: int


@dataclass(frozen=True)
class Sharing:
    """What training said: requests, references, all candidates, whole examples."""

    requests: frozenset[str]
    references: frozenset[str]
    offered: frozenset[str]
    examples: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, training: Iterable[Question]) -> Sharing:
        """What some questions say."""
        listed = list(training)
        return cls(
            frozenset(map(request_of, listed)),
            frozenset(text for question in listed for text in _texts(question)[0]),
            frozenset(same_words(candidate.text) for question in listed for candidate in question.candidates),
            frozenset(map(_example, listed)),
        )

    def kinds(self, question: Question) -> Iterable[str]:
        """The kind of a question: whether its reference, and how many of its distractors, are references of training.

        A question may be of two kinds, the second by its request.
        """
        references, distractors = _texts(question)
        seen = "reference seen" if set(references) & self.references else "reference new"
        n = sum(text in self.references for text in distractors)
        told = "no distractor seen" if not n else f"{n} of {len(distractors)} distractors seen"
        request = "request seen" if request_of(question) in self.requests else "request new"
        return (f"{seen}, {told}", request)

    def count(self, test: Sequence[Question]) -> Counts:
        """How much of a test split was seen."""
        texts = [_texts(question) for question in test]
        return Counts(
            len(test),
            sum(_example(question) in self.examples for question in test),
            sum(request_of(question) in self.requests for question in test),
            sum(bool(set(references) & self.references) for references, _ in texts),
            sum(bool(set(references) & self.offered) for references, _ in texts),
            sum(bool(set(others) & self.references) for _, others in texts),
            sum(bool(others) and set(others) <= self.references for _, others in texts),
            sum(bool(set(others) & self.offered) for _, others in texts),
        )


def total(counts: Sequence[Counts]) -> Counts:
    """The counts of several test splits together."""
    return Counts(*(sum(column) for column in zip(*counts, strict=True)))


def _texts(question: Question) -> tuple[list[str], list[str]]:
    """The texts of the references and of the others; where no source is told, the Best ones are the references."""
    sources = [candidate.source for candidate in question.candidates]
    if "reference" in sources:
        good = {place for place, source in enumerate(sources) if source == "reference"}
    elif any(candidate.grade is None for candidate in question.candidates):
        good = set()
    else:
        good = set(best_of(question))
    texts = [same_words(candidate.text) for candidate in question.candidates]
    return [t for n, t in enumerate(texts) if n in good], [t for n, t in enumerate(texts) if n not in good]


def _example(question: Question) -> tuple[str, ...]:
    candidates = sorted(same_words(candidate.text) for candidate in question.candidates)
    statements = sorted(same_words(statement.text) for statement in question.situation)
    return (request_of(question), *candidates, "", *statements)
