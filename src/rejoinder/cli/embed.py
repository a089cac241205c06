"""``rejoinder embed``: a vector for every text of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli._options import choose_engine, engine_options
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
    from rejoinder.cli._progress import show_progress
    from rejoinder.engines.caching import caching_engine
    from rejoinder.models.encoder import worker
    from rejoinder.models.encoder.factory import load_encoder
    from rejoinder.models.encoder.worker import embed_texts

    worker.check_vector_path(out)
    opened, computing = load_encoder(encoder, cache=False), choose_engine(engine, processes, address)
    with _open_texts(file) as texts:
        total = sum(1 for _ in texts())
        if not total:
            raise InputError(f"{file}: there is no text to encode; it needs dialogues, replies, or lines of a .txt")
        with show_progress("embedding", "texts", computing) as watch, caching_engine(computing, out) as kept:
            vectors = embed_texts((text for _, text in texts()), opened, kept, precision)
            counted, ids = _report_blocks(vectors, total, watch.progress), (name for name, _ in texts())
            worker.write_vectors(counted, ids, (total, opened.dimensions), precision, out)
    click.echo(f"written: {out} with {total:,} vectors of {opened.dimensions} numbers by {encoder}", err=True)
    watch.tell(total, "texts", out)


@contextmanager
def _open_texts(file: str) -> Iterator[Callable[[], Iterator[Text]]]:
    """What reads every text with its id, as often as it is called."""
    from rejoinder.data.inputs import Input
    from rejoinder.data.shards.files import fetch_local, is_sharded, shards_of

    def of_shards() -> Iterator[Text]:
        for shard in shards_of(file):
            with fetch_local(shard) as path, _open_texts(str(path)) as texts:
                yield from texts()

    if is_sharded(file):
        yield of_shards
    elif file.endswith(".txt"):
        yield lambda: _read_lines(file)
    else:
        source = Input(file)
        try:
            yield lambda: _read_turns(source)
        finally:
            source.close()


def _read_turns(source: Input) -> Iterator[Text]:
    """The turns of dialogues, and replies."""
    from rejoinder.indexes.base import passages
    from rejoinder.types import Dialogue, Response

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
        raise InputError(f"{file}: is not UTF-8; convert it") from None


def _report_blocks(blocks: Iterator[NDArray[Any]], total: int, progress: Progress | None) -> Iterator[NDArray[Any]]:
    done = 0
    for block in blocks:
        done += len(block)
        if progress is not None:
            progress(done, total)
        yield block
