"""Searching shard by shard: what each may find, and the best of all of them, the same as if they were one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError, nearest
from rejoinder.retrieval._dialogues import Dialogues
from rejoinder.retrieval._shard import ShardPassages
from rejoinder.retrieval.contract import Hit


class ShardFilter:
    """The passages of a split and of some dialogues, without some dialogues and their copies for each query."""

    def __init__(
        self,
        dialogues: Dialogues,
        split: str | None,
        only_dialogues: Collection[str] | None,
        exclude_dialogues: Sequence[Collection[str]],
    ) -> None:
        self._split = split
        self._only = None if only_dialogues is None else np.sort(np.array(dialogues.find(only_dialogues), np.int64))
        self._firsts = dialogues.firsts
        self._barred: dict[tuple[int, int], list[int]] = {}  # by shard and query
        for query, names in enumerate(exclude_dialogues):
            for shard, dialogue in dialogues.copies(names) if names else ():
                self._barred.setdefault((shard, query), []).append(dialogue)

    def handicap(self, number: int, shard: ShardPassages) -> NDArray[np.float32] | None:
        """What is added to the scores of a shard: minus infinity for what must not be found; None for nothing."""
        if self._split is None and self._only is None:
            return None
        allowed = np.ones(shard.dialogues, np.bool_)
        if self._split is not None:
            allowed &= shard.splits == _place(shard.split_names, self._split)
        if self._only is not None:
            first, end = self._firsts[number : number + 2]
            own = self._only[(self._only >= first) & (self._only < end)] - first
            here = np.zeros(shard.dialogues, np.bool_)
            here[own] = True
            allowed &= here
        penalties = np.where(allowed, np.float32(0), np.float32(-np.inf))
        return np.repeat(penalties, np.diff(shard.starts))

    def barred(self, number: int, shard: ShardPassages, query: int) -> list[slice]:
        """The stretches of a shard that a query must not find."""
        numbers = self._barred.get((number, query), ())
        return [slice(int(shard.starts[n]), int(shard.starts[n + 1])) for n in numbers]


def check_split(split: str | None, names: Iterable[str | None]) -> None:
    """Raise where no passage of the index is of a split."""
    if split is not None and split not in (known := set(names)):
        hint = nearest(split, [name for name in known if name is not None])
        raise SpecError(f"no passage of the index is of the split {split!r}; {hint}")


def _place(names: Sequence[str | None], split: str) -> int:
    return names.index(split) if split in names else -1


class Best:
    """The best of the shards seen so far for one query; ``least`` is what a passage must reach to be among them."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._top = np.empty(0)
        self._found: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        self.least = -np.inf

    def add(self, shard: int, numbers: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Take in the best of a shard, k at most, ties broken by dialogue and turn."""
        if not len(numbers):
            return
        self._found.append((shard, numbers, scores))
        self._top = np.sort(np.concatenate([self._top, scores]))[-self._k :]
        if len(self._top) == self._k:
            self.least = float(self._top[0])

    def hits(self, shard_of: Callable[[int], ShardPassages]) -> list[Hit]:
        """The k best of all, best first, ties by dialogue and turn."""
        found = []
        for number, numbers, scores in self._found:
            kept = scores >= self.least
            if kept.any():
                shard = shard_of(number)
                found += [shard.hit(int(n), float(s)) for n, s in zip(numbers[kept], scores[kept], strict=True)]
        return sorted(found, key=lambda hit: (-hit.score, hit.dialogue, hit.turn))[: self._k]
