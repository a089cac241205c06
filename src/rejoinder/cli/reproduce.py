"""``rejoinder reproduce``: a table of a paper, published and measured figures side by side."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Measure a table of a paper again")
@click.argument("name")
@output_option(
    click.Path(path_type=Path, file_okay=False),
    "The folder for NAME.md and NAME.json.",
    metavar="FOLDER",
    default=Path("docs/results"),
    show_default=True,
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="Measure this metric instead of the paper's; may be repeated.",
)
@click.option(
    "--adapt",
    type=click.IntRange(min=0),
    metavar="N",
    help="Adapt at most N texts to their contexts; all of them need a GPU (only for scarce).",
)
@click.option(
    "--requests",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Only write the requests to the judge, for a server elsewhere, as a batch in JSONL (only for modern).",
)
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="That server's answers; their verdicts are written beside the results, and can be named here too.",
)
def command(
    name: str,
    output: Path,
    metrics: tuple[str, ...],
    adapt: int | None,
    requests: Path | None,
    answers: Path | None,
) -> None:
    """Measure a table of a paper again, print it beside the published figures and write both to files.

    `rejoinder list reproductions` shows the names. The published sets are read from $REJOINDER_DATA.
    """
    from rejoinder.files import atomic_write
    from rejoinder.papers import list_requests, reproduce
    from rejoinder.papers.base import reproduction_tables, write_reproduction
    from rejoinder.table import to_terminal

    if requests is not None:
        lines = list(list_requests(name))
        with atomic_write(requests) as file:
            file.writelines(lines)
        click.echo(f"written: {requests} ({len(lines):,} requests)", err=True)
        return
    result = reproduce(name, metrics=metrics, adapt=adapt, answers=answers)
    for table in reproduction_tables(result):
        click.echo(to_terminal(table) + "\n")
    for note in result.notes:
        click.echo(note)
    for path in write_reproduction(result, output):
        click.echo(f"written: {path}", err=True)
