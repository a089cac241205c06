"""Replies longer than the networks read: overlapping windows, each read on its own, and the mean of their scores.

A reply that is short enough is one window. The mean of log-odds is the head's value for the mean of the pair's vectors
before it, because the head is linear; in the same way the mean of cosines is the product with the mean vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rejoinder.models.encoder.tokenization import TextTokenizer

_SHARED = 0.25  # of a window that it has in common with the next one, at least

T = TypeVar("T")


class Window(NamedTuple):
    """The tokens from ``start`` to ``end``."""

    start: int
    end: int


def split_into_windows(tokens: int, most: int) -> list[Window]:
    """Return as few windows of ``most`` tokens as cover the tokens, evenly placed; one where all fit into it."""
    if tokens <= most:
        return [Window(0, tokens)]
    shared = int(_SHARED * most)
    count = -(-(tokens - shared) // (most - shared))
    starts = [round(i * (tokens - most) / (count - 1)) for i in range(count)]
    return [Window(start, start + most) for start in starts]


def split_text(tokenizer: TextTokenizer, text: str, most: int) -> list[str]:
    """Return the windows of a text as texts; they begin and end between words, so that each word has its tokens."""
    if text.isascii() and len(text) <= most:  # no token is shorter than a character, but one that is not ASCII may be
        return [text]
    tokens = tokenizer.locate(text)
    if len(tokens) <= most:
        return [text]
    parts = []
    for window in split_into_windows(len(tokens), most):
        start, end = window
        while 0 < start < window.end - 1 and tokens[start].word == tokens[start - 1].word:
            start += 1
        while window.start + 1 < end < len(tokens) and tokens[end].word == tokens[end - 1].word:
            end -= 1
        parts.append(text[tokens[start].start : tokens[end - 1].end])
    return parts


class Grouping:
    """Windows of several replies in one list: which belong together, and the mean over each reply's own."""

    def __init__(self, counts: Iterable[int]) -> None:
        self._counts = np.fromiter(counts, np.intp)

    def mean(self, values: Any) -> Any:
        """Return the mean of each reply's windows; of an array of vectors, the mean vector."""
        if len(values) == len(self._counts):  # one each
            return values
        starts = np.cumsum(self._counts) - self._counts
        counts = self._counts.reshape(-1, *[1] * (values.ndim - 1))
        return (np.add.reduceat(values, starts, axis=0) / counts).astype(values.dtype)


def group_windows(windows: Sequence[Sequence[T]]) -> tuple[list[T], Grouping]:
    """Return all windows in one list, and how they are grouped."""
    return [window for of_reply in windows for window in of_reply], Grouping(map(len, windows))
