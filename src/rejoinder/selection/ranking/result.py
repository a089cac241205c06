"""What rankers said of the same questions, and the two measures of each question."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rejoinder.selection.answers import Line, chosen
from rejoinder.selection.ranking.measures import best_of, gains_of, has_scale, ndcg, precision_at_1
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.text.normalise import same_words
from rejoinder.types import Question

Used: TypeAlias = Sequence[Sequence[Sequence[int]]]  # questions, candidates, places of statements
PRECISION, NDCG = "Precision@1", "nDCG@3"
MEASURES = (PRECISION, NDCG)

NO_GRADE = "a candidate without a grade"
ONE = "one candidate only"
EQUAL = "one grade for all candidates"
NO_BAD = "no Bad candidate"


def why_not(question: Question, everything: bool = False) -> str | None:
    """Why a question is not evaluated; None where it is.

    ``everything`` keeps questions without a Bad candidate, which the paper leaves out of validation and test.
    """
    if any(candidate.grade is None for candidate in question.candidates):
        return NO_GRADE
    if len(question.candidates) < 2:
        return ONE
    gains = gains_of(question)
    if len(set(gains)) < 2:
        return EQUAL
    return NO_BAD if not everything and has_scale(question) and min(gains) > 0 else None


@dataclass(frozen=True)
class Ranked:
    """The scores of some rankers for the same questions, of whose situations they were shown ``given``.

    ``questions`` have their whole situations. ``folds`` says which fold each is of, where there are several; ``used``
    has the statements that a ranker read for each candidate, by their places among those it was shown.
    """

    questions: Sequence[Question]
    given: str
    scores: Mapping[str, Sequence[Line]]
    used: Mapping[str, Used] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    folds: Sequence[int] | None = None

    @property
    def rankers(self) -> list[str]:
        """The rankers, in the order in which they were asked."""
        return list(self.scores)

    def only(self, places: Sequence[int]) -> Ranked:
        """Some of the questions."""
        return Ranked(
            [self.questions[place] for place in places],
            self.given,
            {name: [lines[place] for place in places] for name, lines in self.scores.items()},
            {name: [of[place] for place in places] for name, of in self.used.items()},
            self.signatures,
            None if self.folds is None else [self.folds[place] for place in places],
        )

    def evaluated(self, everything: bool = False) -> Ranked:
        """The questions that tell rankers apart."""
        return self.only([n for n, question in enumerate(self.questions) if why_not(question, everything) is None])

    @functools.cached_property
    def values(self) -> dict[str, dict[str, Floats]]:
        """For each measure and ranker its value on each question, NaN where there is none."""
        best = [best_of(question) for question in self.questions]
        gains = [gains_of(question) for question in self.questions]
        found: dict[str, dict[str, Floats]] = {measure: {} for measure in MEASURES}
        for name, lines in self.scores.items():
            found[PRECISION][name] = np.array(
                [precision_at_1(b, line) for b, line in zip(best, lines, strict=True)], dtype=np.float64
            )
            found[NDCG][name] = np.array(
                [ndcg(g, line) for g, line in zip(gains, lines, strict=True)], dtype=np.float64
            )
        return found

    @functools.cached_property
    def clusters(self) -> Ints:
        """Which questions belong together: those with the same request."""
        seen: dict[str, int] = {}
        return np.array([seen.setdefault(request_of(q), len(seen)) for q in self.questions], dtype=np.int64)

    @property
    def fold_codes(self) -> Ints:
        """The fold of each question; 0 for all where there are none."""
        return np.zeros(len(self.questions), np.int64) if self.folds is None else np.array(self.folds, np.int64)

    def ties(self, ranker: str) -> int:
        """On how many questions several candidates share the highest score."""
        return sum(len(chosen(line)) > 1 for line in self.scores[ranker])


def request_of(question: Question) -> str:
    """What was said, by its words: case, spaces and the signs between them aside."""
    return same_words(" ".join(turn.text for turn in question.context))
