"""Which passages a search may find, as what is added to every score: 0 for those it may, minus infinity for others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError, nearest
from rejoinder.indexes.passage_store import PassageStore


class PassageFilter:
    """The passages of a split and of some dialogues; single queries may leave out more."""

    def __init__(self, passages: PassageStore, split: str | None, only_dialogues: Collection[str] | None) -> None:
        self._passages = passages
        self.handicap: NDArray[np.float32] = np.zeros(len(passages), np.float32)
        if split is not None:
            if split not in passages.split_names:
                known = [name for name in passages.split_names if name is not None]
                raise SpecError(f"no passage of the index is of the split {split!r}; {nearest(split, known)}")
            self._bar(passages.splits != passages.split_names.index(split))
        if only_dialogues is not None:
            wrong = np.ones(len(passages.ids), np.bool_)
            wrong[self._numbers(only_dialogues)] = False
            self._bar(wrong)

    def _bar(self, dialogues: NDArray[np.bool_]) -> None:
        self.handicap[dialogues[self._passages.dialogue_of]] = -np.inf

    @contextmanager
    def without(self, dialogues: Collection[str]) -> Iterator[NDArray[np.float32]]:
        """The handicap where these dialogues and their exact copies are left out too, for the length of a block."""
        stretches = self.stretches(dialogues)
        before = [self.handicap[stretch].copy() for stretch in stretches]
        for stretch in stretches:
            self.handicap[stretch] = -np.inf
        try:
            yield self.handicap
        finally:
            for stretch, values in zip(stretches, before, strict=True):
                self.handicap[stretch] = values

    def stretches(self, dialogues: Collection[str]) -> list[slice]:
        """Where the passages of these dialogues are, and those of all dialogues that say the same."""
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


def lower_bound(scores: NDArray[np.float32], k: int) -> float:
    """A value that at least k of the scores reach, little below the k-th largest; minus infinity where k are not there.

    The k-th largest of the maxima of groups will do, since groups share no score, and costs a thirtieth of a partition
    of all scores.
    """
    groups = max(_GROUPS, _GROUPS_PER_HIT * k)
    rows = len(scores) // groups
    if rows > 1:
        scores = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    if k > len(scores):
        return -np.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
