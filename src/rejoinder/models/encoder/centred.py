"""Vectors whose cosines mean about the same by every encoder, for thresholds.

By gte-small, and by what was trained from it, any two texts have a cosine of about .75: their vectors share a large
mean. Where the mean vector of known utterances is long, it is subtracted, so that unrelated texts are near 0 again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.files import sha256_of_bytes
from rejoinder.models.base import Encoder, Side, TokenVectors, Vectors
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.encoder.probe_sentences import probe_texts

LONG = 0.6  # the length of a mean vector from which it is subtracted; unrelated texts then have a cosine of about .36


def load_centred_encoder(name: str) -> Encoder:
    """Load an encoder by name for cosines that are compared with a threshold."""
    encoder = load_encoder(name)
    mean: Vectors = encoder.encode(probe_texts()).mean(axis=0)
    return encoder if np.linalg.norm(mean) < LONG else CentredEncoder(encoder, mean)


class CentredEncoder:
    """An encoder whose vectors have a mean subtracted, and length 1 again."""

    def __init__(self, encoder: Encoder, mean: Vectors) -> None:
        self._encoder, self._mean = encoder, mean
        self.name, self.digest = encoder.name, sha256_of_bytes(f"{encoder.digest} centred".encode())
        self.dimensions, self.max_tokens = encoder.dimensions, encoder.max_tokens

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        vectors = self._encoder.encode(texts, cut) - self._mean
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, np.float32(1e-6)), np.float32)

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the vectors of each text's tokens, as the encoder gives them."""
        return self._encoder.encode_tokens(texts, layer, cut)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._encoder.truncated(texts)
