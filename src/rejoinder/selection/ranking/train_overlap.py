"""What part of test questions was seen in training: requests, and the texts of candidates by role.

Candidates of one example are references of another, so folds that share no example still share requests and reply
texts. This can help a ranker (it saw the reference as a good reply) or hurt it (it saw a distractor as one). So the
overlap is counted, and measures are broken down by it. Texts are compared by words, ignoring case and punctuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rejoinder.data.inputs import Input
from rejoinder.selection.ranking.measures import find_best_candidates
from rejoinder.selection.ranking.rank import read_gradable_questions
from rejoinder.selection.ranking.result import normalise_request
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Question


class OverlapCounts(NamedTuple):
    """How many test questions share something with training."""

    questions: int
    examples: int  # the same request, situation and candidates
    requests: int
    reference: int  # the reference is a reference in training
    reference_offered: int  # the reference is a candidate in training, in any role
    distractor: int  # at least one distractor is a reference in training
    all_distractors: int
    distractor_offered: int


@dataclass(frozen=True)
class TrainOverlap:
    """The texts seen in training: requests, references, all candidates, whole examples."""

    requests: frozenset[str]
    references: frozenset[str]
    offered: frozenset[str]
    examples: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, training: Iterable[Question]) -> TrainOverlap:
        """Collect the texts of training questions."""
        questions = list(training)
        return cls(
            frozenset(map(normalise_request, questions)),
            frozenset(text for question in questions for text in _split_texts(question)[0]),
            frozenset(normalise_text(candidate.text) for question in questions for candidate in question.candidates),
            frozenset(map(_example_key, questions)),
        )

    def kinds(self, question: Question) -> Iterable[str]:
        """Return the two kinds of a question: by its candidates, and by its request.

        The first says whether its reference, and how many of its distractors, are references in training.
        """
        references, distractors = _split_texts(question)
        reference = "reference seen" if set(references) & self.references else "reference new"
        n = sum(text in self.references for text in distractors)
        distractor = "no distractor seen" if not n else f"{n} of {len(distractors)} distractors seen"
        request = "request seen" if normalise_request(question) in self.requests else "request new"
        return (f"{reference}, {distractor}", request)

    def count(self, test: Sequence[Question]) -> OverlapCounts:
        """Count how much of a test split was seen in training."""
        texts = [_split_texts(question) for question in test]
        return OverlapCounts(
            len(test),
            sum(_example_key(question) in self.examples for question in test),
            sum(normalise_request(question) in self.requests for question in test),
            sum(bool(set(references) & self.references) for references, _ in texts),
            sum(bool(set(references) & self.offered) for references, _ in texts),
            sum(bool(set(others) & self.references) for _, others in texts),
            sum(bool(others) and set(others) <= self.references for _, others in texts),
            sum(bool(set(others) & self.offered) for _, others in texts),
        )


def sum_overlap_counts(counts: Sequence[OverlapCounts]) -> OverlapCounts:
    """The counts of several test splits together."""
    return OverlapCounts(*(sum(column) for column in zip(*counts, strict=True)))


def _split_texts(question: Question) -> tuple[list[str], list[str]]:
    """The texts of the references and of the others; without sources, the Best candidates are the references."""
    sources = [candidate.source for candidate in question.candidates]
    if "reference" in sources:
        good = {place for place, source in enumerate(sources) if source == "reference"}
    elif any(candidate.grade is None for candidate in question.candidates):
        good = set()
    else:
        good = set(find_best_candidates(question))
    texts = [normalise_text(candidate.text) for candidate in question.candidates]
    return [t for n, t in enumerate(texts) if n in good], [t for n, t in enumerate(texts) if n not in good]


def _example_key(question: Question) -> tuple[str, ...]:
    candidates = sorted(normalise_text(candidate.text) for candidate in question.candidates)
    statements = sorted(normalise_text(statement.text) for statement in question.situation)
    return (normalise_request(question), *candidates, "", *statements)


def read_train_overlap(train: str) -> TrainOverlap:
    """Return the texts seen in training, from the questions of a file or a published set."""
    data = Input(train)
    try:
        return TrainOverlap.of(read_gradable_questions(data))
    finally:
        data.close()
