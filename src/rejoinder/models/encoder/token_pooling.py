"""One vector a text from its tokens' vectors, in other ways than the encoder's own; not at length 1, not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rejoinder.models.base import Encoder, Side, TokenVectors, Vectors
from rejoinder.models.encoder.transformers import TransformersEncoder

_BATCH_TEXTS = 128  # texts whose tokens' vectors are in memory together


def max_pool(encoder: Encoder, texts: Sequence[str], cut: Side = "right") -> Vectors:
    """In each number the largest of all tokens, the marks around the text among them."""
    return _pool_texts(encoder, texts, cut, lambda tokens: _all_vectors(tokens).max(axis=0))


def first_token_vectors(encoder: Encoder, texts: Sequence[str], cut: Side = "right") -> Vectors:
    """The mark that each text begins with, behind the pooler where the encoder has one (``has_pooler``)."""
    if isinstance(encoder, TransformersEncoder) and encoder.has_pooler:
        return encoder.encode_pooled(texts, cut)
    return _pool_texts(encoder, texts, cut, lambda tokens: _all_vectors(tokens)[0])


def has_pooler(encoder: Encoder) -> bool:
    """Whether an encoder has a layer of its own for the first token."""
    return isinstance(encoder, TransformersEncoder) and encoder.has_pooler


def _all_vectors(tokens: TokenVectors) -> Vectors:
    """The vectors of the marks, then of the text's own tokens."""
    return tokens.vectors if tokens.special is None else np.concatenate([tokens.special, tokens.vectors])


def _pool_texts(encoder: Encoder, texts: Sequence[str], cut: Side, pool: Callable[[TokenVectors], Vectors]) -> Vectors:
    found = np.zeros((len(texts), encoder.dimensions), np.float32)
    for start in range(0, len(texts), _BATCH_TEXTS):
        tokens = encoder.encode_tokens(texts[start : start + _BATCH_TEXTS], cut=cut)
        for row, of_text in zip(found[start : start + _BATCH_TEXTS], tokens, strict=True):
            row[:] = pool(of_text)
    return found
