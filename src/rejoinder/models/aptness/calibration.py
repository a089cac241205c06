"""From the outputs of the two networks to a probability: the logistic function of a weighted sum of a few features.

Each model (``both``, ``bi`` or ``cross``) has a weight for each feature that it uses:

- ``bi``: the cosine of the context's and the reply's vector; ``cross``: the pair's log-odds;
- ``length``: ln(1 + the number of the reply's tokens);
- ``copied``: the largest share of tokens that the reply has in common with one utterance of the context;
- ``repeated``: the share of the reply's tokens that repeat an earlier one;
- ``bias``: 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError

ModelName: TypeAlias = Literal["both", "bi", "cross"]
Numbers: TypeAlias = NDArray[np.float64]
Ids: TypeAlias = Sequence[int]
NETWORKS = ("bi", "cross")
BIAS = "bias"


def log_length(context: Sequence[Ids], reply: Ids) -> float:
    """Return ln(1 + the number of the reply's tokens)."""
    return math.log1p(len(reply))


def copied_share(context: Sequence[Ids], reply: Ids) -> float:
    """Return the largest share of common tokens (Jaccard index) of the reply and one utterance of the context."""
    reply_tokens = set(reply)
    shares = [
        len(reply_tokens & set(utterance)) / len(reply_tokens | set(utterance)) for utterance in context if utterance
    ]
    return max(shares, default=0.0)


def repeated_share(context: Sequence[Ids], reply: Ids) -> float:
    """Return the share of the reply's tokens that repeat an earlier one."""
    return 1 - len(set(reply)) / len(reply) if reply else 0.0


TOKEN_FEATURES: Mapping[str, Callable[[Sequence[Ids], Ids], float]] = {
    "length": log_length,
    "copied": copied_share,
    "repeated": repeated_share,
}


def check_calibration(calibration: Mapping[str, Mapping[str, float]]) -> None:
    """Raise if a model lacks a weight, or if a weight belongs to no feature."""
    known = {*NETWORKS, *TOKEN_FEATURES, BIAS}
    for model in get_args(ModelName):
        weights = calibration.get(model, {})
        required = NETWORKS if model == "both" else (model,)
        if not set(required) <= weights.keys() <= known or set(NETWORKS) & weights.keys() != set(required):
            raise InputError(
                f"the calibration of {model!r} must have a weight for {' and '.join(required)} and may have one for "
                f"{', '.join([*TOKEN_FEATURES, BIAS])}; found: {', '.join(weights) or 'nothing'}"
            )


def calibrated_probability(weights: Mapping[str, float], features: Mapping[str, Numbers]) -> Numbers:
    """Return the logistic function of the weighted sum."""
    total: Numbers = np.asarray(weights.get(BIAS, 0.0), np.float64)
    for name, values in features.items():
        total = total + weights[name] * values
    return 1 / (1 + np.exp(-np.clip(total, -60, 60)))
