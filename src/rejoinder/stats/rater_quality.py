"""Raters whose answers should be checked before they are used: four simple signs, each with its threshold.

checks      fewer than 75% of at least 2 checks (questions with a known answer) were right
speed       the median time is below a third of the other raters' median (their medians' median), over 5 answers or more
alike       at least 90% of 10 or more answers are the same one, which the others gave to the same units at least 20
            points less often: where everybody answers the same, nobody is suspected
alone       kappa with the others is below .1 on 10 or more shared units, while the others reach an alpha of .2 or more
            without this rater: where nobody agrees with anybody, the problem is the task, not the rater

A sign is a reason to look, not a verdict: leaving raters out because of their answers changes the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Numbers, as_floats

Sign: TypeAlias = Literal["checks", "speed", "alike", "alone"]


@dataclass(frozen=True)
class SuspicionThresholds:
    """The limits beyond which a rater is suspected."""

    right: float = 0.75
    least_checks: int = 2
    share_of_median: float = 1 / 3
    least_times: int = 5
    same: float = 0.9
    more_than_others: float = 0.2
    least_answers: int = 10
    kappa: float = 0.1
    others: float = 0.2
    least_shared: int = 10


DEFAULT = SuspicionThresholds()


class Suspicion(NamedTuple):
    """One sign against one rater (by index): the value, and the threshold that it crossed."""

    rater: int
    sign: Sign
    value: float
    threshold: float
    n: int


def find_failed_checks(
    right: Sequence[int], answered: Sequence[int], thresholds: SuspicionThresholds = DEFAULT
) -> list[Suspicion]:
    """Raters who got too few checks right."""
    return [
        Suspicion(rater, "checks", good / n, thresholds.right, n)
        for rater, (good, n) in enumerate(zip(right, answered, strict=True))
        if n >= thresholds.least_checks and good / n < thresholds.right
    ]


def find_too_fast(seconds: Sequence[Sequence[float]], thresholds: SuspicionThresholds = DEFAULT) -> list[Suspicion]:
    """Raters whose median time is far below that of the others; one list of times per rater."""
    known = [[s for s in times if math.isfinite(s)] for times in seconds]
    medians = [float(np.median(t)) if len(t) >= thresholds.least_times else NAN for t in known]
    suspicions = []
    for rater, median in enumerate(medians):
        others = [m for other, m in enumerate(medians) if other != rater and not math.isnan(m)]
        if others and not math.isnan(median):
            limit = thresholds.share_of_median * float(np.median(others))
            if median < limit:
                suspicions.append(Suspicion(rater, "speed", median, limit, len(known[rater])))
    return suspicions


def find_straight_liners(ratings: Numbers, thresholds: SuspicionThresholds = DEFAULT) -> list[Suspicion]:
    """Raters who (nearly) always gave the same answer to units where others gave different ones."""
    matrix = as_floats(ratings, "ratings", ndim=2)
    suspicions = []
    for rater, column in enumerate(matrix.T):
        known = ~np.isnan(column)
        n = int(known.sum())
        if n < thresholds.least_answers:
            continue
        share, answer = most_frequent_answer(column)
        others = np.delete(matrix[known], rater, axis=1)
        other_answers = others[~np.isnan(others)]
        others_share = float((other_answers == answer).mean()) if len(other_answers) else NAN
        if share >= thresholds.same and not others_share > share - thresholds.more_than_others:
            suspicions.append(Suspicion(rater, "alike", share, thresholds.same, n))
    return suspicions


def find_disagreeing(
    kappas: Floats, shared: Sequence[int], alpha_without: Floats, thresholds: SuspicionThresholds = DEFAULT
) -> list[Suspicion]:
    """Raters whose kappa with the others is near zero, although the others agree with each other."""
    return [
        Suspicion(rater, "alone", float(kappa), thresholds.kappa, int(n))
        for rater, (kappa, n, rest) in enumerate(zip(kappas, shared, alpha_without, strict=True))
        if n >= thresholds.least_shared and kappa < thresholds.kappa and rest >= thresholds.others
    ]


def most_frequent_answer(column: Floats) -> tuple[float, float]:
    """The share of the most frequent answer, and that answer; NaN for a rater without answers."""
    answers = column[~np.isnan(column)]
    if not len(answers):
        return NAN, NAN
    values, counts = np.unique(answers, return_counts=True)
    return float(counts.max() / len(answers)), float(values[counts.argmax()])
