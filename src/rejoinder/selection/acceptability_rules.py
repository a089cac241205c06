"""The rules of Sato et al. 2020, section 3.1: how people's scores decide on a candidate and on a true reply.

Scores go from 1 (cannot be a reply here at all) to 5 (clearly fits); 0 means ungrammatical. With five scores, a
candidate is dropped as acceptable if three or more are at least 3, and as ungrammatical if three or more are 0; a
question is dropped if three or more give its true reply at most 3. With another number of scores, "three or more"
becomes "more than half", which is the same for five. Fewer than ``least`` scores decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

CandidateVerdict: TypeAlias = Literal["false", "acceptable", "ungrammatical", "unjudged"]
HumanScores: TypeAlias = Mapping[tuple[str, str], tuple[int, ...]]  # by question and candidate
TruthVerdict: TypeAlias = Literal["true", "doubtful", "unjudged"]

SCALE = (0, 1, 2, 3, 4, 5)
UNGRAMMATICAL = 0
ACCEPTABLE = 3  # or higher, for a candidate
DOUBTFUL = 3  # or lower, for a true reply
APPROPRIATE = 3  # scores above it form one of the two classes of Table 1
MIN_RATERS = 3


def judge_candidate(scores: Sequence[int], least: int = MIN_RATERS) -> CandidateVerdict:
    """Return people's verdict on a candidate."""
    if len(scores) < max(least, 1):
        return "unjudged"
    if _is_majority(scores, lambda score: score >= ACCEPTABLE):
        return "acceptable"
    if _is_majority(scores, lambda score: score == UNGRAMMATICAL):
        return "ungrammatical"
    return "false"


def judge_truth(scores: Sequence[int], least: int = MIN_RATERS) -> TruthVerdict:
    """Return people's verdict on a true reply."""
    if len(scores) < max(least, 1):
        return "unjudged"
    return "doubtful" if _is_majority(scores, lambda score: score <= DOUBTFUL) else "true"


def _is_majority(scores: Sequence[int], condition: Callable[[int], bool]) -> bool:
    """Whether the condition holds for more than half of the scores."""
    return 2 * sum(map(condition, scores)) > len(scores)
