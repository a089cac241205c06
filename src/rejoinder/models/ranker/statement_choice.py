"""Which statements of a situation are read for a candidate.

A statement has the log-odds that it matters to the request, from the chooser, and gains for words similar to the
candidate's: the cubed cosine of each of its words with the most similar word of the candidate, where rare words count
more. A short situation is read in full; of a longer one, the most likely few statements, in their original order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.ranker.settings import StatementReadingRule

Floats: TypeAlias = NDArray[np.float32]


class WordTable:
    """Word vectors: int8 rows with a scale each, in a memory-mapped file."""

    def __init__(self, path: Path, width: int) -> None:
        rows = path.stat().st_size // (width + 4)
        self._small = np.memmap(path, np.int8, "r", shape=(rows, width))
        self._scales = np.memmap(path, "<f4", "r", offset=rows * width, shape=(rows,))
        self.count = rows

    def vectors(self, ids: NDArray[np.int64]) -> Floats:
        """Return the vectors of ids, in an array of any shape."""
        rows: Floats = self._small[ids].astype(np.float32) * self._scales[ids][..., None]
        return rows

    def directions(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of ids, scaled to length 1."""
        vectors = self.vectors(np.asarray(ids, np.int64))
        lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
        normalized: Floats = (vectors / lengths).astype(np.float32)
        return normalized


def word_weights(texts: Sequence[Ids], size: int) -> Floats:
    """Return the weight of each word: the square of the logarithm of how rare it is among the texts."""
    text_counts = np.zeros(size)
    for text in texts:
        text_counts[list(set(text))] += 1
    weights: Floats = (np.log((1 + len(texts)) / (1 + text_counts)) ** 2).astype(np.float32)
    return weights


def word_similarity(statements: Sequence[Ids], candidates: Sequence[Ids], words: WordTable, weights: Floats) -> Floats:
    """Return (candidates, statements) similarities from 0 to 1; texts without words get 0."""
    similarities = np.zeros((len(candidates), len(statements)), np.float32)
    statement_indices = [i for i, text in enumerate(statements) if text]
    candidate_indices = [i for i, text in enumerate(candidates) if text]
    if not statement_indices or not candidate_indices:
        return similarities
    all_statement_words = [word for i in statement_indices for word in statements[i]]
    all_candidate_words = [word for i in candidate_indices for word in candidates[i]]
    statement_words, statement_inverse = np.unique(all_statement_words, return_inverse=True)
    candidate_words, candidate_inverse = np.unique(all_candidate_words, return_inverse=True)
    # Not by @: on a busy machine its threads cost a hundred times as much as such a small product.
    cosines = np.einsum(
        "ik,jk->ij", words.directions(statement_words.tolist()), words.directions(candidate_words.tolist())
    )
    nearest = np.maximum.reduceat(
        cosines[:, candidate_inverse], _text_starts([len(candidates[i]) for i in candidate_indices]), axis=1
    )[statement_inverse]
    counted_weights = weights[all_statement_words][:, None]
    starts = _text_starts([len(statements[i]) for i in statement_indices])
    total = np.add.reduceat(counted_weights, starts, axis=0)
    similarity = np.add.reduceat(counted_weights * np.maximum(nearest, 0) ** 3, starts, axis=0) / np.maximum(
        total, 1e-9
    )
    similarities[np.ix_(candidate_indices, statement_indices)] = similarity.T
    return similarities


def choose_statements_to_read(odds: Floats, similarity: Floats, choice: StatementReadingRule) -> tuple[int, ...]:
    """Return the indices of the statements to read, in order."""
    total = odds + choice.likeness * similarity
    most = len(total) if len(total) <= choice.whole else choice.most
    likeliest = np.argsort(-total, kind="stable")[:most]
    return tuple(sorted(int(index) for index in likeliest if total[index] > -np.inf))


def _text_starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
