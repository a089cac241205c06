"""How well a metric tells acceptable replies from others, and from which probability on it calls one acceptable.

Measured on DailyDialog++ (Sai et al. 2020): replies that people wrote to fit a context against replies that people
wrote to share its words and not to fit. A logistic curve on its dev split makes a probability of a metric's score and
of how many content words of the context the reply repeats, since to be about the same things is not yet to fit; it
stands for as many fitting replies as others (Platt 1999). The threshold is chosen on the same split so that at most
``MISSED`` of the fitting replies lie below it: an acceptable utterance that stands as a false candidate spoils a
question, a false one that is lost costs nothing but a candidate. The error rates are those of the test split.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rejoinder.errors import InputError
from rejoinder.selection.grade_separation import ADVERSARIAL, POSITIVE, GradedScores, auc_interval
from rejoinder.stats.arrays import Bools, Floats
from rejoinder.stats.interval import Interval, share_interval

MAX_MISSED = 0.15
_DECIMALS = 4
_STEPS = 50


@dataclass(frozen=True)
class ErrorRates:
    """What a threshold does on one split: intervals are clustered by question.

    ``auc`` is of positive against adversarial replies, ``missed`` the share of positive ones below the threshold,
    ``passed`` by grade the share of the others that are not.
    """

    questions: int
    n_missing: int
    auc: Interval
    missed: Interval
    passed: Mapping[str, Interval] = field(hash=False)


@dataclass(frozen=True)
class Acceptability:
    """A metric as a judge of what is acceptable: its curve, its threshold, and how often it errs.

    ``slope`` is what the score counts, ``repeating`` what each content word counts that the context has already.
    """

    metric: str
    signature: str
    slope: float
    repeating: float
    intercept: float
    threshold: float  # a probability
    chosen: ErrorRates
    measured: ErrorRates

    def probability(self, score: float, repeated: int) -> float:
        """How probable it is that a candidate is acceptable, were one of two so; to as many decimals as are written."""
        logit = self.intercept + self.slope * score + self.repeating * repeated
        return round(1 / (1 + math.exp(-max(-500.0, min(500.0, logit)))), _DECIMALS)


def fit_acceptability(
    metric: str, signature: str, dev: GradedScores, test: GradedScores, missed: float = MAX_MISSED
) -> Acceptability:
    """Choose the curve and the threshold on the one split, and measure them on the other."""
    if not 0 <= missed < 1:
        raise InputError(f"the share of acceptable replies that may be missed must be from 0 to 1, not {missed:g}")
    both = dev.rows(POSITIVE, ADVERSARIAL)
    slope, repeating, intercept = _fit_logistic(dev.scores[both], dev.repeated[both], dev.rows(POSITIVE)[both])
    unknown = Interval(math.nan, math.nan, math.nan, 0, 0, 0)
    empty = ErrorRates(0, 0, unknown, unknown, {})
    judge = Acceptability(metric, signature, slope, repeating, intercept, 0.0, empty, empty)
    on_dev, on_test = (_score_by_probability(part, judge) for part in (dev, test))
    fitting = np.sort(on_dev.scores[on_dev.rows(POSITIVE)])
    threshold = float(fitting[int(missed * len(fitting))])
    return replace(
        judge,
        threshold=threshold,
        chosen=_measure_rates(on_dev, threshold),
        measured=_measure_rates(on_test, threshold),
    )


def _score_by_probability(graded: GradedScores, judge: Acceptability) -> GradedScores:
    """The same rows with probabilities for scores."""
    pairs = zip(graded.scores.tolist(), graded.repeated.tolist(), strict=True)
    return graded._replace(scores=np.array([judge.probability(score, int(repeats)) for score, repeats in pairs]))


def _measure_rates(graded: GradedScores, threshold: float) -> ErrorRates:
    names = np.array(graded.questions)

    def share(grade: str, below: bool) -> Interval:
        rows = graded.rows(grade)
        return share_interval(((graded.scores[rows] < threshold) == below).astype(np.float64), names[rows].tolist())

    others = sorted(set(graded.grades) - {POSITIVE})
    return ErrorRates(
        len(set(graded.questions)),
        graded.n_missing,
        auc_interval(graded, POSITIVE, ADVERSARIAL),
        share(POSITIVE, below=True),
        {grade: share(grade, below=False) for grade in others},
    )


def _fit_logistic(x: Floats, repeats: Floats, y: Bools) -> tuple[float, float, float]:
    """The weights of two inputs and the intercept of a logistic curve, by Newton's method, held back a little."""
    inputs = np.stack([x, repeats, np.ones_like(x)])
    weights = np.zeros(3)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(weights @ inputs, -500, 500)))
        curvature = (inputs * (p * (1 - p))) @ inputs.T + 1e-3 * np.eye(3)
        step = np.linalg.solve(curvature, inputs @ (y - p) - 1e-3 * weights)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-10:
            break
    slope, repeating, intercept = (round(float(weight), _DECIMALS) for weight in weights)
    return slope, repeating, intercept
