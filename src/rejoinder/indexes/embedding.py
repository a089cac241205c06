"""A vector for each text of a file, written with its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from rejoinder.data.inputs import Input
from rejoinder.data.shards.files import fetch_local, is_sharded, shards_of
from rejoinder.engines.base import Engine
from rejoinder.engines.caching import caching_engine
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError
from rejoinder.indexes.one_field.base import passages
from rejoinder.models.encoder import factory, worker
from rejoinder.types import Dialogue, Response

Text: TypeAlias = tuple[str, str]  # an id and the text itself
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class EmbeddedTexts:
    """A file of vectors: their number and their dimensions."""

    path: Path
    n: int
    dimensions: int
    encoder: str


def embed(
    file: str | Path,
    output: str | Path,
    *,
    encoder: str = "aptness",
    precision: Literal["float16", "float32"] = "float32",
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> EmbeddedTexts:
    """Write a unit vector for each turn of dialogues and each reply, or each line of a text, in the file's order.

    - ``file``: JSONL, Parquet, ``dataset:NAME``, a ``.txt`` with one turn per line, or a folder or pattern of files.
    - ``output``: an ``.npy`` file, with the ids beside it, or a ``.parquet`` file, which has both.
    - ``encoder``: an encoder of the catalog, or a folder.
    - ``precision``: of the numbers written.
    - ``engine``: what computes the vectors; the output is the same for all engines.
    - ``progress``: called with the number of texts done and the total.

    >>> import rejoinder
    >>> rejoinder.embed("chats.jsonl", "vectors.npy").dimensions
    384
    """
    output = Path(output)
    worker.check_vector_path(output)
    loaded_encoder = factory.load_encoder(encoder, cache=False)
    with _open_texts(str(file)) as texts:
        total = sum(1 for _ in texts())
        if not total:
            raise InputError(
                f"{file}: there is no text to encode; name a file with dialogues, replies or lines of a .txt"
            )
        with caching_engine(engine or LocalEngine(1), output) as cached_engine:
            vectors = worker.embed_texts((text for _, text in texts()), loaded_encoder, cached_engine, precision)
            blocks, ids = _report_blocks(vectors, total, progress), (name for name, _ in texts())
            worker.write_vector_file(blocks, ids, (total, loaded_encoder.dimensions), precision, output)
    return EmbeddedTexts(output, total, loaded_encoder.dimensions, encoder)


@contextmanager
def _open_texts(file: str) -> Iterator[Callable[[], Iterator[Text]]]:
    """Provide a function that reads all texts with their ids, and can be called repeatedly."""

    def read_shards() -> Iterator[Text]:
        for shard in shards_of(file):
            with fetch_local(shard) as path, _open_texts(str(path)) as texts:
                yield from texts()

    if is_sharded(file):
        yield read_shards
    elif file.endswith(".txt"):
        yield lambda: _read_lines(file)
    else:
        source = Input(file)
        try:
            yield lambda: _read_turns(source)
        finally:
            source.close()


def _read_turns(source: Input) -> Iterator[Text]:
    """Yield the turns of dialogues, and replies."""
    for record, _ in source.records(allow_empty=True):
        if isinstance(record, Dialogue):
            yield from ((passage.id, passage.text) for passage in passages([record]))
        elif isinstance(record, Response):
            yield record.id, record.text


def _read_lines(file: str) -> Iterator[Text]:
    try:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield str(number), line.rstrip("\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not valid UTF-8; save it as UTF-8") from None


def _report_blocks(blocks: Iterator[NDArray[Any]], total: int, progress: Progress | None) -> Iterator[NDArray[Any]]:
    done = 0
    for block in blocks:
        done += len(block)
        if progress is not None:
            progress(done, total)
        yield block
