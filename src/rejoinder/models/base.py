"""The interfaces of models: an encoder turns texts into vectors; word vectors have one vector per word.

A text always has the same vector, to the four decimals that scores are written with, whatever the batch, the order of
rows, the device or the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
Side: TypeAlias = Literal["left", "right"]


class TokenVectors(NamedTuple):
    """A text's tokens and the contextual vector of each, (tokens, dimensions); special tokens are separate."""

    tokens: tuple[str, ...]
    vectors: Vectors
    special: Vectors | None = None  # of the special tokens around them, which BERTScore can match tokens with


class Encoder(Protocol):
    """Turns texts into vectors."""

    name: str  # as the catalog or the user calls it
    digest: str  # of the weights, the tokeniser and the pooling: everything that determines the vectors
    dimensions: int
    max_tokens: int

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        ...

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the contextual vectors of each text's tokens from one layer, not normalised; cut as in ``encode``."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        ...


class WordVectors(Protocol):
    """One vector per word, from a fixed vocabulary."""

    name: str
    digest: str
    dimensions: int

    def __contains__(self, word: str) -> bool: ...

    def vectors(self, words: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return one vector per word (zeros if unknown), and which words are known."""
        ...
