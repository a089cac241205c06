"""Contextual token vectors as BERTScore compares them: with the special tokens, which a token may be matched to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.base import TokenVectors, Vectors
from rejoinder.models.encoder.factory import load_encoder


class Contextual(NamedTuple):
    """The vectors of a text's tokens at length 1, and which of them are its own and not special."""

    vectors: Vectors
    own: NDArray[np.bool_]


def contextual(texts: Sequence[str], encoder: str, layer: int) -> list[Contextual]:
    """The tokens of each text; of a blank text none is its own."""
    return _contextual(tuple(texts), encoder, layer, load_encoder(encoder, cache=False).digest)


@lru_cache(maxsize=1)  # precision and recall of the same pairs are mostly asked for one after the other
def _contextual(texts: tuple[str, ...], encoder: str, layer: int, digest: str) -> list[Contextual]:
    # To a byte-level tokeniser (RoBERTa) a space makes the first word a word like the others, as in the bert-score
    # package; other tokenisers do not see it.
    spaced = [" " + text.strip() for text in texts]
    return [_joined(tokens) for tokens in load_encoder(encoder, cache=False).encode_tokens(spaced, layer)]


def _joined(tokens: TokenVectors) -> Contextual:
    parts = [tokens.vectors] if tokens.special is None else [tokens.vectors, tokens.special]
    vectors = np.concatenate(parts)
    found: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return Contextual(found, np.arange(len(vectors)) < len(tokens.vectors))
