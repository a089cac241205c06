"""Replies longer than the networks read: in windows that each have the reply's beginning, and the mean of their scores.

The beginning of a reply is what answers the context. A later piece by itself says little about how well the reply fits
(docs/aptness.md has the measurement), so each window is the first half of what can be read, and then a later piece. A
reply that is short enough is one window. The mean of log-odds is the head's value for the mean of the pair's vectors
before it, because the head is linear; in the same way the mean of cosines is the product with the mean vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.tokenization import TextTokenizer
from rejoinder.models.word_pieces import LocatedToken

T = TypeVar("T")


class Window(NamedTuple):
    """The first ``head`` tokens, and those from ``start`` to ``end``."""

    head: int
    start: int
    end: int

    def read(self, tokens: Ids) -> list[int]:
        """Return the tokens of the window."""
        return [*tokens[: self.head], *tokens[self.start : self.end]]


def split_into_windows(tokens: int, most: int) -> list[Window]:
    """Return as few windows of ``most`` tokens as cover the tokens, evenly placed; one where all fit into it."""
    if tokens <= most:
        return [Window(0, 0, tokens)]
    head = most // 2
    piece = most - head
    count = -(-(tokens - head) // piece)
    starts = [head + round(i * (tokens - most) / (count - 1)) for i in range(count)]
    return [Window(head, start, start + piece) for start in starts]


def split_text(tokenizer: TextTokenizer, text: str, most: int) -> list[str]:
    """Return the windows of a text as texts; pieces begin and end between words, so that each word has its tokens."""
    if text.isascii() and len(text) <= most:  # no token is shorter than a character, but one that is not ASCII may be
        return [text]
    tokens = tokenizer.locate(text)
    if len(tokens) <= most:
        return [text]
    head = _move_back(tokens, 0, most // 2)
    beginning = text[: tokens[head - 1].end]
    parts, start = [], head
    while start < len(tokens):
        end = _move_back(tokens, start, min(start + most - head, len(tokens)))
        parts.append(f"{beginning} {text[tokens[start].start : tokens[end - 1].end]}")
        start = end
    return parts


def _move_back(tokens: Sequence[LocatedToken], start: int, end: int) -> int:
    """Return the last place between two words that is not after ``end``; ``end`` if a word fills all from ``start``."""
    place = end
    while start < place < len(tokens) and tokens[place].word == tokens[place - 1].word:
        place -= 1
    return place if place > start else end


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
