"""``rejoinder shards``: data in many files, written, listed and checked."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli._options import Output, engine_options


@click.group("shards", short_help="Data in many files: write, catalogue, check")
def command() -> None:
    """Write records as shards (JSONL or Parquet, here or in an object store), list them in a catalogue, check them."""


@command.command("write")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--out",
    required=True,
    type=Output("shards", ".jsonl", ".parquet"),
    metavar="OUT",
    help="A folder or its address; or one file, *.jsonl, *.gz, *.parquet.",
)
@click.option(
    "--form",
    type=click.Choice(["parquet", "jsonl", "jsonl.gz"]),
    default="parquet",
    show_default=True,
    help="What the shards are.",
)
@click.option(
    "--records",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="How many a shard holds; one that is full ends with its conversation.",
)
@click.option("--gather", is_flag=True, help="First put the records of each conversation together (on disk).")
def write(
    files: tuple[str, ...], out: str, form: Literal["parquet", "jsonl", "jsonl.gz"], records: int, gather: bool
) -> None:
    """Write the records of FILE... as shards, and their catalogue last.

    FILE is what score takes: files of our schema, folders, patterns, addresses. A shard is named by its number and its
    content, so that one that is there already is not sent again; no conversation is in two shards.
    """
    from rejoinder.data.grouping import group_by_conversation
    from rejoinder.data.remote import is_remote, redact
    from rejoinder.data.shards.files import ENDINGS
    from rejoinder.data.shards.pack import read_placed_records, shards, write_file

    if out.endswith(ENDINGS) and not is_remote(out):
        read = read_placed_records(files)
        placed = group_by_conversation(read) if gather else read
        click.echo(f"{out}: {write_file((record for record, _ in placed), out):,} records", err=True)
        return
    packed = shards(files, out, form=form, records=records, gather=gather)
    click.echo(f"{redact(out)}: {packed.summary()}", err=True)


@command.command("catalogue")
@click.argument("where", metavar="SHARDS")
@engine_options("all cores")
def catalogue(where: str, engine: str, address: str | None, processes: int | None) -> None:
    """Read the shards in a folder (or at an address) and write their catalogue beside them."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import redact
    from rejoinder.data.shards.stats import build_manifest, write_manifest
    from rejoinder.engines.factory import open_engine

    computing = open_engine(engine, processes, address)
    with show_progress("reading", "bytes", computing) as watch:
        found = build_manifest(where, computing, watch.progress)
    write_manifest(found, where)
    click.echo(f"{redact(where)}: {found.summary()}", err=True)


@command.command("check")
@click.argument("where", metavar="SHARDS")
@engine_options("all cores")
def check(where: str, engine: str, address: str | None, processes: int | None) -> None:
    """Read the shards in a folder (or at an address) and compare them with their catalogue."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import redact
    from rejoinder.data.shards.stats import check_shards
    from rejoinder.engines.factory import open_engine

    computing = open_engine(engine, processes, address)
    with show_progress("checking", "bytes", computing) as watch:
        found = check_shards(where, computing, watch.progress)
    click.echo(f"{redact(where)}: as listed; {found.summary()}", err=True)
