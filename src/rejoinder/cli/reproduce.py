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
    import inspect

    from rejoinder.errors import SpecError
    from rejoinder.papers import load_reproduction
    from rejoinder.papers.base import to_tables, write_results
    from rejoinder.table import to_terminal

    reproduce = load_reproduction(name).reproduce
    takes = inspect.signature(reproduce).parameters
    if metrics and "metrics" not in takes:
        raise SpecError(f"{name} measures what its paper names and takes no other metric; leave -m out")
    if adapt is not None and "adapt" not in takes:
        raise SpecError(f"{name} adapts nothing; leave --adapt out")
    given = {**({"metrics": list(metrics)} if metrics else {}), **({} if adapt is None else {"adapt": adapt})}
    found = reproduce(**given)
    for table in to_tables(found):
        click.echo(to_terminal(table) + "\n")
    for note in found.notes:
        click.echo(note)
    for path in write_results(found, out):
        click.echo(f"written: {path}", err=True)
