"""``rejoinder index``: build, extend, search and check an index over dialogues."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import engine_options, folder_output_option, table_format_option
from rejoinder.cli._progress import show_progress
from rejoinder.errors import SpecError

GROUP = _help.MODELS_AND_DATA
RESUMABLE = "always"


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
    kind: Literal["bm25", "dense"],
    split: str | None,
    k1: float,
    b: float,
    stop_words: Literal["none", "english"],
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
    from rejoinder.engines.factory import open_engine
    from rejoinder.indexes.build import index

    sharded = shards is not None or approximate or is_sharded(file)
    if engine != "local" and not sharded:
        raise SpecError("one file is indexed by one process; split it with --shards N, or name a folder of files")
    compute_engine = open_engine(engine, processes, address) if sharded else None
    with show_progress("indexing", "bytes" if sharded else "turns", compute_engine) as reporter:
        built = index(
            file,
            output,
            kind=kind,
            split=split,
            k1=k1,
            b=b,
            stop_words=stop_words,
            encoder=encoder,
            precision=precision,
            approximate=approximate,
            shards=shards,
            engine=compute_engine,
            progress=reporter.progress,
        )
    pieces = f" of {built.shards:,} shards" if hasattr(built, "shards") else ""
    click.echo(f"{len(built):,} turns{pieces} indexed into {output}", err=True)
    reporter.print_summary(len(built), "turns", output)


@command.command("add")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("file")
@click.option("--split", metavar="NAME", help="Only the dialogues of this split [all].")
def add(folder: Path, file: str, split: str | None) -> None:
    """Add the dialogues in FILE to the index in FOLDER."""
    from rejoinder.indexes.build import extend_index
    from rejoinder.indexes.factory import open_index

    before = open_index(folder)
    with show_progress("indexing", "turns") as reporter:
        after = extend_index(before, file, split, reporter.progress)
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
    from rejoinder.indexes.one_field.folder import verify_index_files

    manifest = verify_index_files(folder)
    click.echo(f"{folder}: intact; {manifest.kind}, " + ", ".join(f"{n:,} {of}" for of, n in manifest.counts.items()))
