"""BM25 over shards: the hits and scores of one big index (``bm25``), with the memory of one shard at a time.

Shards are counted independently. A word's weight depends on all of them, so the vocabularies are merged, the numbers
added up, and every shard is weighed with those of the whole; a query is scored in each and the best of all are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.shards import Shard
from rejoinder.engines.contract import Engine, Work
from rejoinder.engines.local import LocalEngine
from rejoinder.retrieval import _folder, _sharding, _vocabulary
from rejoinder.retrieval._bm25_shards import KIND, WEIGHTS, Bm25Shards, postings_of, settle
from rejoinder.retrieval._matrix import Weights
from rejoinder.retrieval._passages import load
from rejoinder.retrieval._shard import TURNS
from rejoinder.retrieval._sharded import OPEN, Found, ShardedIndex, parts_of, totals
from rejoinder.retrieval.bm25 import ROLE, Settings
from rejoinder.retrieval.contract import Passage

_WORK = "rejoinder.retrieval._bm25_shards:Bm25Shards"


class _Shard(NamedTuple):
    """The weights of a shard, and which words of the whole its own are."""

    weights: Weights
    numbers: NDArray[np.int64]

    def own(self, query: Mapping[int, int]) -> dict[int, int]:
        """A query in the numbers that its words have here, without those that stand in no passage of the shard."""
        if not len(self.numbers):
            return {}
        wanted = np.fromiter(query, np.int64, len(query))
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        has = self.numbers[places] == wanted
        return {int(p): times for p, times, here in zip(places, query.values(), has, strict=True) if here}


class ShardedBm25Index(ShardedIndex[Mapping[int, int]]):
    """Passages in shards, found by their words: the same as ``Bm25Index``."""

    kind = "bm25"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _folder.read_manifest(folder, KIND))
        self.settings = _folder.settings_of(self.manifest, folder, Settings)
        self._tokens_of = self.settings.tokens_of()
        self._words = _vocabulary.Words(self.manifest.folders(folder, _vocabulary.ROLE)[0])
        self._postings = self.manifest.folders(folder, ROLE)
        self._weights = self.manifest.folders(folder, WEIGHTS)
        if not len(self._postings) == len(self._weights) == self.shards:
            raise _folder.damaged(folder, "its parts do not belong together")
        self._shard = lru_cache(maxsize=OPEN)(self._open)

    @classmethod
    def build(
        cls,
        shards: Sequence[Shard],
        folder: str | Path,
        *,
        k1: float = 0.5,
        b: float = 0.7,
        stop_words: Collection[str] = (),
        split: str | None = None,
        engine: Engine | None = None,
        progress: _sharding.Progress | None = None,
        turns: int = TURNS,
    ) -> ShardedBm25Index:
        """Index the dialogues of data files; a build of the same folder that was stopped is gone on with."""
        settings, target, engine = Settings.of(k1, b, stop_words), Path(folder), engine or LocalEngine()
        _sharding.new_index(target)
        work = Work(_WORK, (str(target.resolve()), asdict(settings), split, turns))
        entries = _sharding.write_shards(shards, work, engine, progress)
        _sharding.finish(target, settle(target, list(parts_of(entries)), totals(entries), settings, engine))
        return cls(target)

    @classmethod
    def open(cls, folder: str | Path) -> ShardedBm25Index:
        """An index that was built before, memory-mapped."""
        return cls(Path(folder))

    def append(self, passages: Iterable[Passage]) -> ShardedBm25Index:
        """The index with more dialogues; only what depends on all shards is computed anew."""
        worker = Bm25Shards(str(self.folder), asdict(self.settings), None)
        self.grow(worker.entries(iter(passages)), LocalEngine())
        return type(self)(self.folder)

    def prepare(self, queries: Sequence[str]) -> list[Counter[int]]:
        """The words of each query that the index knows, in the order in which they come, and how often."""
        return [
            Counter(number for word in self._tokens_of(query) if (number := self._words.find(word)) is not None)
            for query in queries
        ]

    def nearest(
        self,
        shard: int,
        queries: Sequence[Mapping[int, int]],
        k: int,
        handicap: NDArray[np.float32] | None,
        barred: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterator[Found]:
        """For each query, passages among which are the k best of a shard with a score above 0."""
        here = self._shard(shard)
        for query, stretches, floor in zip(queries, barred, least, strict=True):
            own = here.own(query)
            if own:
                yield here.weights.nearest(own, k, handicap, stretches, floor)
            else:
                yield np.empty(0, np.int32), np.empty(0)

    def scores(self, query: str) -> Iterator[NDArray[np.float64]]:
        """The score of every passage, a shard at a time."""
        words = self.prepare([query])[0]
        for number in range(self.shards):
            shard = self._shard(number)
            yield shard.weights.all_scores(shard.own(words))

    def settle(self, parts: Sequence[_folder.Part], counts: Counter[str], engine: Engine) -> _folder.Manifest:
        """The manifest of these shards together."""
        return settle(self.folder, parts, counts, self.settings, engine)

    def _open(self, number: int) -> _Shard:
        folder = self._postings[number]
        weights = Weights(folder, postings_of(folder), load(self._weights[number], "weights"))
        if len(weights.postings.lengths) != len(self.passages_of(number)):
            raise _folder.damaged(folder, "it does not belong to its passages")
        return _Shard(weights, load(self._weights[number], "numbers"))
