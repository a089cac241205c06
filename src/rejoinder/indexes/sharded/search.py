"""What sharded indexes have in common: shards opened as needed, and a search over all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.engines.base import Engine
from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store
from rejoinder.indexes.one_field.base import Hit, check_search_arguments
from rejoinder.indexes.sharded import builder, dialogue_table
from rejoinder.indexes.sharded.dialogue_table import DialogueTable
from rejoinder.indexes.sharded.shard import ShardPassages, shard_split_names


class ShardFilter:
    """The passages of a split and of some dialogues; each query excludes some dialogues and their copies."""

    def __init__(
        self,
        dialogues: DialogueTable,
        split: str | None,
        only_dialogues: Collection[str] | None,
        exclude_dialogues: Sequence[Collection[str]],
    ) -> None:
        self._split = split
        self._only = None if only_dialogues is None else np.sort(np.array(dialogues.find(only_dialogues), np.int64))
        self._firsts = dialogues.firsts
        self._excluded: dict[tuple[int, int], list[int]] = {}  # by shard and query
        for query, names in enumerate(exclude_dialogues):
            for shard, dialogue in dialogues.copies(names) if names else ():
                self._excluded.setdefault((shard, query), []).append(dialogue)

    def mask(self, number: int, shard: ShardPassages) -> NDArray[np.float32] | None:
        """Return what is added to a shard's scores, minus infinity for what must not be found; None if all may be."""
        if self._split is None and self._only is None:
            return None
        allowed = np.ones(shard.dialogues, np.bool_)
        if self._split is not None:
            allowed &= shard.splits == _split_number(shard.split_names, self._split)
        if self._only is not None:
            first, end = self._firsts[number : number + 2]
            own = self._only[(self._only >= first) & (self._only < end)] - first
            selected = np.zeros(shard.dialogues, np.bool_)
            selected[own] = True
            allowed &= selected
        penalties = np.where(allowed, np.float32(0), np.float32(-np.inf))
        return np.repeat(penalties, np.diff(shard.starts))

    def excluded_ranges(self, number: int, shard: ShardPassages, query: int) -> list[slice]:
        """Return the ranges of a shard that a query must not find."""
        numbers = self._excluded.get((number, query), ())
        return [slice(int(shard.starts[n]), int(shard.starts[n + 1])) for n in numbers]


def check_index_split(split: str | None, names: Iterable[str | None]) -> None:
    """Raise if no passage of the index belongs to a split."""
    if split is not None and split not in (known := set(names)):
        hint = nearest(split, [name for name in known if name is not None])
        raise SpecError(f"no passage of the index belongs to the split {split!r}; {hint}")


def _split_number(names: Sequence[str | None], split: str) -> int:
    return names.index(split) if split in names else -1


class BestHits:
    """The best hits so far for one query; ``least`` is the score that a passage must reach to be among them."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._top = np.empty(0)
        self._shard_hits: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        self.least = -np.inf

    def add(self, shard: int, numbers: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Add the best of a shard, at most k, ties broken by dialogue and turn."""
        if not len(numbers):
            return
        self._shard_hits.append((shard, numbers, scores))
        self._top = np.sort(np.concatenate([self._top, scores]))[-self._k :]
        if len(self._top) == self._k:
            self.least = float(self._top[0])

    def hits(self, shard_of: Callable[[int], ShardPassages]) -> list[Hit]:
        """Return the k best of all shards, best first, ties by dialogue and turn."""
        candidates = []
        for number, numbers, scores in self._shard_hits:
            reaching = scores >= self.least
            if reaching.any():
                shard = shard_of(number)
                candidates += [
                    shard.hit(int(n), float(s)) for n, s in zip(numbers[reaching], scores[reaching], strict=True)
                ]
        return sorted(candidates, key=lambda hit: (-hit.score, hit.dialogue, hit.turn))[: self._k]


Query = TypeVar("Query")
ShardHits = tuple[NDArray[Any], NDArray[np.float64]]  # numbers of passages, and their scores
MAX_OPEN_SHARDS = 48  # at the same time: each takes a dozen of the files that a process may have open
_QUERIES = 256  # searched in a shard at once


class ShardedIndex(ABC, Generic[Query]):
    """An index whose passages are in shards."""

    kind: ClassVar[str]

    def __init__(self, folder: Path, manifest: _folder.IndexManifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._texts = manifest.folders(folder, passage_store.ROLE)
        self.passages_of = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open_passages)
        self._dialogues = dialogue_table.DialogueTable(
            manifest.folders(folder, dialogue_table.ROLE)[0], self.passages_of
        )
        if len(self._dialogues.firsts) != len(self._texts) + 1:
            raise _folder.index_damage_error(folder, "its parts do not match")

    def __len__(self) -> int:
        return self.manifest.counts["passages"]

    @property
    def shards(self) -> int:
        """The number of shards."""
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
        """Return the best hits of each query, best first; see ``base.Index``."""
        check_search_arguments(queries, k, exclude_dialogues)
        if split is not None:
            check_index_split(split, (name for folder in self._texts for name in shard_split_names(folder)))
        excluded = exclude_dialogues or [()] * len(queries)
        hits: list[list[Hit]] = []
        for begin in range(0, len(queries), _QUERIES):
            some = slice(begin, begin + _QUERIES)
            allowed = ShardFilter(self._dialogues, split, only_dialogues, excluded[some])
            hits += self._search(self.prepare(queries[some]), k, allowed)
        return hits

    def _search(self, queries: Sequence[Query], k: int, allowed: ShardFilter) -> list[list[Hit]]:
        best = [BestHits(k) for _ in queries]
        for number in range(self.shards):
            shard = self.passages_of(number)
            mask = allowed.mask(number, shard)
            if mask is not None and mask.max() < 0:
                continue
            excluded_ranges = [allowed.excluded_ranges(number, shard, query) for query in range(len(queries))]
            least = [one.least for one in best]
            for one, (numbers, scores) in zip(
                best, self.nearest(number, queries, k, mask, excluded_ranges, least), strict=True
            ):
                one.add(number, *shard.order(numbers, scores, k))
        return [one.hits(self.passages_of) for one in best]

    @abstractmethod
    def prepare(self, queries: Sequence[str]) -> Sequence[Query]:
        """Return the queries in the form in which shards are searched."""

    @abstractmethod
    def nearest(
        self,
        shard: int,
        queries: Sequence[Query],
        k: int,
        mask: NDArray[np.float32] | None,
        excluded_ranges: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterable[ShardHits]:
        """For each query, yield passages that include the k best of a shard; below ``least`` some may be missing."""

    def _open_passages(self, number: int) -> ShardPassages:
        return ShardPassages(self._texts[number])

    def grow(self, entries: Sequence[builder.IndexShard], engine: Engine) -> None:
        """Add shards to the index; an error leaves the index as it was."""
        if not entries:
            raise InputError("there is no passage to index; check the name of the split")
        before = self.manifest
        counts = sum_shard_counts(entries)
        counts.update({name: n for name, n in before.counts.items() if name in counts})
        new_parts = tuple(part for entry in entries for part in entry.parts)
        try:
            manifest = self.settle((*before.parts, *new_parts), counts, engine)
            builder.finish_index(self.folder, manifest, before)
        except BaseException:
            _folder.remove_index_parts(self.folder, _folder.IndexManifest(before.kind, {}, {}, new_parts), before)
            raise

    @abstractmethod
    def settle(self, parts: Sequence[_folder.IndexPart], counts: Counter[str], engine: Engine) -> _folder.IndexManifest:
        """Return the manifest of these shards together."""


def sum_shard_counts(entries: Iterable[builder.IndexShard]) -> Counter[str]:
    """Return the counts of all shards together."""
    totals: Counter[str] = Counter()
    for entry in entries:
        totals.update(entry.counts)
    return totals


def list_shard_parts(entries: Iterable[builder.IndexShard]) -> Iterator[_folder.IndexPart]:
    """Yield the parts of all shards."""
    for entry in entries:
        yield from entry.parts
