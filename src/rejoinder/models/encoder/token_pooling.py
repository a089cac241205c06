"""One vector per text from its token vectors, by other pooling than the encoder's own; not normalised, not cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rejoinder.models.base import Encoder, Side, TokenVectors, Vectors
from rejoinder.models.encoder.transformers import TransformersEncoder

_BATCH_TEXTS = 128  # texts whose token vectors are in memory together


def max_pool(encoder: Encoder, texts: Sequence[str], cut: Side = "right") -> Vectors:
    """Return the maximum over all tokens in each dimension, special tokens included."""
    return _pool_texts(encoder, texts, cut, lambda tokens: _all_vectors(tokens).max(axis=0))


def first_token_vectors(encoder: Encoder, texts: Sequence[str], cut: Side = "right") -> Vectors:
    """Return the first special token of each text, after the pooler if the encoder has one (``has_pooler``)."""
    if isinstance(encoder, TransformersEncoder) and encoder.has_pooler:
        return encoder.encode_pooled(texts, cut)
    return _pool_texts(encoder, texts, cut, lambda tokens: _all_vectors(tokens)[0])


def has_pooler(encoder: Encoder) -> bool:
    """Whether an encoder has a pooler, a layer for the first token."""
    return isinstance(encoder, TransformersEncoder) and encoder.has_pooler


def _all_vectors(tokens: TokenVectors) -> Vectors:
    """Return the vectors of the special tokens, then of the text's own tokens."""
    return tokens.vectors if tokens.special is None else np.concatenate([tokens.special, tokens.vectors])


def _pool_texts(encoder: Encoder, texts: Sequence[str], cut: Side, pool: Callable[[TokenVectors], Vectors]) -> Vectors:
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    for start in range(0, len(texts), _BATCH_TEXTS):
        tokens = encoder.encode_tokens(texts[start : start + _BATCH_TEXTS], cut=cut)
        for row, text_tokens in zip(vectors[start : start + _BATCH_TEXTS], tokens, strict=True):
            row[:] = pool(text_tokens)
    return vectors
