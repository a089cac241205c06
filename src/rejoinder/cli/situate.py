"""``rejoinder situate``: test sets of requests in a situation, with distractors and graded candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli._options import project_output, records_output, seed_option, sheet_output, table_format_option

if TYPE_CHECKING:
    from rejoinder.types import Question

seeds_argument = click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")


@click.command("build", short_help="Questions with distractors and situations")
@seeds_argument
@click.option("-o", "--output", required=True, type=records_output(), metavar="SET.jsonl", help="Where to.")
@click.option("--candidates", type=click.IntRange(min=2), default=3, show_default=True, help="Of each question.")
@click.option("--statements", type=click.IntRange(min=0), default=12, show_default=True, help="Of each question.")
@click.option("--overlap", type=click.FloatRange(0, 1, min_open=True), default=0.75, show_default=True,
              help="Of content words, from which on two texts say nearly the same.")  # fmt: skip
@click.option("--similarity", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True,
              help="Of embeddings, from which on a reply may do for both requests.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=0), default=3, show_default=True, help="Of adversarial filtering.")
@click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True, help="Of a round.")
@click.option("--margin", type=click.FloatRange(min=0), default=0.05, show_default=True, help="Of an easy distractor.")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="What gives the embeddings.")
@click.option("--contradictions", metavar="FILE.toml", help="Keywords of statements that exclude others [our own].")
@seed_option
@table_format_option
def build(seeds: tuple[str, ...], output: str, contradictions: str | None, form: str, **chosen: Any) -> None:
    """Make a question of each seed: replies of other seeds as distractors, and statements that do not matter.

    Algorithms 1 and 2 and Appendix B.2 of Otani et al. 2023. Nobody has graded the candidates yet: write a project for
    people with rejoinder situate project grade SET.jsonl. Beside SET.jsonl stand SET.card.json and SET.card.md.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.writer import write
    from rejoinder.situation.build import situate
    from rejoinder.situation.card import step_table, write_card
    from rejoinder.situation.settings import SituationSettings
    from rejoinder.table import FORMATS

    with progress_bar("filtering") as progress:
        made = situate(seeds, SituationSettings(**chosen), contradictions, progress=progress)
    write(made.questions, output)
    machine, page = write_card(made.card, output)
    click.echo(FORMATS[form](step_table(made.card)))
    click.echo(f"written: {output}, {machine.name} and {page.name}", err=True)
    click.echo(f"then: rejoinder situate project grade {output} -o PROJECT.toml", err=True)


@click.command("seeds", short_help="Seeds of questions or items")
@seeds_argument
@click.option("-o", "--output", default="-", type=records_output(), metavar="FILE", help="Where to [standard output].")
def seeds(seeds: tuple[str, ...], output: str) -> None:
    """Take questions or items apart into seeds: a request, its goal, the reply and the relevant statements."""
    from rejoinder.data.seeds import read_seeds, write_seeds

    n = write_seeds(read_seeds(*seeds), output)
    click.echo(f"written: {n:,} seeds", err=True)


@click.command("project", short_help="A project for people: one of the human steps")
@click.argument("step", type=click.Choice(["situation", "write", "validate", "complete", "grade"]))
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("-o", "--output", required=True, type=project_output, metavar="PROJECT.toml", help="Where to.")
@click.option(
    "--write-csv", type=sheet_output, metavar="FILE", help="Also write a sheet to grade on (of the step grade)."
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
    from rejoinder.situation.projects import write_step_project

    if write_csv and step != "grade":
        raise click.UsageError("a sheet can be written of the step grade only")
    n = write_step_project(step, files, output)
    click.echo(f"written: {output} over {n:,} records; serve it with: rejoinder annotate {output} --raters 3", err=True)
    if write_csv:
        from rejoinder.situation.grades import write_grading_sheet

        rows = write_grading_sheet(_read_questions(files), write_csv)
        click.echo(f"written: {write_csv} with {rows:,} rows: 0 is Bad, 1 Acceptable, 2 Best", err=True)


@click.command("grade", short_help="Grades from what people said")
@click.argument("set_", metavar="SET.jsonl")
@click.option("--people", required=True, metavar="FILE", help="The sheet, ratings in JSONL, or PROJECT.toml.")
@click.option("-o", "--output", required=True, type=records_output(), metavar="GRADED.jsonl", help="Where to.")
@click.option("--aggregation", default="minimax_entropy_ordinal", show_default=True, metavar="NAME",
              help="How several ratings become a grade (see docs/agreement.md).")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep questions that must be rated again.")
def grade(set_: str, people: str, output: str, aggregation: str, keep: bool) -> None:
    """Give the candidates of a situated set the grades that people's ratings come to."""
    from rejoinder.annotation.judgements import read_judged_records
    from rejoinder.data.writer import write
    from rejoinder.selection.sheet import read_sheet
    from rejoinder.situation import grades
    from rejoinder.situation.card import read_card, write_card

    questions = _read_questions([set_])
    is_sheet = people.lower().endswith((".csv", ".tsv"))
    said = grades.to_ratings(read_sheet(people, questions)) if is_sheet else read_judged_records(people).records
    found = grades.grade_questions(questions, said, aggregation, keep)
    write(found.questions, output)
    if card := read_card(set_):
        write_card({**card, "questions": len(found.questions), "grades": found.facts}, output)
    click.echo(f"written: {output} with {len(found.questions):,} graded questions", err=True)
    if found.again:
        shown = ", ".join(found.again[:8]) + (" …" if len(found.again) > 8 else "")
        click.echo(
            f"{len(found.again):,} questions must be rated again, having one grade or too few: {shown}", err=True
        )


def _read_questions(files: Sequence[str]) -> list[Question]:
    from rejoinder.data.collection import read_files
    from rejoinder.errors import InputError

    found = list(read_files(files).questions.values())
    if not found:
        raise InputError(f"{', '.join(files)}: holds no questions; build some with: rejoinder situate build")
    return found


@click.command("statements", short_help="More statements, written by a model")
@click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")
@click.option(
    "-o", "--output", default="-", type=records_output(), metavar="FILE", help="Where the seeds go [standard output]."
)
@click.option("--writer", metavar="NAME", help="What rejoinder train statements made, or a sequence model [our own].")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="Only of this category (repeatable).")
@click.option("--beam", type=click.IntRange(min=1), default=3, show_default=True, help="The width of the beam.")
@click.option("-n", type=click.IntRange(min=1), default=3, show_default=True, help="Statements a seed and category.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="[cuda where there is one]")
def statements(
    seeds: tuple[str, ...],
    output: str,
    writer: str | None,
    categories: tuple[str, ...],
    beam: int,
    n: int,
    device: str | None,
) -> None:
    """Let a model write statements for each seed and category, after its request, goal and reply (needs torch).

    What comes out are the seeds with more statements, unchecked: let people look through them with
    rejoinder situate project complete.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.questions import CATEGORIES
    from rejoinder.data.seeds import read_seeds, write_seeds
    from rejoinder.models.statements.model import open_writer
    from rejoinder.situation.statement_writer import add_statements

    read = read_seeds(*seeds)
    opened = open_writer(writer, device)
    with progress_bar("writing") as progress:
        made = add_statements(read, opened, categories or CATEGORIES, n, beam, progress)
    write_seeds(made, output)
    more = sum(len(one.statements) for one in made) - sum(len(one.statements) for one in read)
    click.echo(f"{more:,} statements more for {len(made):,} seeds; let people look through them", err=True)


@click.group("situate", short_help="Test sets of requests in a situation")
def command() -> None:
    """Build situated test sets as SUGAR was built: distractors, situations, and grades by people.

    SEEDS is JSONL with one seed a line (id, request, goal, reply, statements with categories, polarity), questions or
    items in our schema, or dataset:NAME such as dataset:sugar/0/train.
    """


for one in (build, statements, project, grade, seeds):
    command.add_command(one)
