"""SIF-weighted averages of word vectors (Arora, Liang and Ma 2017), fitted to a corpus.

A text's vector is the mean of its words' vectors, each times a / (a + p(w)), minus its projection on the first
principal component of all such vectors of the corpus, normalised to length 1. p(w) is the share of a word among all
words of the corpus, or of a file of counts; the component is that of the uncentred vectors, as in the paper.
A text without a known word gets zeros.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.data.reader import InputFile as File
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.files import atomic_write, sha256_of_bytes
from rejoinder.indexes.corpus import Corpus
from rejoinder.models.base import Side, TokenVectors, Vectors, WordVectors
from rejoinder.text.tokens import get_tokenizer

_ROUNDING_SHARE = 1e-6  # a remainder below this share of the vector is only rounding


@dataclass(frozen=True, eq=False)
class SifFit:
    """What is fitted to a corpus: the counts of words that have a vector, the total of all words, and the component."""

    counts: Mapping[str, int]
    total: int
    component: NDArray[np.float64]


class SifEncoder:
    """Turns texts into SIF vectors of length 1 (zeros for texts without known words)."""

    max_tokens = 2**31 - 1

    def __init__(self, words: WordVectors, a: float, fit: SifFit, digest: str) -> None:
        self.name = f"sif of {words.name}"
        self.digest = digest
        self.dimensions = words.dimensions
        self._averages = SifAverages(words, a, fit.counts, fit.total)
        self._component = fit.component

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector per text; texts are never truncated."""
        raw = self._averages.means(texts)
        left = raw - np.outer((raw * self._component).sum(axis=1), self._component)
        before, after = (np.linalg.norm(part, axis=1, keepdims=True) for part in (raw, left))
        known = after > _ROUNDING_SHARE * before
        vectors: Vectors = np.divide(left, after, out=np.zeros_like(left), where=known).astype(np.float32)
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Raise: a word has the same vector in every context."""
        raise SpecError(f"{self.name} has no contextual token vectors; name an encoder of the catalog")

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return False for each text: texts are never truncated."""
        return [False] * len(texts)


@dataclass(frozen=True, eq=False)
class SifAverages:
    """The weighted means of texts, before the component is removed."""

    words: WordVectors
    a: float
    counts: Mapping[str, int]
    total: int

    def means(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row per text, in double precision; each depends only on its own text."""
        from scipy.sparse import csr_array

        tokens_of = get_tokenizer("words")
        columns: dict[str, int] = {}
        rows = [[columns.setdefault(word, len(columns)) for word in tokens_of(text)] for text in texts]
        vectors, known = self.words.vectors(list(columns))
        shares = np.array([self.counts.get(word, 0) for word in columns]) / max(self.total, 1)
        weighted = vectors.astype(np.float64) * (known * self.a / (self.a + shares))[:, None]
        rows = [[column for column in row if known[column]] for row in rows]
        sizes = np.array([len(row) for row in rows], np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        flat = np.fromiter((column for row in rows for column in row), np.int64, int(ends[-1]))
        occurrences = csr_array((np.ones(len(flat)), flat, ends), shape=(len(texts), max(len(columns), 1)))
        sums = occurrences @ (weighted if len(columns) else np.zeros((1, self.words.dimensions)))
        means: NDArray[np.float64] = sums / np.maximum(sizes, 1)[:, None]
        return means


VERSION = 1  # of the vectors
_BATCH_TEXTS = 8192


def fit_sif(
    corpus: Corpus, words: WordVectors, a: float, word_counts: tuple[Mapping[str, int], int] | None = None
) -> SifFit:
    """Return the word counts (unless given from a file) and the first principal component of a corpus."""
    counts, total = word_counts if word_counts is not None else _count_words(corpus, words)
    averages = SifAverages(words, a, counts, total)
    products = np.zeros((words.dimensions, words.dimensions))
    for texts in _text_blocks(corpus):
        means = averages.means(texts)
        products += means.T @ means
    return SifFit(counts, total, np.linalg.eigh(products)[1][:, -1])


def _count_words(corpus: Corpus, words: WordVectors) -> tuple[dict[str, int], int]:
    tokens_of = get_tokenizer("words")
    counts: Counter[str] = Counter()
    for texts in _text_blocks(corpus):
        for text in texts:
            counts.update(tokens_of(text))
    return {word: n for word, n in sorted(counts.items()) if word in words}, counts.total()


def _text_blocks(corpus: Corpus) -> Iterator[list[str]]:
    for start in range(0, corpus.n_turns, _BATCH_TEXTS):
        yield corpus.texts(np.arange(start, min(start + _BATCH_TEXTS, corpus.n_turns)))


def read_word_counts(path: str) -> tuple[dict[str, int], int]:
    """Read counts from a file with a word and its count on each line."""
    counts: dict[str, int] = {}
    for line in File(path).lines():
        word, _, number = line.text.decode("utf-8", "replace").strip().rpartition(" ")
        if not word.strip() or not number.isdecimal():
            beginning = brief(line.text[:60].decode("utf-8", "replace").strip())
            raise InputError(f"{line.place}: found {beginning}; write a word and its count on each line")
        counts[word.strip()] = counts.get(word.strip(), 0) + int(number)
    return counts, sum(counts.values())


def sif_digest(corpus: Corpus, words: WordVectors, a: float, counts: str | None) -> str:
    """Return a digest of everything that determines the vectors."""
    of_file = File(counts).measure()[0] if counts is not None else "corpus"
    return sha256_of_bytes(f"sif {VERSION} {words.digest} {a!r} {of_file} {corpus.digest}".encode())


def write_sif_fit(path: Path, fit: SifFit) -> None:
    """Write a fit to a file of the cache."""
    content = {"counts": fit.counts, "total": fit.total, "component": fit.component.tolist()}
    with atomic_write(path) as file:
        file.write(orjson.dumps(content))


def read_sif_fit(path: Path) -> SifFit | None:
    """Read a fit from a file of the cache; return None if there is none."""
    try:
        content = orjson.loads(path.read_bytes())
        return SifFit(content["counts"], int(content["total"]), np.array(content["component"], np.float64))
    except (OSError, ValueError, KeyError, TypeError):
        return None
