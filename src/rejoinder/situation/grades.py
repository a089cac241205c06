"""Grades from people's ratings (SUGAR, step 8): Bad, Acceptable or Best for each candidate, by aggregating the ratings.

The paper aggregates by minimax conditional entropy (Zhou et al. 2014), which is the default here. A question with a
candidate without a grade, or with one grade for all, must be rated again: it is counted and listed, and left out by
default.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.comparison.aggregation import aggregate_ratings
from rejoinder.data.collection import read_files
from rejoinder.errors import InputError, brief
from rejoinder.selection.acceptability_rules import HumanScores
from rejoinder.selection.sheet import write_scoring_sheet
from rejoinder.stats.agreement import krippendorff_alpha
from rejoinder.types import Candidate, Question, Rating, Record, Turn

GRADES = ("Bad", "Acceptable", "Best")
ASPECT = "grade"  # the aspect that the form "grade" asks for
METHOD = "minimax_entropy_ordinal"


@dataclass(frozen=True)
class GradedQuestions:
    """Questions with grades, the card's entries about them, and the ids of those that must be rated again."""

    questions: tuple[Question, ...]
    facts: Mapping[str, Any] = field(hash=False)
    again: tuple[str, ...] = ()


def grade_questions(
    questions: Sequence[Question], records: Iterable[Record], method: str = METHOD, keep: bool = False
) -> GradedQuestions:
    """Return questions with grades aggregated from ratings; ``keep`` includes those that must be rated again.

    A rating names a candidate as the annotation page does, QUESTION/CANDIDATE; ratings of anything else and of other
    aspects are ignored.
    """
    if method == "mean":
        raise InputError(
            "a mean is not a grade; aggregate by majority, minimax_entropy_ordinal or another model of classes"
        )
    candidate_names = {_candidate_name(question, n) for question in questions for n in range(len(question.candidates))}
    ratings = [
        _check_grade(rating) for rating in records if isinstance(rating, Rating) and rating.response in candidate_names
    ]
    ratings = [rating for rating in ratings if rating.aspect == ASPECT]
    if not ratings:
        raise InputError(
            f"there are no ratings of the aspect {ASPECT!r} for candidates of this set; use the set that was rated"
        )
    aggregated = aggregate_ratings(ratings, method)[0]
    by_candidate = {rating.response: rating for rating in aggregated.records if isinstance(rating, Rating)}
    given_ratings: dict[str, list[int]] = {}
    for rating in sorted(ratings, key=lambda rating: rating.rater):
        given_ratings.setdefault(str(rating.response), []).append(int(rating.value))
    graded = [_grade_question(question, by_candidate, given_ratings) for question in questions]
    undecided = tuple(question.id for question in graded if not _is_decided(question))
    chosen = tuple(question for question in graded if keep or _is_decided(question))
    alpha = krippendorff_alpha(aggregated.judged.matrix.values, "ordinal").value
    facts = {
        "method": method,
        "ratings": len(ratings),
        "raters": len({rating.rater for rating in ratings}),
        "alpha": None if math.isnan(alpha) else round(alpha, 4),
        "counts": _count_grades(chosen, undecided),
        "again": list(undecided),
    }
    return GradedQuestions(chosen, facts, undecided)


def grading_sheet_to_ratings(scores: HumanScores) -> list[Rating]:
    """Return the scores of a sheet as ratings; each column is a rater, 0 is Bad, 1 Acceptable, 2 Best."""
    return [
        Rating(f"column {n}", ASPECT, float(score), f"{question}/{candidate}")
        for (question, candidate), row in scores.items()
        for n, score in enumerate(row, start=1)
    ]


def _check_grade(rating: Rating) -> Rating:
    if rating.aspect == ASPECT and rating.value not in range(len(GRADES)):
        raise InputError(
            f"the rating of {brief(rating.response)} by {brief(rating.rater)} is {rating.value:g}; grades must be 0 "
            "(Bad), 1 (Acceptable) or 2 (Best)"
        )
    return rating


def _candidate_name(question: Question, place: int) -> str:
    return f"{question.id}/{question.candidates[place].id or place}"


def _grade_question(
    question: Question, rated: Mapping[str | None, Rating], given_ratings: Mapping[str, list[int]]
) -> Question:
    def grade_candidate(place: int, candidate: Candidate) -> Candidate:
        name = _candidate_name(question, place)
        rating = rated.get(name)
        if rating is None:
            return dataclasses.replace(candidate, grade=None)
        confidence = {"confidence": rating.meta["confidence"]} if "confidence" in rating.meta else {}
        meta = {**candidate.meta, "ratings": given_ratings[name], **confidence}
        return dataclasses.replace(candidate, grade=GRADES[int(rating.value)], meta=meta)

    candidates = tuple(grade_candidate(place, candidate) for place, candidate in enumerate(question.candidates))
    grades = [candidate.grade for candidate in candidates]
    has_bad = None if None in grades else GRADES[0] in grades
    return dataclasses.replace(question, candidates=candidates, meta={**question.meta, "has_bad": has_bad})


def _is_decided(question: Question) -> bool:
    grades = {candidate.grade for candidate in question.candidates}
    return None not in grades and len(grades) > 1


def _count_grades(questions: Sequence[Question], again: Sequence[str]) -> dict[str, int]:
    grades = Counter(str(one.grade) for question in questions for one in question.candidates)
    reference = [one.grade for question in questions for one in question.candidates if one.source == "reference"]
    return {
        "questions": len(questions),
        "questions to be rated again": len(again),
        **{f"candidates graded {name}": grades[name] for name in GRADES},
        "references graded Bad, to be looked at": reference.count(GRADES[0]),
        "questions without a Best candidate": sum(
            all(one.grade != GRADES[2] for one in question.candidates) for question in questions
        ),
    }


RATERS = 3


def write_grading_sheet(questions: Sequence[Question], path: str | Path, raters: int = RATERS) -> int:
    """Write a sheet with one column per rater, and return its number of rows."""
    return write_scoring_sheet([_show_situation(question) for question in questions], path, raters)


def _show_situation(question: Question) -> Question:
    turns = [Turn(statement.text, "situation") for statement in question.situation]
    if isinstance(goal := question.meta.get("goal"), str):
        turns.insert(0, Turn(goal, "goal"))
    return dataclasses.replace(question, context=(*turns, *question.context))


def read_situated_questions(files: Sequence[str]) -> list[Question]:
    """Return the questions of files; raise an error if there are none."""
    questions = list(read_files(files).questions.values())
    if not questions:
        raise InputError(f"{', '.join(files)}: has no questions; build some with: rejoinder situate build")
    return questions
