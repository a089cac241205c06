"""``rejoinder check``: pass or fail a run, for continuous integration."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import seed_option

GROUP = _help.SCORING


@click.command(short_help="Pass or fail a run, for continuous integration")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--min",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="e.g. 'bleu>=0.1', or 'bleu@bot>=0.1' for one system; may be repeated.",
)
@click.option(
    "--no-worse-than",
    "older",
    type=click.Path(path_type=Path),
    metavar="OLD_RUN",
    help="An older run folder to compare with.",
)
@click.option("--margin", default=0.0, show_default=True, help="How much worse than OLD_RUN is still allowed.")
@seed_option
def command(run: Path, conditions: tuple[str, ...], older: Path | None, margin: float, seed: int) -> None:
    """Pass or fail RUN (a run folder): exit status 0 if every check passes, 1 if one fails, 2 for a mistake."""
    from rejoinder.comparison.check import check

    findings = check(run, conditions, older, margin, seed)
    for finding in findings:
        click.echo(f"{'pass' if finding.passed else 'FAIL'}  {finding.reason}")
    failed = sum(not finding.passed for finding in findings)
    click.echo(f"{len(findings) - failed} passed, {failed} failed")
    if failed:
        raise click.exceptions.Exit(1)
