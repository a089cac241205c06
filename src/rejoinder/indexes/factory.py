"""Opening an index of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from rejoinder.errors import InputError, brief
from rejoinder.indexes.one_field.bm25 import Bm25Index
from rejoinder.indexes.one_field.dense import DenseIndex, DenseSettings
from rejoinder.indexes.one_field.folder import parse_index_settings, read_index_manifest
from rejoinder.indexes.sharded import bm25
from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
from rejoinder.indexes.sharded.dense import ShardedDenseIndex
from rejoinder.indexes.sharded.graph import GraphIndex
from rejoinder.models.base import Encoder

AnyIndex: TypeAlias = Bm25Index | DenseIndex | ShardedBm25Index | ShardedDenseIndex


def open_index(folder: str | Path, encoder: Encoder | None = None) -> AnyIndex:
    """Open an index of any kind.

    - ``folder``: the folder of the index.
    - ``encoder``: for a dense index; by default, the encoder whose name is stored in the index.

    >>> import rejoinder
    >>> made = rejoinder.index("dialogues.jsonl", "talk.bm25")
    >>> len(rejoinder.indexes.open_index("talk.bm25")) == len(made)
    True
    """
    manifest = read_index_manifest(Path(folder))
    match manifest.kind:
        case Bm25Index.kind:
            return Bm25Index.open(folder)
        case bm25.KIND:
            return ShardedBm25Index.open(folder)
        case DenseIndex.kind | ShardedDenseIndex.layout | GraphIndex.layout:
            if encoder is None:
                from rejoinder.models.encoder.factory import load_encoder

                encoder = load_encoder(parse_index_settings(manifest, Path(folder), DenseSettings).encoder)
            kinds = {ShardedDenseIndex.layout: ShardedDenseIndex, GraphIndex.layout: GraphIndex}
            return kinds.get(manifest.kind, DenseIndex).open(folder, encoder)
    raise InputError(
        f"{folder}: holds an index of an unknown kind {brief(manifest.kind)}; rejoinder may be too old for it"
    )
