"""``rejoinder index``: build, extend, search and check an index over dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import engine_options, folder_output_option, table_format_option
from rejoinder.cli._progress import Progress, show_progress
from rejoinder.errors import InputError, SpecError

if TYPE_CHECKING:
    from rejoinder.indexes.base import Passage
    from rejoinder.types import Dialogue

GROUP = _help.MODELS_AND_DATA
RESUMABLE = "always"

_PROGRESS_EVERY = 1_000  # turns between two updates of the progress


@click.group("index", short_help="Search over the turns of dialogues")
def command() -> None:
    """Build and search an index over the turns of dialogues, by words (bm25) or by meaning (dense)."""


@command.command("build")
@click.argument("file")
@folder_output_option()
@click.option(
    "--kind", type=click.Choice(["bm25", "dense"]), default="bm25", show_default=True, help="How texts are compared."
)
@click.option("--split", metavar="NAME", help="Only the dialogues of this split [all].")
@click.option("--k1", default=0.5, show_default=True, help="bm25: how soon repetitions of a word stop counting.")
@click.option("--b", default=0.7, show_default=True, help="bm25: how much long turns are penalised.")
@click.option(
    "--stop-words",
    type=click.Choice(["none", "english"]),
    default="none",
    show_default=True,
    help="bm25: the words to ignore.",
)
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="dense: the encoder.")
@click.option(
    "--precision",
    type=click.Choice(["int8", "float16", "float32"]),
    default="float32",
    show_default=True,
    help="dense: how vectors are stored; float16 and int8 take half and a quarter of the space, and more time.",
)
@click.option("--approximate", is_flag=True, help="dense: search a graph instead of comparing with every turn.")
@click.option("--shards", type=click.IntRange(min=1), help="Split one file into this many shards, indexed in parallel.")
@engine_options("all cores, for an index of shards")
def build(
    file: str,
    output: Path,
    kind: str,
    split: str | None,
    k1: float,
    b: float,
    stop_words: str,
    encoder: str,
    precision: Literal["int8", "float16", "float32"],
    approximate: bool,
    shards: int | None,
    processes: int | None,
    engine: str,
    address: str | None,
) -> None:
    """Index the turns of the dialogues in FILE (JSONL, "-", or dataset:NAME).

    A folder, a pattern or an address of an object store means many files: an index of shards, which is built in
    parallel, needs the memory of one shard per process and finds the same turns. If a build is stopped, run the same
    command again to continue.
    """
    from rejoinder.data.shards.files import is_sharded
    from rejoinder.indexes.bm25 import Bm25Index
    from rejoinder.indexes.dense import DenseIndex
    from rejoinder.text.tokens import FUNCTION_WORDS

    ignored = FUNCTION_WORDS if stop_words == "english" else ()
    if approximate and kind != "dense":
        raise SpecError("--approximate is for an index of vectors; add --kind dense, or leave out --approximate")
    if approximate and shards is None and not is_sharded(file):
        shards = 1
    if shards is not None or is_sharded(file):
        from rejoinder.cli import _index_shards
        from rejoinder.engines.factory import open_engine

        options = _index_shards.IndexOptions(kind, split, k1, b, ignored, encoder, precision, approximate)
        data = _index_shards.find_data_files(file, shards, output, _read_dialogues)
        _index_shards.build_sharded_index(data, output, open_engine(engine, processes, address), options)
        return
    if engine != "local":
        raise SpecError("one file is indexed by one process; split it with --shards N, or name a folder of files")
    index: Bm25Index | DenseIndex
    with show_progress("indexing", "turns") as reporter:
        passages = _read_passages(file, split, reporter.progress)
        if kind == "bm25":
            index = Bm25Index.build(passages, output, k1=k1, b=b, stop_words=ignored)
        else:
            from rejoinder.models.encoder.factory import load_encoder

            index = DenseIndex.build(passages, output, load_encoder(encoder, cache=False), precision=precision)
    reporter.print_summary(len(index), "turns", output, f" indexed into {output}")


@command.command("add")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("file")
@click.option("--split", metavar="NAME", help="Only the dialogues of this split [all].")
def add(folder: Path, file: str, split: str | None) -> None:
    """Add the dialogues in FILE to the index in FOLDER."""
    from rejoinder.indexes.factory import open_index

    before = open_index(folder)
    with show_progress("indexing", "turns") as reporter:
        after = before.append(_read_passages(file, split, reporter.progress))
    click.echo(f"{folder}: {len(after) - len(before):,} turns added, {len(after):,} in total", err=True)


@command.command("search")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("query")
@click.option("-k", default=5, show_default=True, type=click.IntRange(min=1), help="How many turns to show.")
@click.option("--split", metavar="NAME", help="Only turns of this split [all].")
@click.option(
    "--exclude", multiple=True, metavar="DIALOGUE", help="Leave out this dialogue and copies of it; may be repeated."
)
@table_format_option
def search(folder: Path, query: str, k: int, split: str | None, exclude: tuple[str, ...], form: str) -> None:
    """Show the turns in the index FOLDER nearest to QUERY."""
    from rejoinder.indexes.factory import open_index
    from rejoinder.table import FORMATS, Table

    index = open_index(folder)
    hits = index.search([query], k, split=split, exclude_dialogues=[exclude])[0]
    rows = [(hit.score, hit.id, hit.split, hit.speaker, " ".join(hit.text.split())) for hit in hits]
    heads = ("score", "turn", "split", "speaker", "text")
    notes = () if hits else ("No turn shares a word with the query.",)
    click.echo(FORMATS[form](Table(f"Nearest of {len(index):,} turns by {index.kind}", heads, rows, notes, 4)))


@command.command("check")
@click.argument("folder", type=click.Path(path_type=Path))
def check(folder: Path) -> None:
    """Check every file of the index in FOLDER against the sha256 that it had when it was written."""
    from rejoinder.indexes.parts import verify_files

    manifest = verify_files(folder)
    click.echo(f"{folder}: intact; {manifest.kind}, " + ", ".join(f"{n:,} {of}" for of, n in manifest.counts.items()))


def _read_passages(file: str, split: str | None, progress: Progress | None) -> Iterator[Passage]:
    """The turns of the dialogues of a file; progress counts them, as the total is not known beforehand."""
    from rejoinder.indexes.base import passages

    for number, passage in enumerate(passages(_read_dialogues(file), split), start=1):
        if progress is not None and number % _PROGRESS_EVERY == 0:
            progress(number, 0)
        yield passage


def _read_dialogues(file: str, name: str | None = None) -> Iterator[Dialogue]:
    """The dialogues of a file, or of many files one after the other; errors name the file as ``name``."""
    from rejoinder.data.inputs import Input
    from rejoinder.data.shards.files import fetch_local, is_sharded, shards_of
    from rejoinder.types import Dialogue

    if is_sharded(file):
        for shard in shards_of(file):
            with fetch_local(shard) as path:
                yield from _read_dialogues(str(path), shard.name)
        return
    source = Input(file, called=name)
    try:
        for record, place in source.records():
            if not isinstance(record, Dialogue):
                kind = type(record).__name__.lower()
                raise InputError(f"{place}: this is a record of kind {kind!r}; an index is built from dialogues only")
            yield record
    finally:
        source.close()
