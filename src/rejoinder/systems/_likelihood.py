"""What all likelihood systems share: how the log-probabilities of a reply's tokens become its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rejoinder.metric import NAN
from rejoinder.models.language_model.likelihood import Values
from rejoinder.spec import check_choice

CITATION = "Sato et al. 2020, Evaluating Dialogue Generation Systems via Response Selection, section 4.1"
Normalise: TypeAlias = Literal["token", "none"]
# Rows and tokens per batch: they limit the memory and change no score. Small batches are also the fastest on a CPU
# (SmolLM2-135M: batches of 1,024 tokens take three quarters of the time of 4,096), large ones on a GPU.
_BATCH_LIMITS = {"cpu": (64, 1_024), "cuda": (256, 16_384)}


def check_normalise(system: str, value: object) -> None:
    """Raise an error if the parameter ``normalise`` has an unknown value."""
    check_choice(system, "normalise", value, Normalise)


def network_batch_limits(network: Any) -> tuple[int, int]:
    """Return how many rows and tokens a batch for a network may have."""
    return _BATCH_LIMITS.get(network.device.type, _BATCH_LIMITS["cpu"])


def minus_loss(values: Sequence[float] | Values, normalise: Normalise) -> float:
    """Minus the softmax cross-entropy of a reply: per token, or in total; NaN if it has no tokens."""
    if not len(values):
        return NAN
    total = float(np.sum(np.asarray(values, np.float64)))
    return total / len(values) if normalise == "token" else total
