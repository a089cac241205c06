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
def command(name: str, out: Path, metrics: tuple[str, ...]) -> None:
    """Measure a paper's table again, print it beside the published figures and write both down.

    `rejoinder list reproductions` shows the names. The published sets are read from $REJOINDER_DATA.
    """
    import inspect

    from rejoinder.errors import SpecError
    from rejoinder.folder import load
    from rejoinder.report.table import to_terminal
    from rejoinder.reproduce._contract import tables, write_results

    reproduce = load("rejoinder.reproduce", name.replace("-", "_"), "reproduction").reproduce
    if metrics and "metrics" not in inspect.signature(reproduce).parameters:
        raise SpecError(f"{name} measures what its paper names and takes no other metric; leave -m out")
    found = reproduce(metrics=list(metrics)) if metrics else reproduce()
    for table in tables(found):
        click.echo(to_terminal(table) + "\n")
    for note in found.notes:
        click.echo(note)
    for path in write_results(found, out):
        click.echo(f"written: {path}", err=True)
