"""The scores of rankers for the same questions, and the two measures of each question."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson

from rejoinder.files import atomic_write
from rejoinder.selection.ranking.measures import (
    find_best_candidates,
    get_candidate_gains,
    has_grade_scale,
    ndcg,
    precision_at_1,
)
from rejoinder.selection.result import ScoreLine, find_top_places
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Question

UsedStatements: TypeAlias = Sequence[Sequence[Sequence[int]]]  # questions, candidates, places of statements
PRECISION, NDCG = "Precision@1", "nDCG@3"
MEASURES = (PRECISION, NDCG)

NO_GRADE = "a candidate without a grade"
ONE_CANDIDATE = "one candidate only"
EQUAL_GRADES = "one grade for all candidates"
NO_BAD = "no Bad candidate"


def explain_exclusion(question: Question, all_questions: bool = False) -> str | None:
    """Return why a question is not evaluated; None if it is.

    ``all_questions`` keeps questions without a Bad candidate, which the paper leaves out of validation and test.
    """
    if any(candidate.grade is None for candidate in question.candidates):
        return NO_GRADE
    if len(question.candidates) < 2:
        return ONE_CANDIDATE
    gains = get_candidate_gains(question)
    if len(set(gains)) < 2:
        return EQUAL_GRADES
    return NO_BAD if not all_questions and has_grade_scale(question) and min(gains) > 0 else None


@dataclass(frozen=True)
class RankingResult:
    """The scores of some rankers for the same questions; ``input`` is the part of the situation shown.

    ``questions`` have their whole situations. ``folds`` has the fold of each question, if there are several; ``used``
    has the statements that a ranker read for each candidate, by their places among those it was shown.
    """

    questions: Sequence[Question]
    input: str
    scores: Mapping[str, Sequence[ScoreLine]]
    used: Mapping[str, UsedStatements] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    folds: Sequence[int] | None = None

    @property
    def rankers(self) -> list[str]:
        """The rankers, in the order in which they were asked."""
        return list(self.scores)

    def only(self, places: Sequence[int]) -> RankingResult:
        """Return the result for the questions at some places."""
        return RankingResult(
            [self.questions[place] for place in places],
            self.input,
            {name: [lines[place] for place in places] for name, lines in self.scores.items()},
            {name: [statements[place] for place in places] for name, statements in self.used.items()},
            self.signatures,
            None if self.folds is None else [self.folds[place] for place in places],
        )

    def evaluated(self, all_questions: bool = False) -> RankingResult:
        """Return the result for the questions that can distinguish rankers."""
        return self.only(
            [n for n, question in enumerate(self.questions) if explain_exclusion(question, all_questions) is None]
        )

    @functools.cached_property
    def values(self) -> dict[str, dict[str, Floats]]:
        """For each measure and ranker, its value on each question, or NaN."""
        best = [find_best_candidates(question) for question in self.questions]
        gains = [get_candidate_gains(question) for question in self.questions]
        by_measure: dict[str, dict[str, Floats]] = {measure: {} for measure in MEASURES}
        for name, lines in self.scores.items():
            by_measure[PRECISION][name] = np.array(
                [precision_at_1(b, line) for b, line in zip(best, lines, strict=True)], dtype=np.float64
            )
            by_measure[NDCG][name] = np.array(
                [ndcg(g, line) for g, line in zip(gains, lines, strict=True)], dtype=np.float64
            )
        return by_measure

    @functools.cached_property
    def clusters(self) -> Ints:
        """The cluster of each question: questions with the same request belong together."""
        numbers: dict[str, int] = {}
        return np.array(
            [numbers.setdefault(normalise_request(q), len(numbers)) for q in self.questions], dtype=np.int64
        )

    @property
    def fold_codes(self) -> Ints:
        """The fold of each question; 0 for all if there are no folds."""
        return np.zeros(len(self.questions), np.int64) if self.folds is None else np.array(self.folds, np.int64)

    def ties(self, ranker: str) -> int:
        """On how many questions several candidates share the highest score."""
        return sum(len(find_top_places(line)) > 1 for line in self.scores[ranker])


def normalise_request(question: Question) -> str:
    """Return the words of the context, ignoring case, spaces and punctuation."""
    return normalise_text(" ".join(turn.text for turn in question.context))


def order_candidate_places(scores: ScoreLine) -> list[int]:
    """The places of the candidates, highest score first; equal ones as in the file, those without a score last."""
    return sorted(range(len(scores)), key=lambda place: (math.isnan(scores[place]), -scores[place], place))


def ranking_lines(ranked: RankingResult) -> Iterator[dict[str, Any]]:
    """Yield one line per question and ranker.

    ``order`` has the candidates' places in the file, counted from 0, best first; ``texts`` are in that order, while
    ``scores`` and ``used`` are in the file's.
    """
    for name in ranked.rankers:
        used = ranked.used.get(name)
        for number, question in enumerate(ranked.questions):
            scores = ranked.scores[name][number]
            order = order_candidate_places(scores)
            yield {
                "question": question.id,
                "ranker": name,
                "input": ranked.input,
                "order": order,
                "texts": [question.candidates[place].text for place in order],
                "scores": [None if math.isnan(score) else score for score in scores],
                "used": None if used is None else used[number],
            }


def write_rankings(results: Iterable[RankingResult], path: str | Path) -> int:
    """Write all lines of some results, and return their number."""
    count = 0
    with atomic_write(path) as file:
        for line in chain.from_iterable(map(ranking_lines, results)):
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count
