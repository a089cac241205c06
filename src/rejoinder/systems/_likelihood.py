"""What every system that goes by likelihood shares: how the log-probabilities of a reply's tokens become its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rejoinder.metric import NAN
from rejoinder.models.language_model.likelihood import Values
from rejoinder.spec import check_choice

CITATION = "Sato et al. 2020, Evaluating Dialogue Generation Systems via Response Selection, section 4.1"
Normalise: TypeAlias = Literal["token", "none"]
# Rows and tokens that are computed at once: they bound the memory and change no number. A small batch is also the
# quickest on a CPU (SmolLM2-135M: 1,024 tokens take three quarters of the time of 4,096), a large one on a GPU.
_BATCH_LIMITS = {"cpu": (64, 1_024), "cuda": (256, 16_384)}


def check_normalise(system: str, value: object) -> None:
    """The parameter ``normalise`` must be known."""
    check_choice(system, "normalise", value, Normalise)


def batch_limits(network: Any) -> tuple[int, int]:
    """How many rows and tokens a network is given at once."""
    return _BATCH_LIMITS.get(network.device.type, _BATCH_LIMITS["cpu"])


def minus_loss(values: Sequence[float] | Values, normalise: Normalise) -> float:
    """Minus the softmax cross-entropy of a reply: a token, or of the whole; NaN where it has no token."""
    if not len(values):
        return NAN
    total = float(np.sum(np.asarray(values, np.float64)))
    return total / len(values) if normalise == "token" else total
