"""``rejoinder index build`` over many files: an index of shards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rejoinder.errors import SpecError

if TYPE_CHECKING:
    from rejoinder.data.shards.files import Shard
    from rejoinder.engines.base import Engine
    from rejoinder.types import Dialogue


@dataclass(frozen=True)
class IndexOptions:
    """How an index is built; each kind uses some of these."""

    kind: str
    split: str | None
    k1: float
    b: float
    stop_words: Collection[str]
    encoder: str
    precision: Literal["int8", "float16", "float32"]
    approximate: bool


def find_data_files(
    file: str, pieces: int | None, output: Path, dialogues: Callable[[str], Iterator[Dialogue]]
) -> list[Shard]:
    """The data files of an index: those that are named, or one file split into ``pieces``."""
    from rejoinder.data.shards.files import is_sharded, shards_of
    from rejoinder.indexes.sharded import builder

    if pieces is None:
        return shards_of(file)
    if is_sharded(file):
        raise SpecError(f"{file}: already means many files, each a shard of its own; leave out --shards")
    builder.create_index_folder(output)
    return builder.split_dialogues(dialogues(file), pieces, output)


def build_sharded_index(shards: Sequence[Shard], output: Path, engine: Engine, options: IndexOptions) -> None:
    """Build an index of shards, and print what it cost."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
    from rejoinder.indexes.sharded.dense import ShardedDenseIndex
    from rejoinder.indexes.sharded.graph import GraphIndex
    from rejoinder.models.encoder.factory import load_encoder

    index: ShardedBm25Index | ShardedDenseIndex
    with show_progress("indexing", "bytes", engine) as reporter:
        if options.kind == "bm25":
            index = ShardedBm25Index.build(
                shards,
                output,
                k1=options.k1,
                b=options.b,
                stop_words=options.stop_words,
                split=options.split,
                engine=engine,
                progress=reporter.progress,
            )
        else:
            kind = GraphIndex if options.approximate else ShardedDenseIndex
            index = kind.build(
                shards,
                output,
                load_encoder(options.encoder, cache=False),
                precision=options.precision,
                split=options.split,
                engine=engine,
                progress=reporter.progress,
            )
    note = f" of {index.shards:,} shards indexed into {output}"
    reporter.print_summary(len(index), "turns", output, note)
