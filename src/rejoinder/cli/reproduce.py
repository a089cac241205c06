"""``rejoinder reproduce``: a paper's table, published beside measured."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="A paper's table, measured again")
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("docs/results"),
    show_default=True,
    help="The folder that NAME.md and NAME.json are written to.",
)
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Measure this metric instead of the usual ones."
)
@click.option(
    "--adapt",
    type=click.IntRange(min=0),
    metavar="N",
    help="Adapt only so many texts to their contexts: all of them is work for a GPU (scarce).",
)
def command(name: str, out: Path, metrics: tuple[str, ...], adapt: int | None) -> None:
    """Measure a paper's table again, print it beside the published figures and write both down.

    `rejoinder list reproductions` shows the names. The published sets are read from $REJOINDER_DATA.
    """
    from rejoinder.papers import reproduce
    from rejoinder.papers.base import to_tables, write_results
    from rejoinder.table import to_terminal

    found = reproduce(name, metrics=metrics, adapt=adapt)
    for table in to_tables(found):
        click.echo(to_terminal(table) + "\n")
    for note in found.notes:
        click.echo(note)
    for path in write_results(found, out):
        click.echo(f"written: {path}", err=True)
