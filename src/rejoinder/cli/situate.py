"""``rejoinder situate``: build test sets of requests in a situation, with distractors and graded candidates."""

from __future__ import annotations

from typing import Any

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    output_option,
    project_output,
    records_output_option,
    seed_option,
    settings_options,
    sheet_output,
    table_format_option,
)
from rejoinder.situation.settings import SituationSettings

GROUP = _help.TEST_SETS

seeds_argument = click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")


@click.command("build", short_help="Build questions with distractors and situations")
@seeds_argument
@records_output_option(metavar="SET.jsonl")
@settings_options(SituationSettings)
@click.option("--contradictions", metavar="FILE.toml", help="Keywords of statements that exclude each other [our own].")
@seed_option
@table_format_option
def build(
    seeds: tuple[str, ...],
    output: str,
    contradictions: str | None,
    form: str,
    **settings: Any,
) -> None:
    """Make a question of each seed: replies to other seeds as distractors, and statements that do not matter.

    Algorithms 1 and 2 and Appendix B.2 of Otani et al. 2023. The candidates have no grades yet: write a project for
    people with rejoinder situate project grade SET.jsonl. SET.card.json and SET.card.md are written beside SET.jsonl.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.writer import write
    from rejoinder.selection.card import write_test_set_card
    from rejoinder.situation.build import situate
    from rejoinder.situation.card import render_situation_card, situation_step_table
    from rejoinder.table import FORMATS

    with progress_bar("filtering") as progress:
        result = situate(seeds, SituationSettings(**settings), contradictions, progress=progress)
    write(result.questions, output)
    card, page = write_test_set_card(result.card, output, render_situation_card)
    click.echo(FORMATS[form](situation_step_table(result.card)))
    click.echo(f"written: {output}, {card.name} and {page.name}", err=True)
    click.echo(f"next: rejoinder situate project grade {output} -o PROJECT.toml", err=True)


@click.command("seeds", short_help="Make seeds from questions or items, or mine requests and goals")
@click.argument("seeds", nargs=-1, metavar="FILES...")
@records_output_option(required=False)
@click.option("--mine", is_flag=True, help="Mine requests and their goals from files of ATOMIC and ConceptNet instead.")
@click.option("--corpus", default="dataset:corpus/dialogues", show_default=True, metavar="FILE",
              help="With --mine: the dialogues in which requests are counted.")  # fmt: skip
@click.option("--times", type=click.IntRange(min=1), default=5, show_default=True,
              help="With --mine: how often people must ask for something at least.")  # fmt: skip
def seeds(seeds: tuple[str, ...], output: str, mine: bool, corpus: str, times: int) -> None:
    """Make seeds from questions or items: a request, its goal, the reply and the relevant statements.

    With --mine, step 1 of the paper: FILES are triples of ATOMIC or ConceptNet, or dataset:knowledge/NAME [both], and
    the result is requests with their goals, which rejoinder situate project situation and write read.
    """
    if mine:
        _mine_requests(seeds or ("dataset:knowledge/atomic", "dataset:knowledge/conceptnet"), output, corpus, times)
        return
    from rejoinder.data.inputs.seeds import read_seeds, write_seeds

    if not seeds:
        raise click.UsageError("Missing argument 'FILES...'.")
    n = write_seeds(read_seeds(*seeds), output)
    click.echo(f"written: {n:,} seeds", err=True)


def _mine_requests(knowledge: tuple[str, ...], output: str, corpus: str, times: int) -> None:
    from rejoinder.data.goals import mine_requests, write_requests
    from rejoinder.data.inputs import read_dialogues
    from rejoinder.data.knowledge import find_knowledge_files

    paths = [path for name in knowledge for path in find_knowledge_files(name)]
    dialogues = (one for one in read_dialogues([corpus]) if one.split in (None, "train"))
    n = write_requests(mine_requests(paths, dialogues, times), output)
    click.echo(f"written: {n:,} requests with a goal, which nobody has checked; choose those that make sense", err=True)
    if output != "-":
        click.echo(f"next: rejoinder situate project write {output} -o PROJECT.toml", err=True)


@click.command("project", short_help="Write an annotation project for one of the human steps")
@click.argument("step", type=click.Choice(["situation", "write", "validate", "complete", "grade"]))
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@output_option(project_output, "The project file to write.", metavar="PROJECT.toml", required=True)
@click.option(
    "--write-csv", type=sheet_output, metavar="FILE", help="Also write a CSV sheet for the grades (step grade only)."
)
def project(step: str, files: tuple[str, ...], output: str, write_csv: str | None) -> None:
    """Write a project for rejoinder annotate: one of the steps that people do for a situated set.

    \b
    situation  2  facts that hint at the goal, from requests and goals
    write      3  an accepting and a rejecting reply, from requests and goals
    validate   4  whether a reply helps, from the texts of step 3 (rejoinder annotate --export texts)
    complete   5  facts that make a reply fit, from seeds, or from the texts of steps 2 and 4
    grade      8  Bad, Acceptable or Best, from a set that rejoinder situate build wrote
    """
    from rejoinder.situation.projects import write_step_project

    if write_csv and step != "grade":
        raise click.UsageError("--write-csv is for the step grade only; leave it out")
    n = write_step_project(step, files, output)
    click.echo(f"written: {output} with {n:,} records; serve it with: rejoinder annotate {output} --raters 3", err=True)
    if write_csv:
        from rejoinder.situation.grades import read_situated_questions, write_grading_sheet

        rows = write_grading_sheet(read_situated_questions(files), write_csv)
        click.echo(f"written: {write_csv} with {rows:,} rows: 0 is Bad, 1 Acceptable, 2 Best", err=True)


@click.command("grade", short_help="Set grades from people's ratings")
@click.argument("set_", metavar="SET.jsonl")
@click.option(
    "--people", required=True, metavar="FILE", help="People's ratings: the CSV sheet, JSONL, or PROJECT.toml."
)
@records_output_option(metavar="GRADED.jsonl")
@click.option("--aggregation", default="minimax_entropy_ordinal", show_default=True, metavar="NAME",
              help="How several ratings become a grade (see docs/agreement.md).")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep questions that need more ratings.")
def grade(set_: str, people: str, output: str, aggregation: str, keep: bool) -> None:
    """Set the grades of the candidates of a situated set from people's ratings."""
    from rejoinder.annotation.analysis.judgements import read_judged_records
    from rejoinder.data.writer import write
    from rejoinder.selection.card import write_test_set_card
    from rejoinder.selection.sheet import read_scoring_sheet
    from rejoinder.situation import grades
    from rejoinder.situation.card import read_situation_card, render_situation_card

    questions = grades.read_situated_questions([set_])
    is_sheet = people.lower().endswith((".csv", ".tsv"))
    ratings = (
        grades.grading_sheet_to_ratings(read_scoring_sheet(people, questions))
        if is_sheet
        else read_judged_records(people).records
    )
    graded = grades.grade_questions(questions, ratings, aggregation, keep)
    write(graded.questions, output)
    if card := read_situation_card(set_):
        write_test_set_card(
            {**card, "questions": len(graded.questions), "grades": graded.facts}, output, render_situation_card
        )
    click.echo(f"written: {output} with {len(graded.questions):,} graded questions", err=True)
    if graded.again:
        ids = ", ".join(graded.again[:8]) + (" …" if len(graded.again) > 8 else "")
        click.echo(f"{len(graded.again):,} questions need more ratings (too few, or all grades equal): {ids}", err=True)


@click.command("statements", short_help="Let a model write more statements")
@click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")
@records_output_option(required=False)
@click.option(
    "--writer", metavar="NAME", help="A folder that rejoinder train statements wrote, or a sequence model [our own]."
)
@click.option("--category", "categories", multiple=True, metavar="NAME", help="Only this category; may be repeated.")
@click.option("--beam", type=click.IntRange(min=1), default=3, show_default=True, help="The width of the beam.")
@click.option("-n", type=click.IntRange(min=1), default=3, show_default=True, help="Statements per seed and category.")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="The device [cuda if there is one].")
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

    The result is the seeds with more statements, which nobody has checked: let people check them with
    rejoinder situate project complete.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.inputs.seeds import read_seeds, write_seeds
    from rejoinder.data.questions import CATEGORIES
    from rejoinder.models.statements.model import open_statement_writer
    from rejoinder.situation.statement_writer import add_statements

    seed_records = read_seeds(*seeds)
    model = open_statement_writer(writer, device)
    with progress_bar("writing") as progress:
        result = add_statements(seed_records, model, categories or CATEGORIES, n, beam, progress)
    write_seeds(result, output)
    count = sum(len(seed.statements) for seed in result) - sum(len(seed.statements) for seed in seed_records)
    click.echo(f"{count:,} new statements for {len(result):,} seeds; let people check them", err=True)


@click.group("situate", short_help="Build test sets of requests in a situation")
def command() -> None:
    """Build situated test sets as SUGAR was built: distractors, situations, and grades by people.

    SEEDS is JSONL with one seed per line (id, request, goal, reply, statements with categories, polarity), questions or
    items in our schema, or dataset:NAME such as dataset:sugar/0/train.
    """


for _subcommand in (build, statements, project, grade, seeds):
    command.add_command(_subcommand)
