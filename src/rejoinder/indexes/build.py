"""Building an index of any kind over the dialogues of one or many files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rejoinder.data.inputs import Input
from rejoinder.data.shards.files import Shard, fetch_local, is_sharded, shards_of
from rejoinder.engines.base import Engine
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, SpecError
from rejoinder.indexes.factory import AnyIndex
from rejoinder.indexes.one_field.base import Passage, passages
from rejoinder.indexes.one_field.bm25 import Bm25Index
from rejoinder.indexes.one_field.dense import DenseIndex
from rejoinder.indexes.sharded import builder
from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
from rejoinder.indexes.sharded.dense import ShardedDenseIndex
from rejoinder.indexes.sharded.graph import GraphIndex
from rejoinder.models.encoder import factory
from rejoinder.text.tokens import FUNCTION_WORDS
from rejoinder.types import Dialogue

Progress: TypeAlias = Callable[[int, int], None]
_PROGRESS_EVERY = 1_000  # turns between two calls of progress


def index(
    file: str | Path,
    folder: str | Path,
    *,
    kind: Literal["bm25", "dense"] = "bm25",
    split: str | None = None,
    k1: float = 0.5,
    b: float = 0.7,
    stop_words: Literal["none", "english"] = "none",
    encoder: str = "aptness",
    precision: Literal["int8", "float16", "float32"] = "float32",
    approximate: bool = False,
    shards: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> AnyIndex:
    """Build an index over the turns of dialogues, by words (bm25) or by meaning (dense); ``open_index`` reopens it.

    - ``file``: the dialogues: a file, ``dataset:NAME``, or a folder, a pattern or an address of many files.
    - ``folder``: where the index is written.
    - ``kind``: how turns are compared, ``bm25`` or ``dense``.
    - ``split``: only the dialogues of this split.
    - ``k1``: bm25: how much repetitions of a word count; the smaller, the less.
    - ``b``: bm25: how much long turns are penalised.
    - ``stop_words``: bm25: words that do not count, ``none`` or ``english``.
    - ``encoder``: dense: the encoder.
    - ``precision``: dense: of the stored vectors.
    - ``approximate``: dense: search a graph instead of comparing everything.
    - ``shards``: split one file into this many shards.
    - ``engine``: what builds shards; by default one process.
    - ``progress``: called with the turns done (for shards, the bytes) and the total, which is 0 if unknown.

    >>> import rejoinder
    >>> index = rejoinder.index("dialogues.jsonl", "dialogues.bm25")
    >>> [len(hits) <= 3 for hits in index.search(["do you like tea"], k=3)]
    [True]
    """
    file, folder = str(file), Path(folder)
    if approximate and kind != "dense":
        raise SpecError("approximate is only for an index of vectors; set kind to dense, or leave out approximate")
    left_out = FUNCTION_WORDS if stop_words == "english" else ()
    if shards is not None or approximate or is_sharded(file):
        settings: dict[str, Any] = {"split": split, "engine": engine or LocalEngine(1), "progress": progress}
        settings |= {"k1": k1, "b": b, "stop_words": left_out} if kind == "bm25" else {"precision": precision}
        pieces = 1 if approximate and shards is None and not is_sharded(file) else shards
        index_kind = "approximate" if approximate else kind
        return _index_shards(index_kind, _find_data_files(file, pieces, folder), folder, encoder, settings)
    turns = _read_passages(file, split, progress)
    if kind == "bm25":
        return Bm25Index.build(turns, folder, k1=k1, b=b, stop_words=left_out)
    return DenseIndex.build(turns, folder, factory.load_encoder(encoder, cache=False), precision=precision)


def extend_index(
    opened_index: AnyIndex, file: str | Path, split: str | None = None, progress: Progress | None = None
) -> AnyIndex:
    """Return an index with the dialogues of a file added."""
    return opened_index.append(_read_passages(str(file), split, progress))


def _find_data_files(file: str, pieces: int | None, folder: Path) -> list[Shard]:
    """Return the data files of an index: those that ``file`` names, or one file split into ``pieces``."""
    if pieces is None:
        return shards_of(file)
    if is_sharded(file):
        raise SpecError(f"{file}: already stands for many files, each of which is a shard; leave out shards")
    builder.create_index_folder(folder)
    return builder.split_dialogues(_read_dialogues(file), pieces, folder)


def _index_shards(
    kind: str, shards: list[Shard], folder: Path, encoder: str, settings: dict[str, Any]
) -> ShardedBm25Index | ShardedDenseIndex:
    if kind == "bm25":
        return ShardedBm25Index.build(shards, folder, **settings)
    index_class = GraphIndex if kind == "approximate" else ShardedDenseIndex
    return index_class.build(shards, folder, factory.load_encoder(encoder, cache=False), **settings)


def _read_passages(file: str, split: str | None, progress: Progress | None) -> Iterator[Passage]:
    """Yield the turns of the dialogues of a file; progress only counts them, since the total is unknown."""
    for number, passage in enumerate(passages(_read_dialogues(file), split), start=1):
        if progress is not None and number % _PROGRESS_EVERY == 0:
            progress(number, 0)
        yield passage


def _read_dialogues(file: str, called: str | None = None) -> Iterator[Dialogue]:
    """Yield the dialogues of a file, or of many files one after the other; errors call the file ``called``."""
    if is_sharded(file):
        for shard in shards_of(file):
            with fetch_local(shard) as path:
                yield from _read_dialogues(str(path), shard.name)
        return
    source = Input(file, called=called)
    try:
        for record, place in source.records():
            if not isinstance(record, Dialogue):
                kind = type(record).__name__.lower()
                raise InputError(f"{place}: this is a record of kind {kind!r}; an index is built from dialogues only")
            yield record
    finally:
        source.close()
