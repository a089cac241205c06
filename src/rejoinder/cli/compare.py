"""``rejoinder compare``: which system is better, which one people prefer, and what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from rejoinder.cli import _help
from rejoinder.cli._options import by_option, ignore_signatures_option, input_options, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.table import Table

    Result: TypeAlias = tuple[list[Table], str]  # tables, and a sentence that sums them up

GROUP = _help.SCORING
COMMON = 2


@click.command(short_help="Show which system is better, or what changed between two runs")
@click.argument("run", metavar="RUN")
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="Only this metric, or people's ratings as rating:ASPECT; may be repeated.",
)
@by_option
@click.option("--preferences", is_flag=True, help="Only people's preferences, not the metrics.")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="With NEW: how many of the replies that got worse, and better, are shown.",
)
@ignore_signatures_option("NEW")
@seed_option
@table_format_option
@input_options()
def command(
    run: str,
    new: str | None,
    metrics: tuple[str, ...],
    by: str | None,
    preferences: bool,
    show: int,
    ignore_signatures: bool,
    seed: int,
    form: str,
) -> None:
    """Show which system of RUN (a run folder) is better under each metric, and which differences are real.

    With NEW, a newer run folder, show what changed from RUN to NEW: differences item by item, and the replies that got
    worse and better. The metric rating:ASPECT stands for people's ratings; for these alone, RUN and NEW may be files.

    Where people compared replies, systems are also ranked by their preferences (Bradley-Terry); for that alone, RUN may
    be a JSONL file, - for standard input, or dataset:NAME.
    """
    from rejoinder.table import format_tables, join_tables

    results = (
        _compare_one_run(run, metrics, by, preferences, seed)
        if new is None
        else _compare_two_runs(run, new, metrics, by, preferences, show, seed, ignore_signatures)
    )
    if form in ("text", "markdown"):
        for tables, sentence in results:
            click.echo(f"{join_tables(tables, form)}\n\n{sentence}\n")
    else:
        click.echo(format_tables([table for tables, _ in results for table in tables], form))


def _compare_one_run(run: str, metrics: tuple[str, ...], by: str | None, preferences: bool, seed: int) -> list[Result]:
    from rejoinder.comparison.rating_column import is_rating

    folder = Path(run)
    is_file = run == "-" or run.startswith("dataset:") or folder.is_file()
    by_people = bool(metrics) and all(map(is_rating, metrics))
    results = [] if preferences or (is_file and not by_people) else _compare_metrics(run, metrics, by, seed)
    if (is_file and not by_people) or preferences or (not is_file and _has_preferences(folder)):
        results += _compare_preferences(run)
    return results


def _compare_two_runs(
    run: str,
    new: str,
    metrics: tuple[str, ...],
    by: str | None,
    preferences: bool,
    show: int,
    seed: int,
    ignore_signatures: bool,
) -> list[Result]:
    from rejoinder.comparison.compare import compare
    from rejoinder.errors import SpecError

    if preferences:
        raise SpecError("preferences compare the systems of one run; leave out --preferences, or name one run")
    comparison = compare(run, new, metrics=metrics or None, seed=seed, by=by, ignore_signatures=ignore_signatures)
    tables = [comparison.table(), comparison.items_table(), *(one.table() for one in comparison.slices)]
    for spec in comparison.pair.metrics if show else ():
        sides = (comparison.replies_table(spec, show), comparison.replies_table(spec, show, worse=False))
        tables += [table for table in sides if table is not None]
    return [(tables, "\n".join(comparison.sentences()))]


def _has_preferences(folder: Path) -> bool:
    from rejoinder.scoring.folder import read_run_about

    return bool(read_run_about(folder)["counts"].get("preference"))


def _compare_metrics(run: str, metrics: tuple[str, ...], by: str | None, seed: int) -> list[Result]:
    from rejoinder.comparison.compare import compare

    return [
        (
            [
                result.leaderboard(),
                *([result.matrix()] if result.differences else []),
                *(result.slices.tables() if result.slices else []),
            ],
            result.sentence(),
        )
        for result in compare(run, metrics=metrics or None, seed=seed, by=by)
    ]


def _compare_preferences(run: str) -> list[Result]:
    from rejoinder.annotation.analysis.judgements import read_judged_records
    from rejoinder.comparison.preferences import rank_by_preference
    from rejoinder.errors import InputError

    rankings = rank_by_preference(read_judged_records(run).records)
    if not rankings:
        raise InputError(f"{run} has no preferences; to compare scores, name a run folder (rejoinder score makes one)")
    return [([ranking.table()], ranking.sentence()) for ranking in rankings]
