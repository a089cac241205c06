"""V of SSREM (Bak and Oh 2020, section 3.2): the vector of an utterance, its weight in a context, and the context's.

With word vectors, an utterance is the mean over its known words and its weight is their number, so that a context is
the mean over all of its words, as in the paper. With an encoder, an utterance is its sentence vector with weight 1. In
a context, an utterance's weight decays with every later one; the paper's mean has a decay of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.model_use import ModelUse
from rejoinder.models.base import Vectors
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.encoder.factory import describe_encoder, load_encoder
from rejoinder.models.word_vectors.model import MATRIX, describe_word_vectors, load_word_vectors
from rejoinder.text.tokens import get_tokenizer


class WeightedVectors(NamedTuple):
    """One vector per text, and its weight: 0 if it has no known words."""

    vectors: Vectors
    weights: NDArray[np.float32]


class TurnEncoder(Protocol):
    """Turns utterances into vectors."""

    name: str
    digest: str
    dimensions: int
    use: ModelUse  # with its licence

    def encode_turns(self, texts: Sequence[str]) -> WeightedVectors:
        """Return the vector and the weight of each text, in order."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        ...


def open_turn_encoder(name: str, cache: bool = True) -> TurnEncoder:
    """Open word vectors or an encoder from the catalog, or a folder with either."""
    if MODELS[name].kind == "word-vectors" if name in MODELS else (Path(name) / MATRIX).is_file():
        return WordAverages(name)
    return EncoderVectors(name, cache)


class WordAverages:
    """The mean of the vectors of an utterance's words; words without a vector are skipped."""

    def __init__(self, name: str) -> None:
        self._words = load_word_vectors(name)
        self.name, self.digest, self.dimensions = name, self._words.digest, self._words.dimensions
        self.use = describe_word_vectors(self._words)

    def encode_turns(self, texts: Sequence[str]) -> WeightedVectors:
        """Return the mean vector of each text; its weight is its number of known words."""
        tokens_of = get_tokenizer("words")
        rows: dict[str, int] = {}
        word_rows = [[rows.setdefault(word, len(rows)) for word in tokens_of(text)] for text in texts]
        vectors, known = self._words.vectors(list(rows))
        means = np.zeros((len(texts), self.dimensions), np.float32)
        weights = np.zeros(len(texts), np.float32)
        for index, words in enumerate(word_rows):
            known_rows = [row for row in words if known[row]]
            if known_rows:
                means[index], weights[index] = vectors[known_rows].mean(axis=0), len(known_rows)
        return WeightedVectors(means, weights)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return False for each text: every word is read."""
        return [False] * len(texts)


class EncoderVectors:
    """The vectors of an encoder; a blank utterance has weight 0."""

    def __init__(self, name: str, cache: bool = True) -> None:
        self._encoder = load_encoder(name, cache)
        self.name, self.digest, self.dimensions = name, self._encoder.digest, self._encoder.dimensions
        self.use = describe_encoder(name)

    def encode_turns(self, texts: Sequence[str]) -> WeightedVectors:
        """Return the vector of each text; its weight is 1, or 0 if the text is blank."""
        has_text = np.array([bool(text.strip()) for text in texts], bool)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if has_text.any():
            vectors[has_text] = self._encoder.encode(
                [text for text, is_kept in zip(texts, has_text, strict=True) if is_kept]
            )
        return WeightedVectors(vectors, has_text.astype(np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._encoder.truncated(texts)


def context_vectors(newest_first: Iterable[WeightedVectors], decay: float) -> WeightedVectors:
    """Return the vectors of contexts: the weighted mean of their utterances.

    The i-th entry has, for each context, the i-th utterance before the newest (weight 0 if there is none).
    """
    total: Vectors | None = None
    weights = np.zeros(0, np.float32)
    for age, utterances in enumerate(newest_first):
        counts = (decay**age * utterances.weights).astype(np.float32)
        total = counts[:, None] * utterances.vectors if total is None else total + counts[:, None] * utterances.vectors
        weights = counts if age == 0 else weights + counts
    if total is None:
        raise ValueError("a context must have at least one utterance, which may be blank")
    return WeightedVectors(total / np.where(weights > 0, weights, 1).astype(np.float32)[:, None], weights)


def centre_vectors(vectors: NDArray[Any], mean: NDArray[Any] | None) -> NDArray[Any]:
    """Return vectors minus a mean, scaled to length 1 (one that equals the mean becomes zero); as they are without."""
    if mean is None:
        return vectors
    centered = vectors - mean.astype(vectors.dtype)
    lengths = np.sqrt(np.einsum("...d,...d->...", centered, centered))[..., None]
    return np.asarray(centered / np.where(lengths > 0, lengths, 1).astype(vectors.dtype))
