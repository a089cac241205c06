"""Utterances as vectors of length 1: by the words they share, by averaged word vectors, or by a sentence encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import SpecError, nearest
from rejoinder.indexes.corpus import Numbers
from rejoinder.models.catalog.entries import MODELS
from rejoinder.text.tokens import tokenizer_of

TFIDF = "tfidf"
Matrix: TypeAlias = Any  # a row a text: a numpy array, or a sparse matrix of scipy


class Vectorizer(NamedTuple):
    """A way from texts to vectors, and what it is called."""

    name: str
    vectors: Callable[[Sequence[str]], Matrix]


def vectorizer(name: str) -> Vectorizer:
    """The vectorizer of a name: ``tfidf``, word vectors or an encoder of the catalog, or a folder with either."""
    if name == TFIDF:
        return Vectorizer(TFIDF, tfidf)
    if name in MODELS and MODELS[name].kind == "word-vectors":
        return Vectorizer(name, lambda texts: averaged(texts, name))
    if name in MODELS and MODELS[name].kind != "encoder":
        usable = [TFIDF, *(m.name for m in MODELS.values() if m.kind in ("word-vectors", "encoder"))]
        raise SpecError(f"{name} makes no vectors of texts; {nearest(name, usable)}")
    from rejoinder.models.encoder.factory import load_encoder

    encoder = load_encoder(name)
    return Vectorizer(encoder.name, encoder.encode)


def tfidf(texts: Sequence[str]) -> Matrix:
    """Counts of words, each times ln((1 + N) / (1 + df)) + 1 over these very texts; a text without words has zeros."""
    from scipy.sparse import csr_matrix

    tokens_of = tokenizer_of("words")
    columns: dict[str, int] = {}
    counted = [Counter(columns.setdefault(word, len(columns)) for word in tokens_of(text)) for text in texts]
    ends: Numbers = np.cumsum([0, *map(len, counted)])
    indices = np.fromiter((column for counts in counted for column in counts), np.int32, int(ends[-1]))
    values = np.fromiter((n for counts in counted for n in counts.values()), np.float64, int(ends[-1]))
    shared = np.bincount(indices, minlength=len(columns))
    values *= np.log((1 + len(texts)) / (1 + shared[indices])) + 1
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(len(texts)), np.diff(ends)), values**2, len(texts)))
    values /= np.repeat(lengths, np.diff(ends))
    return csr_matrix((values, indices, ends), (len(texts), len(columns)))


def averaged(texts: Sequence[str], name: str) -> Matrix:
    """The mean of the vectors of a text's words, as SSREM does it; a text without known words has zeros."""
    from rejoinder.models.word_vectors import load_word_vectors

    words = load_word_vectors(name)
    tokens_of = tokenizer_of("words")
    means = np.zeros((len(texts), words.dimensions), np.float32)
    for number, text in enumerate(texts):
        found, known = words.vectors(tokens_of(text))
        if known.any():
            means[number] = found[known].mean(axis=0)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
