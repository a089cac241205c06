"""SIF-weighted averages of word vectors (Arora, Liang and Ma 2017), fitted to a corpus.

A text's vector is the mean of its words' vectors, each times a / (a + p(w)), without what it has of the first principal
component of all such vectors of the corpus, brought to length 1. p(w) is the share of a word among all words of the
corpus, or of a file of counts; the component is that of the vectors as they are (not centred), as in the paper. A text
without a known word has zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.models.contract import Side, TokenVectors, Vectors, WordVectors
from rejoinder.text import tokenizer_of

_NOTHING = 1e-6  # what is left of a vector, against before, that is but rounding


@dataclass(frozen=True, eq=False)
class Fit:
    """What a corpus decides: how often each word that has a vector occurs, among how many words, and the component."""

    counts: Mapping[str, int]
    total: int
    component: NDArray[np.float64]


class SifEncoder:
    """Turns texts into SIF vectors of length 1 (zeros where nothing is known of a text)."""

    max_tokens = 2**31 - 1

    def __init__(self, words: WordVectors, a: float, fit: Fit, digest: str) -> None:
        self.name = f"sif of {words.name}"
        self.digest = digest
        self.dimensions = words.dimensions
        self._weighing = Weighing(words, a, fit.counts, fit.total)
        self._component = fit.component

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """One vector a text; every text is read whole."""
        raw = self._weighing.means(texts)
        left = raw - np.outer((raw * self._component).sum(axis=1), self._component)
        before, after = (np.linalg.norm(part, axis=1, keepdims=True) for part in (raw, left))
        known = after > _NOTHING * before
        vectors: Vectors = np.divide(left, after, out=np.zeros_like(left), where=known).astype(np.float32)
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Nothing: a word has one vector wherever it stands."""
        raise SpecError(f"{self.name} has no vectors of tokens in their context; name an encoder of the catalog")

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Every text is read whole."""
        return [False] * len(texts)


@dataclass(frozen=True, eq=False)
class Weighing:
    """The weighted means of texts, before a component is taken away."""

    words: WordVectors
    a: float
    counts: Mapping[str, int]
    total: int

    def means(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """A row a text, in double precision; each depends on its own text alone."""
        from scipy.sparse import csr_array

        tokens_of = tokenizer_of("words")
        columns: dict[str, int] = {}
        rows = [[columns.setdefault(word, len(columns)) for word in tokens_of(text)] for text in texts]
        found, known = self.words.vectors(list(columns))
        shares = np.array([self.counts.get(word, 0) for word in columns]) / max(self.total, 1)
        weighted = found.astype(np.float64) * (known * self.a / (self.a + shares))[:, None]
        rows = [[column for column in row if known[column]] for row in rows]
        sizes = np.array([len(row) for row in rows], np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        flat = np.fromiter((column for row in rows for column in row), np.int64, int(ends[-1]))
        there = csr_array((np.ones(len(flat)), flat, ends), shape=(len(texts), max(len(columns), 1)))
        sums = there @ (weighted if len(columns) else np.zeros((1, self.words.dimensions)))
        means: NDArray[np.float64] = sums / np.maximum(sizes, 1)[:, None]
        return means
