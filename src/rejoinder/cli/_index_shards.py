"""An index of shards, from the command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.errors import SpecError

if TYPE_CHECKING:
    from rejoinder.data.shards import Shard
    from rejoinder.engines.contract import Engine
    from rejoinder.types import Dialogue


def data_files(
    file: str, pieces: int | None, output: Path, dialogues: Callable[[str], Iterator[Dialogue]]
) -> list[Shard]:
    """The data files of an index: those that are named, or one dealt out to so many."""
    from rejoinder.data.shards import is_sharded, shards_of
    from rejoinder.retrieval import _sharding

    if pieces is None:
        return shards_of(file)
    if is_sharded(file):
        raise SpecError(f"{file}: is many files already, each a shard of its own; leave out --shards")
    _sharding.new_index(output)
    return _sharding.cut(dialogues(file), pieces, output)


def build(
    kind: str, shards: Sequence[Shard], output: Path, encoder: str, engine: Engine, settings: Mapping[str, Any]
) -> None:
    """Build an index of shards, and say what it took."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.models.encoder import load_encoder
    from rejoinder.retrieval.sharded_bm25 import ShardedBm25Index
    from rejoinder.retrieval.sharded_dense import ShardedDenseIndex
    from rejoinder.retrieval.sharded_graph import GraphIndex

    begun = time.perf_counter()
    found: ShardedBm25Index | ShardedDenseIndex
    with progress_bar("indexing") as progress:
        given = {"engine": engine, "progress": progress, **settings}
        if kind == "bm25":
            found = ShardedBm25Index.build(shards, output, **given)
        else:
            made = GraphIndex if kind == "approximate" else ShardedDenseIndex
            found = made.build(shards, output, load_encoder(encoder, cache=False), **given)
    seconds, n = time.perf_counter() - begun, len(found)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    click.echo(
        f"{output}: {n:,} turns of {found.shards:,} shards indexed in {seconds:.1f} s with {engine.workers} workers: "
        f"{1000 * seconds / n:.3f} s and {1000 * size / n:,.0f} bytes a thousand",
        err=True,
    )
