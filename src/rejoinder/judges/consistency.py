"""What a judge's raw answers tell of the judge: whether it says the same twice, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rejoinder.judges.endpoint import RawAnswer
from rejoinder.stats.agreement import krippendorff_alpha


class Consistency(NamedTuple):
    """How alike the repeats are, over the replies that have at least two scores."""

    n: int
    same: float  # share of replies whose scores are all equal
    mean_difference: float  # between two repeats, in points of the scale
    alpha: float  # Krippendorff's, the repeats taken as raters, on an interval scale


class AnswerCounts(NamedTuple):
    """What was answered and counted; tokens are sums over the answers that told them."""

    answers: int
    readable: int
    unreadable: int
    refused: int
    input_tokens: int
    output_tokens: int
    uncounted: int  # answers that did not tell their tokens, or told nonsense


def measure_consistency(said: Sequence[Sequence[RawAnswer]]) -> Consistency:
    """How steady a judge is, from the raw answers about each reply."""
    scores = [{one.repeat: one.score for one in answers if one.score is not None} for answers in said]
    several = [list(one.values()) for one in scores if len(one) > 1]
    if not several:
        return Consistency(0, math.nan, math.nan, math.nan)
    apart = [fmean(abs(a - b) for a, b in combinations(values, 2)) for values in several]
    width = 1 + max(max(one) for one in scores if one)
    matrix = np.array([[one.get(repeat, math.nan) for repeat in range(width)] for one in scores], float)
    alpha = krippendorff_alpha(matrix, "interval").value
    return Consistency(len(several), fmean(len(set(values)) == 1 for values in several), fmean(apart), alpha)


def count_answers(said: Sequence[Sequence[RawAnswer]]) -> AnswerCounts:
    """Counts over all raw answers; an answer counts once, however many replies it is about."""
    answers = list({(one.answer.key, i): one for of in said for i, one in enumerate(of)}.values())
    paid = [one for one in answers if one.answer.outcome != "refused"]
    readable = sum(one.score is not None for one in paid)
    known = [one.usage for one in paid if one.usage.input is not None and one.usage.output is not None]
    return AnswerCounts(
        len(answers),
        readable,
        len(paid) - readable,
        len(answers) - len(paid),
        sum(usage.input or 0 for usage in known),
        sum(usage.output or 0 for usage in known),
        len(paid) - len(known),
    )


def compute_price(counted: AnswerCounts, prices: tuple[float, float]) -> float:
    """What the counted tokens cost at a price per million, read and written."""
    return (counted.input_tokens * prices[0] + counted.output_tokens * prices[1]) / 1e6
