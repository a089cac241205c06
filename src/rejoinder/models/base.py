"""What a model is to the rest: an encoder turns texts into vectors, word vectors give one a word.

Whatever the batch, the neighbours in it, the order of rows, the device or the cache: a text has one vector, to the four
decimals that scores are written with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
Side: TypeAlias = Literal["left", "right"]


class TokenVectors(NamedTuple):
    """A text's tokens and the contextual vector of each: (tokens, dimensions); special tokens stand apart."""

    tokens: tuple[str, ...]
    vectors: Vectors
    special: Vectors | None = None  # of the special tokens around them, which BERTScore may match a token to


class Encoder(Protocol):
    """Turns texts into vectors."""

    name: str  # as the catalog or the user names it
    digest: str  # of the weights, the tokeniser and the pooling: what decides the vectors
    dimensions: int
    max_tokens: int

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """One vector of length 1 a text, in order; a text beyond ``max_tokens`` loses its end (or its beginning)."""
        ...

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """The contextual vectors of each text's tokens from one layer, as they are (not normalised); cut as above."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Which of the texts are too long to be read whole."""
        ...


class WordVectors(Protocol):
    """One vector a word, from a fixed vocabulary."""

    name: str
    digest: str
    dimensions: int

    def __contains__(self, word: str) -> bool: ...

    def vectors(self, words: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """A vector a word (zeros where unknown), and which words are known."""
        ...
