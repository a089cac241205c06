"""Dense search over shards: the same hits and cosines as one big index (``dense``), one shard at a time, exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.shards.files import Shard
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import SpecError
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store, vector_store
from rejoinder.indexes.one_field.base import Passage
from rejoinder.indexes.one_field.dense import ROLE, DenseSettings, check_encoder, find_nearest
from rejoinder.indexes.sharded import builder, dialogue_table
from rejoinder.indexes.sharded.builder import IndexShard, IndexShardWriter
from rejoinder.indexes.sharded.search import (
    MAX_OPEN_SHARDS,
    ShardedIndex,
    ShardHits,
    list_shard_parts,
    sum_shard_counts,
)
from rejoinder.indexes.sharded.shard import SHARD_TURNS, map_dialogues
from rejoinder.models.base import Encoder

if TYPE_CHECKING:
    from typing import Self


class DenseShards(IndexShardWriter):
    """Encodes shards; the encoder is loaded once."""

    address = "DenseShards"

    def __init__(
        self,
        folder: str,
        settings: Mapping[str, Any],
        split: str | None,
        turns: int = SHARD_TURNS,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(folder, settings, split, turns)
        dense_settings = DenseSettings(**settings)
        if encoder is None:
            from rejoinder.models.encoder.factory import load_encoder

            encoder = load_encoder(dense_settings.encoder, cache=False)
        if encoder.digest != dense_settings.digest:
            raise SpecError(f"the encoder {dense_settings.encoder!r} is not the same on every machine; reinstall it")
        self.encoder, self._precision = encoder, dense_settings.precision

    @staticmethod
    def check() -> None:
        """Raise if a package that the work needs is missing."""

    def write(self, passages: Iterator[Passage]) -> IndexShard:
        """Write the passages of one shard, and their vectors."""
        with (
            _folder.new_index_part(self.folder, passage_store.ROLE) as texts,
            _folder.new_index_part(self.folder, ROLE) as vectors,
        ):
            count = vector_store.write_index_vectors(
                passage_store.record_passages(passages, texts), vectors, self.encoder, self._precision
            )
            counts = {"passages": count, "dialogues": map_dialogues(texts)}
            return IndexShard(
                (_folder.seal_index_part(texts, passage_store.ROLE), _folder.seal_index_part(vectors, ROLE)), counts
            )


class ShardedDenseIndex(ShardedIndex[NDArray[np.float32]]):
    """An index of passages in shards by their vectors; it finds the same as ``DenseIndex``."""

    kind = "dense"
    layout: ClassVar[str] = "sharded dense"
    worker: ClassVar[type[DenseShards]] = DenseShards

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        super().__init__(folder, _folder.read_index_manifest(folder, self.layout))
        self.encoder = encoder
        self.settings = _folder.parse_index_settings(self.manifest, folder, DenseSettings)
        check_encoder(folder, self.settings, encoder)
        self._vectors = self.manifest.folders(folder, ROLE)
        if len(self._vectors) != self.shards:
            raise _folder.index_damage_error(folder, "its parts do not match")
        self.store_of = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open)

    @classmethod
    def build(
        cls,
        shards: Sequence[Shard],
        folder: str | Path,
        encoder: Encoder,
        *,
        precision: vector_store.Precision = "float16",
        split: str | None = None,
        engine: Engine | None = None,
        progress: builder.Progress | None = None,
        turns: int = SHARD_TURNS,
    ) -> Self:
        """Index the dialogues of data files; workers load the encoder by its name.

        An interrupted build of the same folder is resumed.
        """
        cls.worker.check()
        settings, target = DenseSettings(encoder.name, encoder.digest, precision), Path(folder)
        builder.create_index_folder(target)
        arguments = (str(target.resolve()), asdict(settings), split, turns)
        work = WorkerSpec(f"{cls.worker.__module__}:{cls.worker.__name__}", arguments)
        entries = builder.write_index_shards(shards, work, engine or LocalEngine(), progress)
        builder.finish_index(
            target, cls._merge(target, list(list_shard_parts(entries)), sum_shard_counts(entries), settings)
        )
        return cls(target, encoder)

    @classmethod
    def open(cls, folder: str | Path, encoder: Encoder) -> Self:
        """Open an index that was built before with this encoder, memory-mapped."""
        return cls(Path(folder), encoder)

    def append(self, passages: Iterable[Passage]) -> Self:
        """Return the index with more dialogues added; what is already there is not touched."""
        worker = self.worker(str(self.folder), asdict(self.settings), None, encoder=self.encoder)
        self.grow(worker.entries(iter(passages)), LocalEngine())
        return type(self)(self.folder, self.encoder)

    def prepare(self, queries: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        """Return the vectors of the queries."""
        return list(vector_store.encode_index_texts(self.encoder, queries, "left"))

    def nearest(
        self,
        shard: int,
        queries: Sequence[NDArray[np.float32]],
        k: int,
        mask: NDArray[np.float32] | None,
        excluded_ranges: Sequence[Sequence[slice]],
        least: Sequence[float],
    ) -> Iterator[ShardHits]:
        """For each query, yield passages that include the k nearest of a shard."""
        return find_nearest(self.store_of(shard), np.stack(queries), k, mask, excluded_ranges, least)

    def settle(self, parts: Sequence[_folder.IndexPart], counts: Counter[str], engine: Engine) -> _folder.IndexManifest:
        """Return the manifest of these shards together."""
        return self._merge(self.folder, parts, counts, self.settings)

    @classmethod
    def _merge(
        cls, folder: Path, parts: Sequence[_folder.IndexPart], counts: Counter[str], settings: DenseSettings
    ) -> _folder.IndexManifest:
        shards = [part for part in parts if part.role != dialogue_table.ROLE]
        texts = [folder / part.name for part in shards if part.role == passage_store.ROLE]
        with _folder.new_index_part(folder, dialogue_table.ROLE) as new:
            dialogue_table.merge_dialogues(texts, new)
            dialogues = _folder.seal_index_part(new, dialogue_table.ROLE)
        counts["shards"] = len(texts)
        return _folder.IndexManifest(cls.layout, asdict(settings), dict(sorted(counts.items())), (*shards, dialogues))

    def _open(self, number: int) -> vector_store.VectorStore:
        store = vector_store.VectorStore([self._vectors[number]], self.encoder.dimensions)
        if len(store) != len(self.passages_of(number)):
            raise _folder.index_damage_error(self._vectors[number], "it does not match its passages")
        return store
