"""``rejoinder select``: systems choose among the candidates of a test set, and are ranked by their choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    choose_engine,
    engine_options,
    output_option,
    page_output,
    run_output,
    seed_option,
    table_format_option,
)

if TYPE_CHECKING:
    from rejoinder.cli._progress import ProgressReporter
    from rejoinder.selection.select import SelectionRun

GROUP = _help.TEST_SETS
COMMON = 6
RESUMABLE = "always"


@click.command(short_help="Rank systems by the replies they choose in a test set")
@click.argument("testset")
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="SPEC",
    help="A system, e.g. tfidf, aptness, hf:NAME or ./mine.py:function; may be repeated.",
)
@output_option(run_output(Path), "The run folder [runs/NAME-select-DIGEST].", metavar="RUN")
@click.option("--report", type=page_output, metavar="FILE", help="Also write the HTML report.")
@click.option(
    "--disputed",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="List N questions on which systems disagree.",
)
@click.option(
    "--order-checks",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Ask N questions again with their candidates in reverse order.",
)
@seed_option
@engine_options("1 on this machine, all of a cluster")
@table_format_option
def command(
    testset: str,
    systems: tuple[str, ...],
    output: Path | None,
    report: Path | None,
    disputed: int,
    order_checks: int,
    seed: int,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Let every system score every candidate of TESTSET; the candidate with the highest score is its answer.

    TESTSET is a file of questions (JSONL, gzip or not, or dataset:NAME), or the folder of an earlier run, which is then
    printed again. Systems that already answered the same questions are skipped.
    """
    from rejoinder.reports.output import save_report
    from rejoinder.reports.selection import selection_tables
    from rejoinder.reports.selection_page import render_selection_page
    from rejoinder.selection.evaluate import evaluate_selection
    from rejoinder.table import join_tables

    run, reporter = _run_selection(testset, systems, output, order_checks, (engine, processes, address))
    result = evaluate_selection(run.selected, disputed, seed)
    click.echo(join_tables(selection_tables(result), form))
    for name, signature in run.selected.signatures.items():
        click.echo(f"{name}: {signature}", err=True)
    if report is not None:
        save_report(render_selection_page(result, run.about, run.folder), report, run.folder)
        click.echo(f"report: {report}", err=True)
    if reporter is not None and run.fresh:
        n = len(run.fresh)
        note = f" of {n:,} system{'s' if n != 1 else ''}"
        reporter.print_summary(n * len(run.selected.questions), "answers", run.folder, note)
    earlier = len(run.selected.systems) - len(run.fresh)
    note = f" ({earlier} system{'s' if earlier != 1 else ''} answered earlier)" if earlier else ""
    click.echo(f"results: {run.folder}{note}", err=True)


def _run_selection(
    testset: str,
    systems: tuple[str, ...],
    output: Path | None,
    order_checks: int,
    engine: tuple[str, int | None, str | None],
) -> tuple[SelectionRun, ProgressReporter | None]:
    from rejoinder.cli._progress import show_progress
    from rejoinder.selection.folder import is_selection_run
    from rejoinder.selection.select import select

    if is_selection_run(Path(testset)):
        if output is not None:
            raise click.UsageError(f"{testset} is already a run folder; leave out -o, or name the test set itself")
        return select(testset, systems), None
    compute_engine = choose_engine(*engine)
    with show_progress("asking", "questions", compute_engine) as reporter:
        return select(testset, systems, output, order_checks, reporter.progress, compute_engine), reporter
