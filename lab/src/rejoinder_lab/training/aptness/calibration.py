"""From raw scores to a probability: how the two networks are weighted, and how their sum is calibrated.

The weights are chosen on held-out places: the true reply against other replies of the same corpus and, with a tenth of
the weight, against replies that were corrupted by rule. Then the sum alone is fitted to what the probability means: the
true reply rather than another human reply from the same kind of conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.stats.calibration import calibration as reliability
from rejoinder_lab.training.aptness.evaluation import NEGATIVES, RawAptnessScores, summarise_held_out
from rejoinder_lab.training.sampling import CORRUPTIONS

_SPOILED_WEIGHT = 0.1  # of all kinds together; the other replies count 1
_RIDGE = 1e-4

Floats = NDArray[np.float64]


def calibrate_aptness(raw: RawAptnessScores) -> dict[str, dict[str, float]]:
    """Return the weights of the features for ``both``, ``bi`` and ``cross``."""
    weights = _fit_calibration(
        [raw.bi, raw.cross],
        np.r_[np.ones(NEGATIVES), np.full(len(CORRUPTIONS), _SPOILED_WEIGHT * NEGATIVES / len(CORRUPTIONS))],
    )
    equal_weights = np.ones(NEGATIVES)
    total = weights[0] * raw.bi + weights[1] * raw.cross
    scale, bias = _fit_calibration([total], equal_weights)
    fitted = {"both": {"bi": scale * weights[0], "cross": scale * weights[1], "bias": bias}}
    for name, scores in (("bi", raw.bi), ("cross", raw.cross)):
        scale, bias = _fit_calibration([scores], equal_weights)
        fitted[name] = {name: scale, "bias": bias}
    return {
        model: {key: round(float(value), 5) for key, value in by_feature.items()}
        for model, by_feature in fitted.items()
    }


def _fit_calibration(scores: list[Floats], weight_of_others: Floats) -> Floats:
    """Fit a logistic regression; true replies weigh as much as false ones, and all corpora the same."""
    from scipy.optimize import minimize

    columns = 1 + len(weight_of_others)
    inputs = np.stack([*(part[:, :columns].ravel() for part in scores), np.ones(scores[0][:, :columns].size)])
    label = np.tile(np.r_[1.0, -np.ones(columns - 1)], len(scores[0]))
    weight = np.tile(np.r_[weight_of_others.sum(), weight_of_others], len(scores[0]))
    weight = weight / weight.sum()
    spread = inputs.std(axis=1)
    spread[spread < 1e-9] = 1  # the bias, and a network whose scores are all the same
    inputs = inputs / spread[:, None]

    def loss(w: Floats) -> tuple[float, Floats]:
        margin = label * (w @ inputs)
        value = float((weight * np.logaddexp(0, -margin)).sum()) + _RIDGE * float(w @ w)
        slope = -label * weight / (1 + np.exp(np.clip(margin, -60, 60)))
        return value, inputs @ slope + 2 * _RIDGE * w

    fitted: Floats = minimize(loss, np.zeros(len(inputs)), jac=True, method="L-BFGS-B").x / spread
    return fitted


def measure_calibration(
    raw: RawAptnessScores, corpora: tuple[str, ...], calibration: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Return the figures for the card: pairs won, first among 20, by attack, and the calibration error by corpus."""
    figures: dict[str, Any] = {"places": len(raw.corpus), "pairs": {}, "first_of_20": {}, "attacks": {}, "ece": {}}
    for model, weights in calibration.items():
        odds = weights.get("bias", 0.0) + np.zeros_like(raw.bi)
        for name, scores in (("bi", raw.bi), ("cross", raw.cross)):
            if name in weights:
                odds = odds + weights[name] * scores
        summary = summarise_held_out(odds, raw.corpus, corpora)
        figures["pairs"][model] = round(summary.pairs, 4)
        figures["first_of_20"][model] = round(summary.top, 4)
        figures["attacks"][model] = summary.corrupted
        figures["ece"][model] = {
            name: round(_calibration_error(odds[raw.corpus == i]), 4)
            for i, name in enumerate(corpora)
            if (raw.corpus == i).any()
        }
    return figures


def _calibration_error(odds: NDArray[np.float64]) -> float:
    """Return the expected calibration error; the true replies weigh as much as the others together."""
    probability = 1 / (1 + np.exp(-np.clip(odds[:, : 1 + NEGATIVES], -60, 60)))
    true, others = np.repeat(probability[:, 0], NEGATIVES), probability[:, 1:].ravel()
    return reliability(np.r_[true, others], np.r_[np.ones(len(true)), np.zeros(len(others))]).error
