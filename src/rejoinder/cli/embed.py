"""``rejoinder embed``: a vector for every text of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli._options import engine_of, engine_options
from rejoinder.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rejoinder.cli._progress import Progress
    from rejoinder.data.inputs import Input

Text = tuple[str, str]  # its id, and what it says


@click.command(short_help="A vector for every text")
@click.argument("file")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help=".npy or .parquet.")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="Whose vectors.")
@click.option(
    "--precision",
    type=click.Choice(["float16", "float32"]),
    default="float32",
    show_default=True,
    help="How vectors are kept.",
)
@engine_options("1 here, all of a cluster")
def command(
    file: str,
    out: Path,
    encoder: str,
    precision: Literal["float16", "float32"],
    processes: int | None,
    engine: str,
    address: str | None,
) -> None:
    """Encode every turn of the dialogues in FILE and every reply; of a .txt, every line.

    FILE is JSONL, Parquet, dataset:NAME, - for standard input, or a folder, a pattern or an address of many files. The
    vectors have length 1 and stand in the order of FILE; beside an .npy stand their ids, a Parquet file has both.
    Whatever the engine and the number of workers, the bytes are the same. A command that was stopped goes on where it
    was when it is given again.
    """
    from rejoinder.cli._progress import watching
    from rejoinder.engines.caching import keeping
    from rejoinder.models import vector_file
    from rejoinder.models.encoder.factory import load_encoder
    from rejoinder.models.encoder.worker import embed

    vector_file.check(out)
    opened, computing = load_encoder(encoder, cache=False), engine_of(engine, processes, address)
    with _reading(file) as texts:
        total = sum(1 for _ in texts())
        if not total:
            raise InputError(f"{file}: there is no text to encode; it needs dialogues, replies, or lines of a .txt")
        with watching("embedding", "texts", computing) as watch, keeping(computing, out) as kept:
            vectors = embed((text for _, text in texts()), opened, kept, precision)
            counted, ids = _counted(vectors, total, watch.progress), (name for name, _ in texts())
            vector_file.write(counted, ids, (total, opened.dimensions), precision, out)
    click.echo(f"written: {out} with {total:,} vectors of {opened.dimensions} numbers by {encoder}", err=True)
    watch.tell(total, "texts", out)


@contextmanager
def _reading(file: str) -> Iterator[Callable[[], Iterator[Text]]]:
    """What reads every text with its id, as often as it is called."""
    from rejoinder.data.inputs import Input
    from rejoinder.data.shards.files import is_sharded, local, shards_of

    def of_shards() -> Iterator[Text]:
        for shard in shards_of(file):
            with local(shard) as path, _reading(str(path)) as texts:
                yield from texts()

    if is_sharded(file):
        yield of_shards
    elif file.endswith(".txt"):
        yield lambda: _lines(file)
    else:
        source = Input(file)
        try:
            yield lambda: _said(source)
        finally:
            source.close()


def _said(source: Input) -> Iterator[Text]:
    """The turns of dialogues, and replies."""
    from rejoinder.indexes.base import passages
    from rejoinder.types import Dialogue, Response

    for record, _ in source.records(allow_empty=True):
        if isinstance(record, Dialogue):
            yield from ((passage.id, passage.text) for passage in passages([record]))
        elif isinstance(record, Response):
            yield record.id, record.text


def _lines(file: str) -> Iterator[Text]:
    try:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield str(number), line.rstrip("\n")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8; convert it") from None


def _counted(blocks: Iterator[NDArray[Any]], total: int, progress: Progress | None) -> Iterator[NDArray[Any]]:
    done = 0
    for block in blocks:
        done += len(block)
        if progress is not None:
            progress(done, total)
        yield block
