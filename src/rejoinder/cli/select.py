"""``rejoinder select``: systems choose among the candidates of a test set, and are ranked by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import (
    choose_engine,
    engine_options,
    page_output,
    run_output,
    seed_option,
    table_format_option,
)

if TYPE_CHECKING:
    from rejoinder.cli._progress import ProgressReporter
    from rejoinder.selection.select import SelectionRun


@click.command(short_help="Rank systems by what they select")
@click.argument("testset")
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="SPEC",
    help="e.g. tfidf, aptness, hf:NAME or ./mine.py:function; may be repeated.",
)
@click.option("-o", "--out", type=run_output(Path), help="The run folder [runs/NAME-select-DIGEST].")
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
    "--turned",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Ask N questions again with their candidates turned round.",
)
@seed_option
@engine_options("1 here, all of a cluster")
@table_format_option
def command(
    testset: str,
    systems: tuple[str, ...],
    out: Path | None,
    report: Path | None,
    disputed: int,
    turned: int,
    seed: int,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Let every system score every candidate of TESTSET; the one with the highest score is its answer.

    TESTSET is a file of questions (JSONL, gzip or not, or dataset:NAME), or the folder of an earlier run, which is then
    shown again. A system that has answered the same questions before is not asked again.
    """
    from rejoinder.reports.output import join_tables, save_report
    from rejoinder.reports.selection import selection_tables
    from rejoinder.reports.selection_page import render_selection_page
    from rejoinder.selection.evaluate import evaluate_selection

    run, watch = _run(testset, systems, out, turned, (engine, processes, address))
    found = evaluate_selection(run.selected, disputed, seed)
    click.echo(join_tables(selection_tables(found), form))
    for name, signature in run.selected.signatures.items():
        click.echo(f"{name}: {signature}", err=True)
    if report is not None:
        save_report(render_selection_page(found, run.about, run.folder), report, run.folder)
        click.echo(f"report: {report}", err=True)
    if watch is not None and run.fresh:
        asked = len(run.fresh)
        watch.tell(asked * len(run.selected.questions), "answers", run.folder, f" of {asked:,} systems")
    known = len(run.selected.systems) - len(run.fresh)
    click.echo(f"results: {run.folder}" + (f" ({known} systems had answered before)" if known else ""), err=True)


def _run(
    testset: str,
    systems: tuple[str, ...],
    out: Path | None,
    turned: int,
    engine: tuple[str, int | None, str | None],
) -> tuple[SelectionRun, ProgressReporter | None]:
    from rejoinder.cli._progress import show_progress
    from rejoinder.selection.folder import is_selection_run
    from rejoinder.selection.select import select

    if is_selection_run(Path(testset)):
        if out is not None:
            raise click.UsageError(f"{testset} is a run already: leave out -o, or name the test set itself")
        return select(testset, systems), None
    computing = choose_engine(*engine)
    with show_progress("asking", "questions", computing) as watch:
        show = (lambda _, done, total: progress(done, total)) if (progress := watch.progress) is not None else None
        return select(testset, systems, out, turned, show, computing), watch
