"""What a calibrated pair of networks reaches on held-out dialogues: true replies that win, and calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.stats.calibration import calibration as reliability
from rejoinder.training.selection import OTHERS, Raw, summary


def measured_on(raw: Raw, corpora: tuple[str, ...], calibration: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Figures for the card: of pairs won, of first places among 20, by attack, and the calibration error by corpus."""
    found: dict[str, Any] = {"places": len(raw.corpus), "pairs": {}, "first_of_20": {}, "attacks": {}, "ece": {}}
    for model, weights in calibration.items():
        odds = weights.get("bias", 0.0) + np.zeros_like(raw.bi)
        for name, scores in (("bi", raw.bi), ("cross", raw.cross)):
            if name in weights:
                odds = odds + weights[name] * scores
        reached = summary(odds, raw.corpus, corpora)
        found["pairs"][model] = round(reached.pairs, 4)
        found["first_of_20"][model] = round(reached.top, 4)
        found["attacks"][model] = reached.spoiled
        found["ece"][model] = {
            name: round(_error(odds[raw.corpus == i]), 4) for i, name in enumerate(corpora) if (raw.corpus == i).any()
        }
    return found


def _error(odds: NDArray[np.float64]) -> float:
    """The expected calibration error: the true replies weigh as much as the others together."""
    probability = 1 / (1 + np.exp(-np.clip(odds[:, : 1 + OTHERS], -60, 60)))
    true, others = np.repeat(probability[:, 0], OTHERS), probability[:, 1:].ravel()
    return reliability(np.r_[true, others], np.r_[np.ones(len(true)), np.zeros(len(others))]).error
