"""``rejoinder compare``: which system of a run is better, and which one people prefer."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._options import seed, table_form


@click.command(short_help="Which system is better")
@click.argument("run", metavar="RUN")
@click.option("-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Only this metric; may be repeated.")
@click.option("--preferences", is_flag=True, help="Only what people prefer, not the metrics.")
@seed
@table_form
def command(run: str, metrics: tuple[str, ...], preferences: bool, seed: int, form: str) -> None:
    """Say which system of RUN (a run folder) is better under each metric, and which differences are real.

    Where people compared replies, systems are also ranked by their preferences (Bradley-Terry); for that alone, RUN may
    be a JSONL file, - for standard input, or dataset:NAME.
    """
    folder = Path(run)
    is_file = run == "-" or run.startswith("dataset:") or folder.is_file()
    if not preferences and not is_file:
        _by_metrics(folder, metrics, seed, form)
    if is_file or preferences or _has_preferences(folder):
        _by_preferences(run, form)


def _has_preferences(folder: Path) -> bool:
    from rejoinder.scoring.folder import read_about

    return bool(read_about(folder)["counts"].get("preference"))


def _by_metrics(run: Path, metrics: tuple[str, ...], seed: int, form: str) -> None:
    from rejoinder.report.table import FORMATS
    from rejoinder.scoring.run import load
    from rejoinder.verdict.comparison import compare

    for found in compare(load(run), metrics or None, seed=seed):
        click.echo(FORMATS[form](found.leaderboard()))
        if found.differences:
            click.echo("\n" + FORMATS[form](found.matrix()))
        if form in ("text", "markdown"):
            click.echo("\n" + found.sentence() + "\n")


def _by_preferences(run: str, form: str) -> None:
    from rejoinder.cli._judged import said
    from rejoinder.errors import InputError
    from rejoinder.report.table import FORMATS
    from rejoinder.verdict.preferred import preferred

    ranked = preferred(said(run)[0])
    if not ranked:
        raise InputError(
            f"{run} holds no preferences; to compare scores, name a run folder (rejoinder score makes one)"
        )
    for found in ranked:
        click.echo(FORMATS[form](found.table()))
        if form in ("text", "markdown"):
            click.echo("\n" + found.sentence() + "\n")
