"""``rejoinder shards``: write, list and check data in many files."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, engine_options, input_options, output_option

GROUP = _help.MODELS_AND_DATA


@click.group("shards", short_help="Data in many files: write, catalogue, check")
def command() -> None:
    """Write records as shards (JSONL or Parquet, here or in an object store), list them in a catalogue, check them."""


@command.command("write")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@output_option(
    OutputPath("shards", ".jsonl", ".parquet"),
    "The folder to write, or its address; or one file, *.jsonl, *.gz or *.parquet.",
    metavar="FOLDER",
    required=True,
)
@click.option(
    "--form",
    type=click.Choice(["parquet", "jsonl", "jsonl.gz"]),
    default="parquet",
    show_default=True,
    help="The format of the shards.",
)
@click.option(
    "--records",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Records per shard; a shard that is full still gets the rest of its conversation.",
)
@click.option("--gather", is_flag=True, help="First sort the records so that each conversation is together (on disk).")
@input_options()
def write(
    files: tuple[str, ...], output: str, form: Literal["parquet", "jsonl", "jsonl.gz"], records: int, gather: bool
) -> None:
    """Write the records of FILE... as shards, and then their catalogue.

    FILE is what rejoinder score takes: files of our schema, folders, patterns, addresses. A shard is named by its
    number and content, so that one that already exists is not sent again; no conversation is in two shards.
    """
    from rejoinder.data.grouping import group_by_conversation
    from rejoinder.data.remote import is_remote, redact_address
    from rejoinder.data.shards.files import ENDINGS
    from rejoinder.data.shards.pack import read_placed_records, shards, write_record_file

    if output.endswith(ENDINGS) and not is_remote(output):
        records_with_places = read_placed_records(files)
        if gather:
            records_with_places = group_by_conversation(records_with_places)
        click.echo(
            f"{output}: {write_record_file((record for record, _ in records_with_places), output):,} records", err=True
        )
        return
    result = shards(files, output, form=form, records=records, gather=gather)
    click.echo(f"{redact_address(output)}: {result.summary()}", err=True)


@command.command("catalogue")
@click.argument("where", metavar="SHARDS")
@engine_options("all cores")
def catalogue(where: str, engine: str, address: str | None, processes: int | None) -> None:
    """Read the shards in a folder (or at an address) and write their catalogue beside them."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import redact_address
    from rejoinder.data.shards.stats import build_shard_manifest, write_shard_manifest
    from rejoinder.engines.factory import open_engine

    compute_engine = open_engine(engine, processes, address)
    with show_progress("reading", "bytes", compute_engine) as reporter:
        manifest = build_shard_manifest(where, compute_engine, reporter.progress)
    write_shard_manifest(manifest, where)
    click.echo(f"{redact_address(where)}: {manifest.summary()}", err=True)


@command.command("check")
@click.argument("where", metavar="SHARDS")
@engine_options("all cores")
def check(where: str, engine: str, address: str | None, processes: int | None) -> None:
    """Read the shards in a folder (or at an address) and compare them with their catalogue."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import redact_address
    from rejoinder.data.shards.stats import check_shards
    from rejoinder.engines.factory import open_engine

    compute_engine = open_engine(engine, processes, address)
    with show_progress("checking", "bytes", compute_engine) as reporter:
        manifest = check_shards(where, compute_engine, reporter.progress)
    click.echo(f"{redact_address(where)}: matches its catalogue; {manifest.summary()}", err=True)
