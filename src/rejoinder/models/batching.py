"""Batches of texts of similar length: little padding, and about the same work in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.device import device_batch_limits

Rows: TypeAlias = NDArray[np.intp]


def split_into_batches(
    lengths: Sequence[int], most_rows: int | None = None, most_tokens: int | None = None
) -> Iterator[Rows]:
    """Yield the indices of the texts in each batch, the longest texts first: what does not fit in memory shows at once,
    and batches that are computed in parallel end with small ones.

    By default the limits are those of the device that computes graphs. Padding counts, and a text longer than the limit
    is a batch of its own.
    """
    if most_rows is None or most_tokens is None:
        rows_there, tokens_there = device_batch_limits()
        most_rows, most_tokens = most_rows or rows_there, most_tokens or tokens_there
    order = np.argsort(-np.asarray(lengths), kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, lengths[order[start]])
        rows = max(1, min(most_rows, most_tokens // longest))
        yield order[start : start + rows]
        start += rows


def pad_token_ids(rows: Sequence[Sequence[int]], filler: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token ids as one array, padded at the end, and a mask of real tokens (1) and padding (0)."""
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, filler, np.int64)
    ids[mask] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return ids, mask.astype(np.int64)
