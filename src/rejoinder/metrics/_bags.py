"""Texts as bags of word vectors, shared by the metrics that use static word vectors.

Words are lower-cased runs of letters and digits (the tokeniser ``words``); a word without a vector is skipped, as in
the evaluation of Liu et al. 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.base import WordVectors
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.word_vectors.model import MATRIX, load_word_vectors
from rejoinder.paths import cache_home
from rejoinder.text.tokens import get_tokenizer


class Bags(NamedTuple):
    """The known words of several texts: one vector per distinct word, and the rows of each text's words."""

    vectors: NDArray[np.float64]
    rows: list[list[int]]


def bags_of(texts: Sequence[str], vectors: str) -> Bags:
    """Return the known words of each text, in order, with repetitions."""
    tokens_of = get_tokenizer("words")
    tokens = [tokens_of(text) for text in texts]
    words = list(dict.fromkeys(word for words in tokens for word in words))
    matrix, known = open_word_vectors(vectors).vectors(words)
    known &= matrix.any(axis=1)  # a zero vector has no direction
    row = {words[i]: row for row, i in enumerate(np.flatnonzero(known))}
    return Bags(matrix[known].astype(np.float64), [[row[word] for word in words if word in row] for words in tokens])


def is_word_vectors(name: str) -> bool:
    """Whether a name means static word vectors, and not an encoder."""
    if name in MODELS:
        return MODELS[name].kind == "word-vectors"
    return (Path(name) / MATRIX).is_file()


def vectors_details(vectors: str) -> dict[str, str]:
    """Return what a signature says about word vectors; raise if they are missing."""
    word_vectors = open_word_vectors(vectors)
    return {"model": f"{Path(word_vectors.name).name} {word_vectors.digest[:12]}"}


def open_word_vectors(name: str) -> WordVectors:
    """Return the word vectors of a name, loaded once per process."""
    return _open_cached(name, cache_home())


@lru_cache(maxsize=2)
def _open_cached(name: str, cache: Path) -> WordVectors:
    return load_word_vectors(name)
