"""``rejoinder situate project`` and ``grade``: the human steps, through the annotation page or a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import project_file, records_file, sheet_file

if TYPE_CHECKING:
    from rejoinder.types import Question


@click.command("project", short_help="A project for people: one of the human steps")
@click.argument("step", type=click.Choice(["situation", "write", "validate", "complete", "grade"]))
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("-o", "--output", required=True, type=project_file, metavar="PROJECT.toml", help="Where to.")
@click.option(
    "--write-csv", type=sheet_file, metavar="FILE", help="Also write a sheet to grade on (of the step grade)."
)
def project(step: str, files: tuple[str, ...], output: str, write_csv: str | None) -> None:
    """Write a project for rejoinder annotate: one of the steps that people do for a situated set.

    \b
    situation  2  facts from which the goal can be guessed, of requests and goals
    write      3  an accepting and a rejecting reply, of requests and goals
    validate   4  whether a reply helps, of what rejoinder annotate exported as texts in step 3
    complete   5  facts that make a reply fit, of seeds, or of the texts of steps 2 and 4
    grade      8  Bad, Acceptable or Best, of a set that rejoinder situate build wrote
    """
    from rejoinder.situating.projects import write_project

    if write_csv and step != "grade":
        raise click.UsageError("a sheet can be written of the step grade only")
    n = write_project(step, files, output)
    click.echo(f"written: {output} over {n:,} records; serve it with: rejoinder annotate {output} --raters 3", err=True)
    if write_csv:
        from rejoinder.situating.sheet import write_grading_sheet

        rows = write_grading_sheet(_questions(files), write_csv)
        click.echo(f"written: {write_csv} with {rows:,} rows: 0 is Bad, 1 Acceptable, 2 Best", err=True)


@click.command("grade", short_help="Grades from what people said")
@click.argument("set_", metavar="SET.jsonl")
@click.option("--people", required=True, metavar="FILE", help="The sheet, ratings in JSONL, or PROJECT.toml.")
@click.option("-o", "--output", required=True, type=records_file(), metavar="GRADED.jsonl", help="Where to.")
@click.option("--aggregation", default="minimax_entropy_ordinal", show_default=True, metavar="NAME",
              help="How several ratings become a grade (see docs/agreement.md).")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep questions that must be rated again.")
def grade(set_: str, people: str, output: str, aggregation: str, keep: bool) -> None:
    """Give the candidates of a situated set the grades that people's ratings come to."""
    from rejoinder.cli import _judged
    from rejoinder.data.writing import write
    from rejoinder.selection.sheet import read_sheet
    from rejoinder.situating import grading
    from rejoinder.situating.card import read_card, write_card

    questions = _questions([set_])
    is_sheet = people.lower().endswith((".csv", ".tsv"))
    said = grading.ratings_of(read_sheet(people, questions)) if is_sheet else _judged.said(people)[0]
    found = grading.grade(questions, said, aggregation, keep)
    write(found.questions, output)
    if card := read_card(set_):
        write_card({**card, "questions": len(found.questions), "grades": found.facts}, output)
    click.echo(f"written: {output} with {len(found.questions):,} graded questions", err=True)
    if found.again:
        shown = ", ".join(found.again[:8]) + (" …" if len(found.again) > 8 else "")
        click.echo(
            f"{len(found.again):,} questions must be rated again, having one grade or too few: {shown}", err=True
        )


def _questions(files: Sequence[str]) -> list[Question]:
    from rejoinder.data.collection import read_files
    from rejoinder.errors import InputError

    found = list(read_files(files).questions.values())
    if not found:
        raise InputError(f"{', '.join(files)}: holds no questions; build some with: rejoinder situate build")
    return found
