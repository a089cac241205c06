"""What indexes of shards have in common: shards that are opened as they are needed, and a search over all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.engines.contract import Engine
from rejoinder.errors import InputError
from rejoinder.retrieval import _dialogues, _folder, _passages, _sharding
from rejoinder.retrieval._shard import ShardPassages, split_names
from rejoinder.retrieval._shard_search import Best, ShardFilter, check_split
from rejoinder.retrieval.contract import Hit, check_search

Query = TypeVar("Query")
Found = tuple[NDArray[Any], NDArray[np.float64]]  # numbers of passages, and their scores
OPEN = 48  # shards that stay open: each takes a dozen of the files that a process may have open
_QUERIES = 256  # asked of a shard at a time


class ShardedIndex(ABC, Generic[Query]):
    """An index whose passages lie in shards."""

    kind: ClassVar[str]

    def __init__(self, folder: Path, manifest: _folder.Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._texts = manifest.folders(folder, _passages.ROLE)
        self.passages_of = lru_cache(maxsize=OPEN)(self._open_passages)
        self._dialogues = _dialogues.Dialogues(manifest.folders(folder, _dialogues.ROLE)[0], self.passages_of)
        if len(self._dialogues.firsts) != len(self._texts) + 1:
            raise _folder.damaged(folder, "its parts do not belong together")

    def __len__(self) -> int:
        return self.manifest.counts["passages"]

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return len(self._texts)

    def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        split: str | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        only_dialogues: Collection[str] | None = None,
    ) -> list[list[Hit]]:
        """The best hits of each query, best first; see ``contract.Index``."""
        check_search(queries, k, exclude_dialogues)
        if split is not None:
            check_split(split, (name for folder in self._texts for name in split_names(folder)))
        excluded = exclude_dialogues or [()] * len(queries)
        found: list[list[Hit]] = []
        for begin in range(0, len(queries), _QUERIES):
            some = slice(begin, begin + _QUERIES)
            allowed = ShardFilter(self._dialogues, split, only_dialogues, excluded[some])
            found += self._search(self.prepare(queries[some]), k, allowed)
        return found

    def _search(self, queries: Sequence[Query], k: int, allowed: ShardFilter) -> list[list[Hit]]:
        best = [Best(k) for _ in queries]
        for number in range(self.shards):
            shard = self.passages_of(number)
            handicap = allowed.handicap(number, shard)
            if handicap is not None and handicap.max() < 0:
                continue
            barred = [allowed.barred(number, shard, query) for query in range(len(queries))]
            least = [one.least for one in best]
            for one, (numbers, scores) in zip(
                best, self.nearest(number, queries, k, handicap, barred, least), strict=True
            ):
                one.add(number, *shard.order(numbers, scores, k))
        return [one.hits(self.passages_of) for one in best]

    @abstractmethod
    def prepare(self, queries: Sequence[str]) -> Sequence[Query]:
        """The queries as shards compare with them."""

    @abstractmethod
    def nearest(
        self,
        shard: int,
        queries: Sequence[Query],
        k: int,
        handicap: NDArray[np.float32] | None,
        barred: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterable[Found]:
        """For each query, passages among which are the k best of a shard; below ``least`` some may be missing."""

    def _open_passages(self, number: int) -> ShardPassages:
        return ShardPassages(self._texts[number])

    def grow(self, entries: Sequence[_sharding.Entry], engine: Engine) -> None:
        """Put more shards to those that are there; an error leaves the index as it was."""
        if not entries:
            raise InputError("there is no passage to index; is the split named rightly?")
        before = self.manifest
        counts = totals(entries)
        counts.update({name: n for name, n in before.counts.items() if name in counts})
        added = tuple(part for entry in entries for part in entry.parts)
        try:
            manifest = self.settle((*before.parts, *added), counts, engine)
            _sharding.finish(self.folder, manifest, before)
        except BaseException:
            _folder.remove(self.folder, _folder.Manifest(before.kind, {}, {}, added), before)
            raise

    @abstractmethod
    def settle(self, parts: Sequence[_folder.Part], counts: Counter[str], engine: Engine) -> _folder.Manifest:
        """The manifest of these shards together."""


def totals(entries: Iterable[_sharding.Entry]) -> Counter[str]:
    """What is in all shards together."""
    found: Counter[str] = Counter()
    for entry in entries:
        found.update(entry.counts)
    return found


def parts_of(entries: Iterable[_sharding.Entry]) -> Iterator[_folder.Part]:
    """The parts of all shards."""
    for entry in entries:
        yield from entry.parts
