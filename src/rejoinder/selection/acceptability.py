"""How well a metric separates acceptable replies from others, and the probability from which it calls one acceptable.

Measured on DailyDialog++ (Sai et al. 2020): replies that people wrote to fit a context vs. replies that people wrote to
share its words but not fit. A logistic curve, fitted on the dev split, turns a metric's score and the number of content
words that the reply repeats from the context into a probability, since being about the same things is not the same as
fitting; it assumes as many fitting replies as others (Platt 1999). The threshold is chosen on the same split so that at
most ``MAX_MISSED`` of the fitting replies lie below it: an acceptable utterance among the false candidates spoils a
question, whereas losing a false one costs only a candidate. The error rates are those of the test split.
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
    """The error rates of a threshold on one split; intervals are clustered by question.

    ``auc`` is for positive vs. adversarial replies, ``missed`` the share of positive replies below the threshold,
    ``passed`` the share of the others that reach it, by grade.
    """

    questions: int
    n_missing: int
    auc: Interval
    missed: Interval
    passed: Mapping[str, Interval] = field(hash=False)


@dataclass(frozen=True)
class Acceptability:
    """A metric as a judge of what is acceptable: its curve, its threshold, and its error rates.

    ``slope`` is the weight of the score, ``repeating`` that of each content word repeated from the context.
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
        """Return how probable it is that a candidate is acceptable if half of all are, rounded as in the card."""
        logit = self.intercept + self.slope * score + self.repeating * repeated
        return round(1 / (1 + math.exp(-max(-500.0, min(500.0, logit)))), _DECIMALS)


def fit_acceptability(
    metric: str, signature: str, dev: GradedScores, test: GradedScores, missed: float = MAX_MISSED
) -> Acceptability:
    """Choose the curve and the threshold on one split, and measure them on the other."""
    if not 0 <= missed < 1:
        raise InputError(f"missed must be at least 0 and below 1, not {missed:g}")
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
    """Return the same rows with probabilities instead of scores."""
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
    """The weights of two inputs and the intercept of a logistic curve, by Newton's method with a small penalty."""
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
