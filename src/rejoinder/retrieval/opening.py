"""Opening an index of whichever kind it is."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from rejoinder.errors import InputError, brief
from rejoinder.models.contract import Encoder
from rejoinder.retrieval import _bm25_shards
from rejoinder.retrieval._folder import read_manifest, settings_of
from rejoinder.retrieval.bm25 import Bm25Index
from rejoinder.retrieval.dense import DenseIndex, Settings
from rejoinder.retrieval.sharded_bm25 import ShardedBm25Index
from rejoinder.retrieval.sharded_dense import ShardedDenseIndex
from rejoinder.retrieval.sharded_graph import GraphIndex

AnyIndex: TypeAlias = Bm25Index | DenseIndex | ShardedBm25Index | ShardedDenseIndex


def open_index(folder: str | Path, encoder: Encoder | None = None) -> AnyIndex:
    """An index; a dense one is opened with the encoder given, else with the one of the name it was made with."""
    manifest = read_manifest(Path(folder))
    match manifest.kind:
        case Bm25Index.kind:
            return Bm25Index.open(folder)
        case _bm25_shards.KIND:
            return ShardedBm25Index.open(folder)
        case DenseIndex.kind | ShardedDenseIndex.layout | GraphIndex.layout:
            if encoder is None:
                from rejoinder.models.encoder import load_encoder

                encoder = load_encoder(settings_of(manifest, Path(folder), Settings).encoder)
            kinds = {ShardedDenseIndex.layout: ShardedDenseIndex, GraphIndex.layout: GraphIndex}
            return kinds.get(manifest.kind, DenseIndex).open(folder, encoder)
    raise InputError(
        f"{folder}: holds an index of an unknown kind {brief(manifest.kind)}; is rejoinder too old for it?"
    )
