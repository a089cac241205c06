"""V of SSREM (Bak and Oh 2020, section 3.2): an utterance's vector, what it weighs in a context, and the context's.

By word vectors, an utterance is the mean of those of its words and weighs as much as it has known words, so that a
context is the mean over all of its words, as in the paper. By an encoder, an utterance is its vector and weighs 1. In a
context an utterance loses weight with each one that came after it; the paper's mean has a decay of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.base import Vectors
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.word_vectors import MATRIX, load_word_vectors
from rejoinder.text.tokens import get_tokenizer


class WeightedVectors(NamedTuple):
    """A vector a text, and what it weighs: 0 where it says nothing that is known."""

    vectors: Vectors
    weights: NDArray[np.float32]


class UtteranceVectors(Protocol):
    """Turns utterances into vectors."""

    name: str
    digest: str
    dimensions: int
    licence: str

    def utterances(self, texts: Sequence[str]) -> WeightedVectors:
        """The vector and the weight of each text, in order."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Which of the texts are too long to be read whole."""
        ...


def open_utterance_vectors(name: str, cache: bool = True) -> UtteranceVectors:
    """The vectors of a name: word vectors or an encoder of the catalog, or a folder with either."""
    if MODELS[name].kind == "word-vectors" if name in MODELS else (Path(name) / MATRIX).is_file():
        return WordAverages(name)
    return EncoderVectors(name, cache)


class WordAverages:
    """The mean of the vectors of an utterance's words; words without a vector are skipped."""

    def __init__(self, name: str) -> None:
        self._words = load_word_vectors(name)
        self.name, self.digest, self.dimensions = name, self._words.digest, self._words.dimensions
        self.licence = _find_licence(name)

    def utterances(self, texts: Sequence[str]) -> WeightedVectors:
        """The mean vector of each text; it weighs as much as it has known words."""
        tokens_of = get_tokenizer("words")
        rows: dict[str, int] = {}
        spoken = [[rows.setdefault(word, len(rows)) for word in tokens_of(text)] for text in texts]
        vectors, known = self._words.vectors(list(rows))
        means = np.zeros((len(texts), self.dimensions), np.float32)
        weights = np.zeros(len(texts), np.float32)
        for place, words in enumerate(spoken):
            kept = [row for row in words if known[row]]
            if kept:
                means[place], weights[place] = vectors[kept].mean(axis=0), len(kept)
        return WeightedVectors(means, weights)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """None: every word is read."""
        return [False] * len(texts)


class EncoderVectors:
    """The vector that an encoder gives an utterance; a blank one says nothing."""

    def __init__(self, name: str, cache: bool = True) -> None:
        self._encoder = load_encoder(name, cache)
        self.name, self.digest, self.dimensions = name, self._encoder.digest, self._encoder.dimensions
        self.licence = _find_licence(name)

    def utterances(self, texts: Sequence[str]) -> WeightedVectors:
        """The vector of each text; it weighs 1, or nothing where the text is blank."""
        said = np.array([bool(text.strip()) for text in texts], bool)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if said.any():
            vectors[said] = self._encoder.encode([text for text, any_ in zip(texts, said, strict=True) if any_])
        return WeightedVectors(vectors, said.astype(np.float32))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Which of the texts are too long to be read whole."""
        return self._encoder.truncated(texts)


def context_vectors(newest_first: Iterable[WeightedVectors], decay: float) -> WeightedVectors:
    """The vectors of some contexts: the weighted mean of their utterances.

    The i-th entry has, for each context, the utterance that came i before the newest (weight 0 where there is none).
    """
    total: Vectors | None = None
    weights = np.zeros(0, np.float32)
    for age, said in enumerate(newest_first):
        counts = (decay**age * said.weights).astype(np.float32)
        total = counts[:, None] * said.vectors if total is None else total + counts[:, None] * said.vectors
        weights = counts if age == 0 else weights + counts
    if total is None:
        raise ValueError("a context has at least one utterance, which may be blank")
    return WeightedVectors(total / np.where(weights > 0, weights, 1).astype(np.float32)[:, None], weights)


def _find_licence(name: str) -> str:
    return MODELS[name].licence if name in MODELS else "not known"
