"""Batches of texts of about the same length: little padding, about the same work in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.device import batch_limits

Rows: TypeAlias = NDArray[np.intp]


def batches(lengths: Sequence[int], most_rows: int | None = None, most_tokens: int | None = None) -> Iterator[Rows]:
    """The positions of each batch, the longest texts first: what does not fit in memory is found out at once, and
    batches that are computed side by side end with small ones.

    Unless said, a batch has the room of the device that graphs are computed on; padding is counted, and a single longer
    text is a batch of its own.
    """
    if most_rows is None or most_tokens is None:
        rows_there, tokens_there = batch_limits()
        most_rows, most_tokens = most_rows or rows_there, most_tokens or tokens_there
    order = np.argsort(-np.asarray(lengths), kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, lengths[order[start]])
        rows = max(1, min(most_rows, most_tokens // longest))
        yield order[start : start + rows]
        start += rows


def pad(rows: Sequence[Sequence[int]], filler: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids in one array, filled up at the end, and which of them are real (1) or filling (0)."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, filler, np.int64)
    ids[mask] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, mask.astype(np.int64)
