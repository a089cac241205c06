"""``rejoinder situate statements``: more statements for seeds, written by a model."""

from __future__ import annotations

import click

from rejoinder.cli._options import records_file


@click.command("statements", short_help="More statements, written by a model")
@click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")
@click.option(
    "-o", "--output", default="-", type=records_file(), metavar="FILE", help="Where the seeds go [standard output]."
)
@click.option("--writer", metavar="NAME", help="What rejoinder train statements made, or a sequence model [our own].")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="Only of this category (repeatable).")
@click.option("--beam", type=click.IntRange(min=1), default=3, show_default=True, help="The width of the beam.")
@click.option("-n", type=click.IntRange(min=1), default=3, show_default=True, help="Statements a seed and category.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="[cuda where there is one]")
def statements(
    seeds: tuple[str, ...],
    output: str,
    writer: str | None,
    categories: tuple[str, ...],
    beam: int,
    n: int,
    device: str | None,
) -> None:
    """Let a model write statements for each seed and category, after its request, goal and reply (needs torch).

    What comes out are the seeds with more statements, unchecked: let people look through them with
    rejoinder situate project complete.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.seeds import read_seeds, write_seeds
    from rejoinder.data.situations import CATEGORIES
    from rejoinder.models.sequence_statements import open_writer
    from rejoinder.situating.writing import with_statements

    read = read_seeds(*seeds)
    opened = open_writer(writer, device)
    with progress_bar("writing") as progress:
        made = with_statements(read, opened, categories or CATEGORIES, n, beam, progress)
    write_seeds(made, output)
    more = sum(len(one.statements) for one in made) - sum(len(one.statements) for one in read)
    click.echo(f"{more:,} statements more for {len(made):,} seeds; let people look through them", err=True)
