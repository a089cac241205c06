"""``rejoinder rank``: the candidates of questions in order, by rankers that read the situation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import records_output, run_output, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.selection.ranking.rank import RankingRun
    from rejoinder.selection.ranking.train_overlap import TrainOverlap
    from rejoinder.table import Table

RANKER, INPUT = "ranker", "u+S"


@click.command(short_help="Order candidates by what fits the situation")
@click.argument("questions")
@click.option(
    "--ranker",
    "rankers",
    multiple=True,
    default=(RANKER,),
    show_default=True,
    metavar="SPEC",
    help="e.g. ranker, tfidf, aptness or ./mine.py:function; may be repeated.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    default=(INPUT,),
    show_default=True,
    metavar="NAME",
    help="What rankers are shown: u, u+S1, u+S, or 5, 10, 15 distractors; may be repeated.",
)
@click.option("-o", "--out", type=run_output(Path), help="The run folder [runs/NAME-rank-DIGEST].")
@click.option(
    "--write",
    "file",
    type=records_output(),
    metavar="FILE",
    help="Also write the order of every question here (JSONL; - for out).",
)
@click.option("--train", metavar="FILE", help="What rankers were trained on: count what of it comes again.")
@click.option(
    "--show", type=click.IntRange(min=0), default=3, show_default=True, metavar="N", help="Show the first N orders."
)
@click.option("--all-questions", "everything", is_flag=True, help="Evaluate also where no candidate is Bad.")
@seed_option
@table_format_option
def command(
    questions: str,
    rankers: tuple[str, ...],
    inputs: tuple[str, ...],
    out: Path | None,
    file: str | None,
    train: str | None,
    show: int,
    everything: bool,
    seed: int,
    form: str,
) -> None:
    """Order the candidates of every question, and say how good the orders are where there are grades.

    QUESTIONS is a file of questions (JSONL, gzip or not) or dataset:NAME. A ranker is any system; the usual one reads
    the statements of the situation that matter. Who has been asked before is not asked again.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.reports.output import join_tables
    from rejoinder.selection.ranking.rank import rank

    sharing = _read_train_overlap(train)
    with progress_bar("ranking") as progress:
        run = rank(questions, rankers, inputs, out, progress and (lambda _, done, total: progress(done, total)))
    if file is not None:
        _write_rankings(run, file)
    if file != "-":
        click.echo(join_tables(_make_tables(run, sharing, show, everything, seed), form))
    for name, signature in next(iter(run.ranked.values())).signatures.items():
        click.echo(f"{name}: {signature}", err=True)
    known = len(run.ranked) * len(next(iter(run.ranked.values())).rankers) - run.fresh
    click.echo(f"results: {run.folder}" + (f" ({known} answers were there before)" if known else ""), err=True)


def _read_train_overlap(train: str | None) -> TrainOverlap | None:
    if train is None:
        return None
    from rejoinder.data.inputs import Input
    from rejoinder.selection.ranking.rank import read_gradable_questions
    from rejoinder.selection.ranking.train_overlap import TrainOverlap

    opened = Input(train)
    try:
        return TrainOverlap.of(read_gradable_questions(opened))
    finally:
        opened.close()


def _write_rankings(run: RankingRun, file: str) -> None:
    import orjson

    from rejoinder.files import atomic_write
    from rejoinder.selection.ranking.result import to_lines

    with atomic_write(file) as opened:
        for ranked in run.ranked.values():
            for line in to_lines(ranked):
                opened.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _make_tables(run: RankingRun, sharing: TrainOverlap | None, show: int, everything: bool, seed: int) -> list[Table]:
    from rejoinder.reports import ranking as report
    from rejoinder.selection.ranking.evaluation import evaluate_ranking

    shown = [report.order_table(ranked, show) for ranked in run.ranked.values()] if show else []
    seen = sharing.kinds if sharing else None
    found = {given: evaluate_ranking(ranked, everything, seen, seed) for given, ranked in run.ranked.items()}
    told = {given: one for given, one in found.items() if one.ranked.questions}
    for one in list(found.values())[:1]:
        if not one.ranked.questions:
            why = "; ".join(f"{n:,} with {reason}" for reason, n in one.left_out.items())
            click.echo(f"nothing to evaluate: {why}", err=True)
    tables = [table for one in told.values() for table in report.evaluation_tables(one)]
    curve = report.distractor_table(told)
    if sharing is not None and told:
        tables.append(report.train_overlap_table(sharing.count(next(iter(told.values())).ranked.questions)))
    return [*shown, *([curve] if curve else []), *tables]
