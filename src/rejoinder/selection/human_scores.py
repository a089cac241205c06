"""People's scores of the candidates in pools, and how well people agree (Table 1 of Sato et al. 2020)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.errors import InputError, brief, nearest
from rejoinder.selection.acceptability_rules import APPROPRIATE, SCALE, HumanScores
from rejoinder.selection.sheet import read_scoring_sheet
from rejoinder.stats.agreement_interval import fleiss_interval
from rejoinder.stats.arrays import Floats
from rejoinder.stats.interval import Interval
from rejoinder.types import Candidate, Question, Rating, Record

ASPECT = "appropriate"  # the aspect that the form "candidates" asks for
RATINGS_KEY = "ratings"  # the key of a candidate's scores in its meta


@dataclass(frozen=True)
class HumanScoreAgreement:
    """How well people agree on candidates, in six classes (0 to 5) and in two (above 3 or not)."""

    candidates: int
    raters: tuple[int, int]  # the fewest and the most scores of a candidate
    six: Interval
    two: Interval


def collect_human_scores(records: Iterable[Record], pools: Sequence[Question], aspect: str = ASPECT) -> HumanScores:
    """Return the scores of each candidate from ratings, in the order of the raters' names.

    A rating names a candidate as the annotation page does, QUESTION/CANDIDATE; ratings of anything else and of other
    aspects are ignored.
    """
    candidates = {
        f"{pool.id}/{candidate.id}": (pool.id, str(candidate.id)) for pool in pools for candidate in pool.candidates
    }
    scores: dict[tuple[str, str], dict[str, int]] = {}
    aspects: set[str] = set()
    for record in records:
        if not isinstance(record, Rating) or record.response not in candidates:
            continue
        aspects.add(record.aspect)
        if record.aspect == aspect:
            scores.setdefault(candidates[record.response], {})[record.rater] = _check_score(record)
    if not scores:
        if aspects:
            raise InputError(f"there are no ratings of the aspect {aspect!r}; {nearest(aspect, aspects)}")
        raise InputError("none of the ratings is for a candidate of these pools; use the pools that people judged")
    return {key: tuple(by_rater[rater] for rater in sorted(by_rater)) for key, by_rater in scores.items()}


def _check_score(rating: Rating) -> int:
    if rating.value not in SCALE:
        raise InputError(
            f"the rating of {brief(rating.response)} by {brief(rating.rater)} is {rating.value:g}; "
            "scores must be whole numbers from 0 to 5"
        )
    return int(rating.value)


def attach_human_scores(pools: Sequence[Question], scores: HumanScores) -> list[Question]:
    """Return the pools with people's scores in their candidates' meta."""

    def attach(pool: Question, candidate: Candidate) -> Candidate:
        ratings = scores.get((pool.id, str(candidate.id)))
        if ratings is None:
            return candidate
        return dataclasses.replace(candidate, meta={**candidate.meta, RATINGS_KEY: list(ratings)})

    return [
        dataclasses.replace(pool, candidates=tuple(attach(pool, candidate) for candidate in pool.candidates))
        for pool in pools
    ]


def get_human_scores(candidate: Candidate) -> tuple[int, ...]:
    """Return the people's scores in a candidate's meta."""
    return tuple(candidate.meta.get(RATINGS_KEY, ()))


def measure_human_agreement(
    scores: Iterable[Sequence[int]], resamples: int = 1000, seed: int = 0
) -> HumanScoreAgreement | None:
    """Measure the agreement between people, from one row of scores per candidate; None if there are no scores."""
    rows = [row for row in scores if row]
    if not rows:
        return None
    matrix: Floats = np.full((len(rows), max(map(len, rows))), np.nan)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    classes: Floats = np.where(np.isnan(matrix), np.nan, matrix > APPROPRIATE)
    six, two = (fleiss_interval(one, n_resamples=resamples, seed=seed) for one in (matrix, classes))
    return HumanScoreAgreement(len(rows), (min(map(len, rows)), max(map(len, rows))), six, two)


def read_human_scores(path: str, pools: Sequence[Question]) -> HumanScores:
    """Read people's judgements of pools: from a sheet, ratings, or an annotation project."""
    if path.lower().endswith((".csv", ".tsv")):
        return read_scoring_sheet(path, pools)
    from rejoinder.annotation.analysis.judgements import read_judged_records

    return collect_human_scores(read_judged_records(path).records, pools)
