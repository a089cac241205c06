"""What a judge's raw answers show about it: whether it gives the same score twice, and what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rejoinder.judges.endpoint import RawAnswer
from rejoinder.stats.agreement import krippendorff_alpha


class RepeatConsistency(NamedTuple):
    """How similar the repeats are, over the replies with at least two scores."""

    n: int
    same: float  # share of replies whose scores are all equal
    mean_difference: float  # between two repeats, in points of the scale
    alpha: float  # Krippendorff's, with repeats as raters, on an interval scale


class AnswerCounts(NamedTuple):
    """Counts of answers; tokens are sums over the answers that report them."""

    answers: int
    readable: int
    unreadable: int
    refused: int
    input_tokens: int
    output_tokens: int
    uncounted: int  # answers without a valid token count


def measure_consistency(answers_by_reply: Sequence[Sequence[RawAnswer]]) -> RepeatConsistency:
    """How consistent a judge is, from the raw answers about each reply."""
    scores = [
        {by_repeat.repeat: by_repeat.score for by_repeat in answers if by_repeat.score is not None}
        for answers in answers_by_reply
    ]
    several = [list(by_repeat.values()) for by_repeat in scores if len(by_repeat) > 1]
    if not several:
        return RepeatConsistency(0, math.nan, math.nan, math.nan)
    differences = [fmean(abs(a - b) for a, b in combinations(values, 2)) for values in several]
    width = 1 + max(max(by_repeat) for by_repeat in scores if by_repeat)
    matrix = np.array([[by_repeat.get(repeat, math.nan) for repeat in range(width)] for by_repeat in scores], float)
    alpha = krippendorff_alpha(matrix, "interval").value
    return RepeatConsistency(
        len(several), fmean(len(set(values)) == 1 for values in several), fmean(differences), alpha
    )


def count_answers(answers_by_reply: Sequence[Sequence[RawAnswer]]) -> AnswerCounts:
    """Count all raw answers; an answer counts once, even if several replies share it."""
    answers = list(
        {(one.answer.key, i): one for reply_answers in answers_by_reply for i, one in enumerate(reply_answers)}.values()
    )
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


def count_problems(answers_by_reply: Sequence[Sequence[RawAnswer]]) -> Counter[str]:
    """Why answers could not be read, each answer counted once."""
    answers = {(one.answer.key, i): one for of_reply in answers_by_reply for i, one in enumerate(of_reply)}
    return Counter(one.problem for one in answers.values() if one.problem)


def count_repeated(answers_by_reply: Sequence[Sequence[RawAnswer]]) -> tuple[int, int]:
    """How many answers state a verdict that the reply contains, and how many are about such replies; each once."""
    answers = {(one.answer.key, i): one for of_reply in answers_by_reply for i, one in enumerate(of_reply)}
    known = [one.repeats for one in answers.values() if one.repeats is not None]
    return sum(known), len(known)


def compute_price(counts: AnswerCounts, prices: tuple[float, float]) -> float:
    """The cost of the counted tokens, at a price per million input and output tokens."""
    return (counts.input_tokens * prices[0] + counts.output_tokens * prices[1]) / 1e6
