"""``rejoinder rank``: order the candidates of questions by rankers that read the situation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option, records_output, run_output, seed_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.selection.ranking.rank import RankingRun
    from rejoinder.selection.ranking.train_overlap import TrainOverlap
    from rejoinder.table import Table

GROUP = _help.TEST_SETS

RANKER, INPUT = "ranker", "u+S"


@click.command(short_help="Order candidates by how well they fit the situation")
@click.argument("questions")
@click.option(
    "--ranker",
    "rankers",
    multiple=True,
    default=(RANKER,),
    show_default=True,
    metavar="SPEC",
    help="A ranker, e.g. ranker, tfidf, aptness or ./mine.py:function; may be repeated.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    default=(INPUT,),
    show_default=True,
    metavar="NAME",
    help="What rankers see: u, u+S1, u+S, or 5, 10 or 15 distractors; may be repeated.",
)
@output_option(run_output(Path), "The run folder [runs/NAME-rank-DIGEST].", metavar="RUN")
@click.option(
    "--write",
    "file",
    type=records_output(),
    metavar="FILE",
    help='Also write the order of every question, as JSONL; "-" is standard output.',
)
@click.option("--train", metavar="FILE", help="The training data of the rankers: count how much of it is in QUESTIONS.")
@click.option(
    "--show", type=click.IntRange(min=0), default=3, show_default=True, metavar="N", help="Print the first N orders."
)
@click.option("--all-questions", is_flag=True, help="Also evaluate questions without a Bad candidate.")
@seed_option
@table_format_option
def command(
    questions: str,
    rankers: tuple[str, ...],
    inputs: tuple[str, ...],
    output: Path | None,
    file: str | None,
    train: str | None,
    show: int,
    all_questions: bool,
    seed: int,
    form: str,
) -> None:
    """Order the candidates of every question, and evaluate the orders where there are grades.

    QUESTIONS is a file of questions (JSONL, gzip or not) or dataset:NAME. A ranker is any system; the default one
    reads the statements of the situation that matter. Rankers that already answered are skipped.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.selection.ranking.rank import rank
    from rejoinder.selection.ranking.result import write_rankings
    from rejoinder.selection.ranking.train_overlap import read_train_overlap
    from rejoinder.table import join_tables

    overlap = None if train is None else read_train_overlap(train)
    with progress_bar("ranking") as progress:
        run = rank(questions, rankers, inputs, output, progress)
    if file is not None:
        write_rankings(run.ranked.values(), file)
    if file != "-":
        click.echo(join_tables(_make_tables(run, overlap, show, all_questions, seed), form))
    for name, signature in next(iter(run.ranked.values())).signatures.items():
        click.echo(f"{name}: {signature}", err=True)
    for note in _note_languages(run, rankers):
        click.echo(note, err=True)
    total = len(run.ranked) * len(next(iter(run.ranked.values())).rankers)
    note = f" (rankings computed earlier: {total - run.fresh} of {total})" if run.fresh < total else ""
    click.echo(f"results: {run.folder}{note}", err=True)


def _note_languages(run: RankingRun, rankers: tuple[str, ...]) -> list[str]:
    from rejoinder.text.language import note_other_languages

    if not any(ranker.startswith("ranker") for ranker in rankers or ("ranker",)):
        return []
    questions = next(iter(run.ranked.values())).questions
    texts = [candidate.text for question in questions for candidate in question.candidates]
    return note_other_languages(texts, "the ranker is made for English")


def _make_tables(
    run: RankingRun, overlap: TrainOverlap | None, show: int, all_questions: bool, seed: int
) -> list[Table]:
    from rejoinder.reports import ranking as report
    from rejoinder.selection.ranking.evaluation import evaluate_ranking

    orders = [report.ranking_order_table(ranked, show) for ranked in run.ranked.values()] if show else []
    kinds = overlap.kinds if overlap else None
    results = {name: evaluate_ranking(ranked, all_questions, kinds, seed) for name, ranked in run.ranked.items()}
    evaluated = {name: result for name, result in results.items() if result.ranked.questions}
    first = next(iter(results.values()), None)
    if first is not None and not first.ranked.questions:
        reasons = "; ".join(f"{n:,} with {reason}" for reason, n in first.left_out.items())
        click.echo(f"nothing to evaluate: {reasons}", err=True)
    tables = [table for result in evaluated.values() for table in report.ranking_tables(result)]
    curve = report.distractor_table(evaluated)
    if overlap is not None and evaluated:
        tables.append(report.train_overlap_table(overlap.count(next(iter(evaluated.values())).ranked.questions)))
    return [*orders, *([curve] if curve else []), *tables]
