"""Which passages a search may find, as a mask that is added to the scores: 0 for those, minus infinity for others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError, nearest
from rejoinder.indexes.one_field.passage_store import PassageStore


class PassageFilter:
    """The passages of a split and of some dialogues; each query may exclude more."""

    def __init__(self, passages: PassageStore, split: str | None, only_dialogues: Collection[str] | None) -> None:
        self._passages = passages
        self.is_limited = split is not None or only_dialogues is not None
        if split is not None:
            if split not in passages.split_names:
                known = [name for name in passages.split_names if name is not None]
                raise SpecError(f"no passage of the index belongs to the split {split!r}; {nearest(split, known)}")
            self._exclude(passages.splits != passages.split_names.index(split))
        if only_dialogues is not None:
            excluded = np.ones(len(passages.ids), np.bool_)
            excluded[self._numbers(only_dialogues)] = False
            self._exclude(excluded)

    @cached_property
    def mask(self) -> NDArray[np.float32]:
        """The mask without what queries exclude."""
        return np.zeros(len(self._passages), np.float32)

    def _exclude(self, dialogues: NDArray[np.bool_]) -> None:
        self.mask[dialogues[self._passages.dialogue_of]] = -np.inf

    @contextmanager
    def without(self, dialogues: Collection[str]) -> Iterator[NDArray[np.float32]]:
        """Provide the mask with these dialogues and their exact copies excluded too."""
        ranges = self.ranges(dialogues)
        before = [self.mask[passages].copy() for passages in ranges]
        for passages in ranges:
            self.mask[passages] = -np.inf
        try:
            yield self.mask
        finally:
            for passages, values in zip(ranges, before, strict=True):
                self.mask[passages] = values

    def ranges(self, dialogues: Collection[str]) -> list[slice]:
        """Return the ranges of the passages of these dialogues, and of all dialogues with the same texts."""
        starts = self._passages.starts
        return [slice(int(starts[n]), int(starts[n + 1])) for n in self._copies(self._numbers(dialogues))]

    def _copies(self, numbers: list[int]) -> set[int]:
        if not numbers:
            return set()
        order, digests = self._passages.by_digest
        wanted = self._passages.digests[numbers]
        begins, ends = np.searchsorted(digests, wanted, side="left"), np.searchsorted(digests, wanted, side="right")
        return {int(n) for begin, end in zip(begins, ends, strict=True) for n in order[begin:end]}

    def _numbers(self, dialogues: Collection[str]) -> list[int]:
        numbers = self._passages.numbers
        return [numbers[name] for name in dialogues if name in numbers]


_GROUPS = 1024
_GROUPS_PER_HIT = 16


def score_lower_bound(scores: NDArray[np.float32], k: int) -> float:
    """Return a value that at least k scores reach, a little below the k-th largest; minus infinity if there are fewer.

    The k-th largest maximum of disjoint groups is such a value, and costs a thirtieth of a partition of all scores.
    """
    groups = max(_GROUPS, _GROUPS_PER_HIT * k)
    rows = len(scores) // groups
    if rows > 1:
        scores = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    if k > len(scores):
        return -np.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
