"""``rejoinder compare``: which system of a run is better."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._options import seed, table_form


@click.command(short_help="Which system is better")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Only this metric; may be repeated.")
@seed
@table_form
def command(run: Path, metrics: tuple[str, ...], seed: int, form: str) -> None:
    """Say which system of RUN (a run folder) is better under each metric, and which differences are real."""
    from rejoinder.report.table import FORMATS
    from rejoinder.scoring.run import load
    from rejoinder.verdict.comparison import compare

    for found in compare(load(run), metrics or None, seed=seed):
        click.echo(FORMATS[form](found.leaderboard()))
        if found.differences:
            click.echo("\n" + FORMATS[form](found.matrix()))
        if form in ("text", "markdown"):
            click.echo("\n" + found.sentence() + "\n")
