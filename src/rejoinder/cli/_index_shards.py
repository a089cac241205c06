"""An index of shards, from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import SpecError

if TYPE_CHECKING:
    from rejoinder.data.shards.files import Shard
    from rejoinder.engines.base import Engine
    from rejoinder.types import Dialogue


def find_data_files(
    file: str, pieces: int | None, output: Path, dialogues: Callable[[str], Iterator[Dialogue]]
) -> list[Shard]:
    """The data files of an index: those that are named, or one dealt out to so many."""
    from rejoinder.data.shards.files import is_sharded, shards_of
    from rejoinder.indexes.sharded import builder

    if pieces is None:
        return shards_of(file)
    if is_sharded(file):
        raise SpecError(f"{file}: is many files already, each a shard of its own; leave out --shards")
    builder.create_index_folder(output)
    return builder.split_dialogues(dialogues(file), pieces, output)


def build_sharded_index(
    kind: str, shards: Sequence[Shard], output: Path, encoder: str, engine: Engine, settings: Mapping[str, Any]
) -> None:
    """Build an index of shards, and say what it took."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
    from rejoinder.indexes.sharded.dense import ShardedDenseIndex
    from rejoinder.indexes.sharded.graph import GraphIndex
    from rejoinder.models.encoder.factory import load_encoder

    found: ShardedBm25Index | ShardedDenseIndex
    with show_progress("indexing", "bytes", engine) as watch:
        given = {"engine": engine, "progress": watch.progress, **settings}
        if kind == "bm25":
            found = ShardedBm25Index.build(shards, output, **given)
        else:
            made = GraphIndex if kind == "approximate" else ShardedDenseIndex
            found = made.build(shards, output, load_encoder(encoder, cache=False), **given)
    watch.tell(len(found), "turns", output, f" of {found.shards:,} shards indexed into {output}")
