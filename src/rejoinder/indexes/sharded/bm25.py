"""BM25 over shards: the same hits and scores as one big index (``bm25``), with one shard in memory at a time.

Words are counted per shard. A word's weight depends on all shards, so the vocabularies are merged, the counts added up,
and the weights of each shard computed from the totals; a query is scored in each shard and the best hits are merged.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.shards.files import Shard
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.engines.local import LocalEngine
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store
from rejoinder.indexes.one_field.base import Passage
from rejoinder.indexes.one_field.bm25 import ROLE, Bm25Settings
from rejoinder.indexes.one_field.folder import IndexPart
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.indexes.one_field.posting_weights import PostingWeights
from rejoinder.indexes.one_field.postings import (
    IndexTotals,
    Postings,
    Vocabulary,
    number_words,
    sort_postings,
    weigh_postings,
)
from rejoinder.indexes.sharded import builder, dialogue_table, vocabulary
from rejoinder.indexes.sharded import vocabulary as _vocabulary
from rejoinder.indexes.sharded.builder import BUILD_FOLDER, IndexShard, IndexShardWriter
from rejoinder.indexes.sharded.search import (
    MAX_OPEN_SHARDS,
    ShardedIndex,
    ShardHits,
    list_shard_parts,
    sum_shard_counts,
)
from rejoinder.indexes.sharded.shard import SHARD_TURNS, map_dialogues

KIND = "sharded bm25"
WEIGHTS = "weights"
_NUMBERS = "numbers"


class Bm25Shards(IndexShardWriter):
    """Counts the words of shards."""

    address = "Bm25Shards"

    def write(self, passages: Iterator[Passage]) -> IndexShard:
        """Write the passages of one shard, and which passages contain each word."""
        words = Vocabulary()
        tokens_of = Bm25Settings(**self.settings).tokens_of()
        with (
            _folder.new_index_part(self.folder, passage_store.ROLE) as texts,
            _folder.new_index_part(self.folder, ROLE) as counts_part,
        ):
            flat, lengths = number_words(passage_store.record_passages(passages, texts), tokens_of, words)
            dialogues = map_dialogues(texts)
            postings = _save_postings(counts_part, flat, lengths, words)
            counts = {
                "passages": len(lengths),
                "dialogues": dialogues,
                "postings": len(postings.passages),
                "tokens": len(flat),
            }
            return IndexShard(
                (_folder.seal_index_part(texts, passage_store.ROLE), _folder.seal_index_part(counts_part, ROLE)), counts
            )


def _save_postings(folder: Path, flat: Any, lengths: Any, words: Vocabulary) -> Postings:
    """Write postings with the words in sorted order."""
    ordered = sorted(words)
    ranks = np.empty(len(words), np.int32)
    ranks[[words[word] for word in ordered]] = np.arange(len(words), dtype=np.int32)
    postings = sort_postings(ranks[flat], np.repeat(np.arange(len(lengths)), lengths), lengths, len(words))
    _vocabulary.save_words(folder, ordered)
    for name, column in postings._asdict().items():
        np.save(folder / f"{name}.npy", column)
    return postings


def load_postings(folder: Path) -> Postings:
    """Return the postings of a shard, memory-mapped."""
    return Postings(*(load_array(folder, name) for name in Postings._fields))


class Weigher:
    """Computes the weights of shards from the totals of the whole index."""

    def __init__(self, folder: str, settings: Mapping[str, Any], vocabulary: str, passages: int, tokens: int) -> None:
        self._folder, self._settings = Path(folder), Bm25Settings(**settings)
        self._frequencies = load_array(self._folder / vocabulary, "frequencies")
        self._totals = IndexTotals(passages, tokens)

    def compute(self, task: Sequence[str]) -> dict[str, Any]:
        """Return the part with a shard's weights; a task names its postings and the column of its words' numbers."""
        postings, column = self._folder / task[0], Path(task[1])
        with _folder.new_index_part(self._folder, WEIGHTS) as new:
            shutil.copyfile(column, new / f"{_NUMBERS}.npy")
            frequencies = self._frequencies[load_array(new, _NUMBERS)]
            settings = self._settings
            weights = weigh_postings(load_postings(postings), settings.k1, settings.b, self._totals, frequencies)
            np.save(new / "weights.npy", weights)
            return asdict(_folder.seal_index_part(new, WEIGHTS))

    def close(self) -> None:
        """Nothing to release."""


def merge_bm25_shards(
    folder: Path, parts: Sequence[IndexPart], counts: Counter[str], settings: Bm25Settings, engine: Engine
) -> _folder.IndexManifest:
    """Merge the words and dialogues of shards, compute the weights of each, and return the manifest."""
    shards = [part for part in parts if part.role == ROLE]
    texts = [part for part in parts if part.role == passage_store.ROLE]
    with _folder.new_index_part(folder, dialogue_table.ROLE) as new:
        dialogue_table.merge_dialogues([folder / part.name for part in texts], new)
        dialogues = _folder.seal_index_part(new, dialogue_table.ROLE)
    numbers = folder / BUILD_FOLDER / _NUMBERS
    numbers.mkdir(parents=True, exist_ok=True)
    with _folder.new_index_part(folder, _vocabulary.ROLE) as new:
        counts["words"] = _vocabulary.merge_words([folder / part.name for part in shards], new, numbers)
        vocabulary = _folder.seal_index_part(new, _vocabulary.ROLE)
    arguments = (str(folder.resolve()), asdict(settings), vocabulary.name, counts["passages"], counts["tokens"])
    worker = WorkerSpec("rejoinder.indexes.sharded.bm25:Weigher", arguments)
    tasks = [[part.name, str((numbers / f"{number}.npy").resolve())] for number, part in enumerate(shards)]
    weights: list[IndexPart | None] = [None] * len(tasks)
    for result in engine.compute(worker, tasks):
        weights[result.number] = IndexPart(**result.value)
    counts["shards"] = len(shards)
    whole = (*texts, *shards, *(part for part in weights if part is not None), vocabulary, dialogues)
    return _folder.IndexManifest(KIND, asdict(settings), dict(sorted(counts.items())), whole)


_WORK = "rejoinder.indexes.sharded.bm25:Bm25Shards"


class _Bm25Shard(NamedTuple):
    """The weights of a shard, and the numbers that its words have in the whole index."""

    weights: PostingWeights
    numbers: NDArray[np.int64]

    def own(self, query: Mapping[int, int]) -> dict[int, int]:
        """Return a query with the shard's own word numbers, without words that the shard does not contain."""
        if not len(self.numbers):
            return {}
        wanted = np.fromiter(query, np.int64, len(query))
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        has = self.numbers[places] == wanted
        return {int(p): times for p, times, known in zip(places, query.values(), has, strict=True) if known}


class ShardedBm25Index(ShardedIndex[Mapping[int, int]]):
    """An index of passages in shards by their words; it finds the same as ``Bm25Index``."""

    kind = "bm25"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _folder.read_index_manifest(folder, KIND))
        self.settings = _folder.parse_index_settings(self.manifest, folder, Bm25Settings)
        self._tokens_of = self.settings.tokens_of()
        self._words = vocabulary.WordIndex(self.manifest.folders(folder, vocabulary.ROLE)[0])
        self._postings = self.manifest.folders(folder, ROLE)
        self._weights = self.manifest.folders(folder, WEIGHTS)
        if not len(self._postings) == len(self._weights) == self.shards:
            raise _folder.index_damage_error(folder, "its parts do not match")
        self._shard = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open)

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
        progress: builder.Progress | None = None,
        turns: int = SHARD_TURNS,
    ) -> ShardedBm25Index:
        """Index the dialogues of data files; an interrupted build of the same folder is resumed."""
        settings, target, engine = Bm25Settings.of(k1, b, stop_words), Path(folder), engine or LocalEngine()
        builder.create_index_folder(target)
        work = WorkerSpec(_WORK, (str(target.resolve()), asdict(settings), split, turns))
        entries = builder.write_index_shards(shards, work, engine, progress)
        builder.finish_index(
            target,
            merge_bm25_shards(target, list(list_shard_parts(entries)), sum_shard_counts(entries), settings, engine),
        )
        return cls(target)

    @classmethod
    def open(cls, folder: str | Path) -> ShardedBm25Index:
        """Open an index that was built before, memory-mapped."""
        return cls(Path(folder))

    def append(self, passages: Iterable[Passage]) -> ShardedBm25Index:
        """Return the index with more dialogues added; only what depends on all shards is recomputed."""
        worker = Bm25Shards(str(self.folder), asdict(self.settings), None)
        self.grow(worker.entries(iter(passages)), LocalEngine())
        return type(self)(self.folder)

    def prepare(self, queries: Sequence[str]) -> list[Counter[int]]:
        """Return the words of each query that the index knows, in query order, with their counts."""
        return [
            Counter(number for word in self._tokens_of(query) if (number := self._words.find(word)) is not None)
            for query in queries
        ]

    def nearest(
        self,
        shard: int,
        queries: Sequence[Mapping[int, int]],
        k: int,
        mask: NDArray[np.float32] | None,
        excluded_ranges: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterator[ShardHits]:
        """For each query, yield passages that include the k best of a shard with a score above 0."""
        opened_shard = self._shard(shard)
        for query, ranges, floor in zip(queries, excluded_ranges, least, strict=True):
            own = opened_shard.own(query)
            if own:
                yield opened_shard.weights.nearest(own, k, mask, ranges, floor)
            else:
                yield np.empty(0, np.int32), np.empty(0)

    def scores(self, query: str) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of all passages, one shard at a time."""
        words = self.prepare([query])[0]
        for number in range(self.shards):
            shard = self._shard(number)
            yield shard.weights.all_scores(shard.own(words))

    def settle(self, parts: Sequence[_folder.IndexPart], counts: Counter[str], engine: Engine) -> _folder.IndexManifest:
        """Return the manifest of these shards together."""
        return merge_bm25_shards(self.folder, parts, counts, self.settings, engine)

    def _open(self, number: int) -> _Bm25Shard:
        folder = self._postings[number]
        weights = PostingWeights(folder, load_postings(folder), load_array(self._weights[number], "weights"))
        if len(weights.postings.lengths) != len(self.passages_of(number)):
            raise _folder.index_damage_error(folder, "it does not match its passages")
        return _Bm25Shard(weights, load_array(self._weights[number], "numbers"))
