"""``rejoinder embed``: a vector for every text of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli._options import choose_engine, engine_options


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
    from rejoinder.indexes.embedding import embed

    computing = choose_engine(engine, processes, address)
    with show_progress("embedding", "texts", computing) as watch:
        made = embed(file, out, encoder=encoder, precision=precision, engine=computing, progress=watch.progress)
    click.echo(f"written: {out} with {made.n:,} vectors of {made.dimensions} numbers by {encoder}", err=True)
    watch.tell(made.n, "texts", out)
