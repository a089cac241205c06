"""``rejoinder embed``: one vector per text of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import choose_engine, engine_options, output_option
from rejoinder.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rejoinder.cli._progress import Progress
    from rejoinder.data.inputs import Input

GROUP = _help.MODELS_AND_DATA
RESUMABLE = "always"

Text = tuple[str, str]  # an id and the text itself


@click.command(short_help="Encode every text of a file as a vector")
@click.argument("file")
@output_option(click.Path(path_type=Path), "The file to write: *.npy or *.parquet.", required=True)
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="The encoder.")
@click.option(
    "--precision",
    type=click.Choice(["float16", "float32"]),
    default="float32",
    show_default=True,
    help="How vectors are stored.",
)
@engine_options("1 on this machine, all of a cluster")
def command(
    file: str,
    output: Path,
    encoder: str,
    precision: Literal["float16", "float32"],
    processes: int | None,
    engine: str,
    address: str | None,
) -> None:
    """Encode every turn of the dialogues in FILE and every reply; of a .txt file, every line.

    FILE is JSONL, Parquet, dataset:NAME, - for standard input, or a folder, a pattern or an address of many files. The
    vectors have length 1 and are in the order of FILE; a Parquet file also has their ids, which go into a second file
    beside an .npy file. The bytes do not depend on the engine or the number of workers. If the command is stopped, run
    it again to continue.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.engines.caching import caching_engine
    from rejoinder.models.encoder import worker
    from rejoinder.models.encoder.factory import load_encoder
    from rejoinder.models.encoder.worker import embed_texts

    worker.check_vector_path(output)
    loaded, computing = load_encoder(encoder, cache=False), choose_engine(engine, processes, address)
    with _open_texts(file) as texts:
        total = sum(1 for _ in texts())
        if not total:
            raise InputError(f"{file}: there is no text to encode; it needs dialogues, replies, or lines of a .txt")
        with show_progress("embedding", "texts", computing) as reporter, caching_engine(computing, output) as cached:
            vectors = embed_texts((text for _, text in texts()), loaded, cached, precision)
            blocks, ids = _report_blocks(vectors, total, reporter.progress), (name for name, _ in texts())
            worker.write_vectors(blocks, ids, (total, loaded.dimensions), precision, output)
    click.echo(f"written: {output} with {total:,} vectors of {loaded.dimensions} numbers by {encoder}", err=True)
    reporter.print_summary(total, "texts", output)


@contextmanager
def _open_texts(file: str) -> Iterator[Callable[[], Iterator[Text]]]:
    """A function that reads every text with its id, and can be called again."""
    from rejoinder.data.inputs import Input
    from rejoinder.data.shards.files import fetch_local, is_sharded, shards_of

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
    """Read the turns of dialogues, and replies."""
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
