"""The rules of Sato et al. 2020, section 3.1: what people's scores make of a candidate and of a true reply.

Scores go from 1 (cannot be a reply here at all) to 5 (clearly fits), 0 is ungrammatical. Of five scores: a candidate is
out as acceptable where three or more are 3 or higher, and out as ungrammatical where three or more are 0; a question is
out where three or more give its true reply 3 or lower. Of another number of scores "three or more" is "more than half",
which is the same for five. Fewer than ``least`` scores decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

CandidateVerdict: TypeAlias = Literal["false", "acceptable", "ungrammatical", "unjudged"]
TruthVerdict: TypeAlias = Literal["true", "doubtful", "unjudged"]

SCALE = (0, 1, 2, 3, 4, 5)
UNGRAMMATICAL = 0
ACCEPTABLE = 3  # or higher, of a candidate
DOUBTFUL = 3  # or lower, of a true reply
APPROPRIATE = 3  # scores above it are one of the two classes of Table 1
MIN_RATERS = 3


def judge_candidate(scores: Sequence[int], least: int = MIN_RATERS) -> CandidateVerdict:
    """What people make of a candidate."""
    if len(scores) < max(least, 1):
        return "unjudged"
    if _is_majority(scores, lambda score: score >= ACCEPTABLE):
        return "acceptable"
    if _is_majority(scores, lambda score: score == UNGRAMMATICAL):
        return "ungrammatical"
    return "false"


def judge_truth(scores: Sequence[int], least: int = MIN_RATERS) -> TruthVerdict:
    """What people make of a true reply."""
    if len(scores) < max(least, 1):
        return "unjudged"
    return "doubtful" if _is_majority(scores, lambda score: score <= DOUBTFUL) else "true"


def _is_majority(scores: Sequence[int], is_such: Callable[[int], bool]) -> bool:
    """Whether more than half of the scores are such."""
    return 2 * sum(map(is_such, scores)) > len(scores)
