"""Precision@1 and nDCG of one question (Otani et al. 2023, section 4.2; Järvelin and Kekäläinen 2002).

Precision@1 is 1 if the first candidate is Best. nDCG@k is the sum of the first k gains, each divided by log2 of its
rank plus one, relative to the best order; a gain is the grade itself (Bad 0, Acceptable 1, Best 2: linear gains).

Equal scores leave the order open. Then both measures are means over all possible orders (McSherry and Najork 2008): the
order in the file, where the reference may come first, decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.data.questions import rank_grades
from rejoinder.errors import InputError
from rejoinder.selection.result import find_top_places
from rejoinder.stats.arrays import NAN
from rejoinder.stats.ndcg import DEFAULT_K as DEFAULT_K
from rejoinder.stats.ndcg import ndcg as ndcg
from rejoinder.types import Question

BEST = 2.0  # on the scale Bad, Acceptable, Best
_GRADE_WORDS = frozenset({"bad", "acceptable", "best"})


def get_candidate_gains(question: Question) -> list[float]:
    """Return the gain of each candidate: its grade as a number."""
    gains = rank_grades(question)
    if min(gains) < 0:
        raise InputError(
            f"question {question.id}: has the grade {min(gains):g}; gains must not be negative, so add a constant to "
            "all grades"
        )
    return gains


def has_grade_scale(question: Question) -> bool:
    """Whether the grades are the words Bad, Acceptable and Best."""
    return all(str(candidate.grade).casefold() in _GRADE_WORDS for candidate in question.candidates)


def find_best_candidates(question: Question) -> frozenset[int]:
    """The places of the Best candidates; with grades on another scale, those with the question's highest grade.

    Empty if no candidate is Best.
    """
    gains = get_candidate_gains(question)
    wanted = BEST if has_grade_scale(question) else max(gains)
    return frozenset(place for place, gain in enumerate(gains) if gain == wanted)


def precision_at_1(best: frozenset[int], scores: Sequence[float]) -> float:
    """The share of Best candidates among those with the highest score.

    NaN if a candidate has no score, and if no candidate is Best or all are (a single candidate, for example): such
    questions cannot distinguish rankers.
    """
    top_places = find_top_places(tuple(scores))
    if not top_places or not 0 < len(best) < len(scores):
        return NAN
    return sum(place in best for place in top_places) / len(top_places)
