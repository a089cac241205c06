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
from rejoinder.models.ranker.card import StatementChoice

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
        found: Floats = self._small[ids].astype(np.float32) * self._scales[ids][..., None]
        return found

    def directions(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of ids, scaled to length 1."""
        found = self.vectors(np.asarray(ids, np.int64))
        lengths = np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-9)
        turned: Floats = (found / lengths).astype(np.float32)
        return turned


def word_weights(texts: Sequence[Ids], size: int) -> Floats:
    """Return the weight of each word: the square of the logarithm of how rare it is among the texts."""
    held = np.zeros(size)
    for text in texts:
        held[list(set(text))] += 1
    found: Floats = (np.log((1 + len(texts)) / (1 + held)) ** 2).astype(np.float32)
    return found


def word_similarity(statements: Sequence[Ids], candidates: Sequence[Ids], words: WordTable, weights: Floats) -> Floats:
    """Return (candidates, statements) similarities from 0 to 1; 0 for a text without words."""
    found = np.zeros((len(candidates), len(statements)), np.float32)
    some = [i for i, text in enumerate(statements) if text]
    others = [i for i, text in enumerate(candidates) if text]
    if not some or not others:
        return found
    of_statements = [word for i in some for word in statements[i]]
    of_candidates = [word for i in others for word in candidates[i]]
    these, at = np.unique(of_statements, return_inverse=True)
    those, back = np.unique(of_candidates, return_inverse=True)
    # Not by @: on a busy machine its threads cost a hundred times as much as such a small product.
    alike = np.einsum("ik,jk->ij", words.directions(these.tolist()), words.directions(those.tolist()))
    nearest = np.maximum.reduceat(alike[:, back], _starts([len(candidates[i]) for i in others]), axis=1)[at]
    counted = weights[of_statements][:, None]
    starts = _starts([len(statements[i]) for i in some])
    total = np.add.reduceat(counted, starts, axis=0)
    gained = np.add.reduceat(counted * np.maximum(nearest, 0) ** 3, starts, axis=0) / np.maximum(total, 1e-9)
    found[np.ix_(others, some)] = gained.T
    return found


def choose_statements(odds: Floats, gained: Floats, choice: StatementChoice) -> tuple[int, ...]:
    """Return the indices of the statements to read, in order."""
    total = odds + choice.likeness * gained
    most = len(total) if len(total) <= choice.whole else choice.most
    likeliest = np.argsort(-total, kind="stable")[:most]
    return tuple(sorted(int(place) for place in likeliest if total[place] > -np.inf))


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
