"""From the vectors of a text's tokens to one vector of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from rejoinder.models.base import Vectors
from rejoinder.models.encoder.card import Pooling


def pool_tokens(states: Any, mask: Any, how: Pooling) -> Vectors:
    """Pool (rows, tokens, dimensions) with a mask to (rows, dimensions)."""
    if how == "first":
        pooled = states[:, 0]
    else:
        weights = mask[:, None, :].astype(np.float32)
        pooled = (weights @ states)[:, 0] / np.maximum(weights.sum(axis=2), 1)
    return normalise_vectors(pooled)


def normalise_vectors(vectors: Any) -> Vectors:
    """Return the vectors scaled to length 1; a zero vector stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    normalized: Vectors = np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
    return normalized
