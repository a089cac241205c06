"""``rejoinder compare``: which system of a run is better, and which one people prefer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from rejoinder.cli import _help
from rejoinder.cli._options import seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.table import Table

    Result: TypeAlias = tuple[list[Table], str]  # tables, and a sentence that sums them up

GROUP = _help.SCORING
COMMON = 2


@click.command(short_help="Show which system is better, and which differences are real")
@click.argument("run", metavar="RUN")
@click.option("-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Only this metric; may be repeated.")
@click.option("--preferences", is_flag=True, help="Only people's preferences, not the metrics.")
@seed_option
@table_format_option
def command(run: str, metrics: tuple[str, ...], preferences: bool, seed: int, form: str) -> None:
    """Show which system of RUN (a run folder) is better under each metric, and which differences are real.

    Where people compared replies, systems are also ranked by their preferences (Bradley-Terry); for that alone, RUN may
    be a JSONL file, - for standard input, or dataset:NAME.
    """
    from rejoinder.reports.output import format_tables, join_tables

    folder = Path(run)
    is_file = run == "-" or run.startswith("dataset:") or folder.is_file()
    results = [] if preferences or is_file else _compare_metrics(folder, metrics, seed)
    if is_file or preferences or _has_preferences(folder):
        results += _compare_preferences(run)
    if form in ("text", "markdown"):
        for tables, sentence in results:
            click.echo(f"{join_tables(tables, form)}\n\n{sentence}\n")
    else:
        click.echo(format_tables([table for tables, _ in results for table in tables], form))


def _has_preferences(folder: Path) -> bool:
    from rejoinder.scoring.folder import read_about

    return bool(read_about(folder)["counts"].get("preference"))


def _compare_metrics(run: Path, metrics: tuple[str, ...], seed: int) -> list[Result]:
    from rejoinder.comparison.compare import compare

    return [
        ([result.leaderboard(), *([result.matrix()] if result.differences else [])], result.sentence())
        for result in compare(run, metrics=metrics or None, seed=seed)
    ]


def _compare_preferences(run: str) -> list[Result]:
    from rejoinder.annotation.judgements import read_judged_records
    from rejoinder.comparison.preferences import rank_by_preference
    from rejoinder.errors import InputError

    rankings = rank_by_preference(read_judged_records(run).records)
    if not rankings:
        raise InputError(f"{run} has no preferences; to compare scores, name a run folder (rejoinder score makes one)")
    return [([ranking.table()], ranking.sentence()) for ranking in rankings]
