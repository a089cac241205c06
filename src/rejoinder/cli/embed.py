"""``rejoinder embed``: one vector per text of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import choose_engine, engine_options, input_options, output_option

GROUP = _help.MODELS_AND_DATA
RESUMABLE = "always"


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
@input_options()
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
    from rejoinder.indexes.embedding import embed

    compute_engine = choose_engine(engine, processes, address)
    with show_progress("embedding", "texts", compute_engine) as reporter:
        result = embed(
            file, output, encoder=encoder, precision=precision, engine=compute_engine, progress=reporter.progress
        )
    click.echo(f"written: {output} with {result.n:,} vectors of {result.dimensions} numbers by {encoder}", err=True)
    reporter.print_summary(result.n, "texts", output)
