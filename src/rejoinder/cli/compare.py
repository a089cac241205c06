"""``rejoinder compare``: which system of a run is better, and which one people prefer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from rejoinder.cli._options import seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.table import Table

    Result: TypeAlias = tuple[list[Table], str]  # its tables, and a sentence for people


@click.command(short_help="Which system is better")
@click.argument("run", metavar="RUN")
@click.option("-m", "--metric", "metrics", multiple=True, metavar="SPEC", help="Only this metric; may be repeated.")
@click.option("--preferences", is_flag=True, help="Only what people prefer, not the metrics.")
@seed_option
@table_format_option
def command(run: str, metrics: tuple[str, ...], preferences: bool, seed: int, form: str) -> None:
    """Say which system of RUN (a run folder) is better under each metric, and which differences are real.

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
        ([one.leaderboard(), *([one.matrix()] if one.differences else [])], one.sentence())
        for one in compare(run, metrics or None, seed=seed)
    ]


def _compare_preferences(run: str) -> list[Result]:
    from rejoinder.annotation.judgements import read_judged_records
    from rejoinder.comparison.preferences import rank_by_preference
    from rejoinder.errors import InputError

    ranked = rank_by_preference(read_judged_records(run).records)
    if not ranked:
        raise InputError(
            f"{run} holds no preferences; to compare scores, name a run folder (rejoinder score makes one)"
        )
    return [([one.table()], one.sentence()) for one in ranked]
