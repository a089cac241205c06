"""Greedy matching of contextual token vectors (Zhang et al. 2020, section 3): every reply with every reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metrics._contextual import Contextual

Part: TypeAlias = Literal["precision", "recall", "f1"]
Array: TypeAlias = NDArray[np.float64]


def compare(replies: Sequence[Contextual], references: Sequence[Contextual], part: Part) -> Array:
    """One part of BERTScore for every reply (row) and reference (column), all tokens compared at once.

    Every text has at least one token of its own.
    """
    cosines = np.concatenate([r.vectors for r in replies]) @ np.concatenate([r.vectors for r in references]).T
    rows, columns = _starts(replies), _starts(references)
    precision = _means(np.maximum.reduceat(cosines, columns, axis=1), replies, rows)
    recall = _means(np.maximum.reduceat(cosines, rows, axis=0).T, references, columns).T
    found = {"precision": precision, "recall": recall, "f1": _harmonic(precision, recall)}[part]
    bounded: Array = np.clip(found, -1.0, 1.0)
    return bounded


def _harmonic(precision: Array, recall: Array) -> Array:
    """The harmonic mean; it is defined for numbers above 0 and goes to 0 with either."""
    above = (precision > 0) & (recall > 0)
    found: Array = np.where(above, 2 * precision * recall, 0.0) / np.where(above, precision + recall, 1.0)
    return found


def _starts(texts: Sequence[Contextual]) -> NDArray[np.intp]:
    lengths = [len(text.own) for text in texts]
    return np.cumsum([0, *lengths[:-1]])


def _means(best: NDArray[np.float32], texts: Sequence[Contextual], starts: NDArray[np.intp]) -> Array:
    """The mean over each text's own tokens (rows of ``best``), in double precision."""
    own = np.concatenate([text.own for text in texts])
    sums = np.add.reduceat(best * own[:, None].astype(np.float64), starts, axis=0)
    found: Array = sums / np.add.reduceat(own.astype(np.int64), starts)[:, None]
    return found
