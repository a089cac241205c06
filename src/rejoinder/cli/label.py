"""``rejoinder label``: why false candidates are false; by people, or suggested by rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import Output, records_file, table_form

if TYPE_CHECKING:
    from rejoinder.types import Question


@click.command(short_help="Why false candidates are false")
@click.argument("testset", required=False)
@click.option(
    "-o", "--out", type=records_file(), metavar="FILE", help="Where the labelled questions go [standard output]."
)
@click.option("--suggest", is_flag=True, help="Suggest labels by rules; they stay suggestions, in 'meta'.")
@click.option("--accept", is_flag=True, help="Take what was suggested as labels, where there are none yet.")
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="FILE", help="Labels that people gave.")
@click.option(
    "--for-people",
    type=Output("JSONL", ".jsonl", ".csv"),
    metavar="FILE",
    help="Write the false candidates for people: FILE.jsonl for `rejoinder annotate`, FILE.csv for a spreadsheet.",
)
@click.option("--measure", is_flag=True, help="How often the rules are right, on TESTSET's labels [our own examples].")
@table_form
def command(
    testset: str | None,
    out: str | None,
    suggest: bool,
    accept: bool,
    source: Path | None,
    for_people: str | None,
    measure: bool,
    form: str,
) -> None:
    """Give the false candidates of TESTSET error labels: inconsistent, insufficient, wrong-subject, wrong-tense.

    Labels come from people (--for-people, then --from) or are suggested by rules for English (--suggest), which
    --measure holds against labels that people gave.
    """
    if measure:
        if suggest or accept or source or for_people or out:
            raise click.UsageError("--measure changes nothing: leave out the other options")
        _measure(testset, form)
        return
    if testset is None:
        raise click.UsageError("Missing argument 'TESTSET'.")
    if not (suggest or accept or source or for_people):
        raise click.UsageError("say what to do: --suggest, --accept, --from FILE, --for-people FILE or --measure")
    if source and (suggest or accept):
        raise click.UsageError("--from takes people's labels, and --suggest and --accept the rules': one at a time")
    if for_people:
        if source or accept or out:
            raise click.UsageError("--for-people writes one file only: leave out --from, --accept and -o")
        _hand_out(testset, for_people, suggest)
        return
    _label(testset, out or "-", suggest, accept, source)


def _questions(testset: str) -> list[Question]:
    from rejoinder.data.inputs import read
    from rejoinder.selection.result import check_questions

    questions = list(read(testset).questions.values())
    check_questions(questions, testset)
    return questions


def _measure(testset: str | None, form: str) -> None:
    from rejoinder.reports.labels import OURS, measured_table
    from rejoinder.reports.output import together
    from rejoinder.selection.labels import labelled_questions

    if testset is None:
        parts = {"reported on": labelled_questions("test"), "developed on": labelled_questions("valid")}
        tables = [measured_table(questions, f"our own examples, {part}", OURS) for part, questions in parts.items()]
    else:
        tables = [measured_table(_questions(testset), testset)]
    click.echo(together(tables, form))


def _hand_out(testset: str, file: str, suggest: bool) -> None:
    from rejoinder.data.writer import write
    from rejoinder.files import whole_file
    from rejoinder.selection.label_files import for_page, for_spreadsheet
    from rejoinder.selection.label_rules import suggest as suggested

    questions = _questions(testset)
    if suggest:
        questions = [suggested(question) for question in questions]
    if file.endswith(".csv"):
        with whole_file(file) as opened:
            opened.write(for_spreadsheet(questions))
    else:
        write(for_page(questions), file)
    click.echo(f"written: {file}", err=True)


def _label(testset: str, out: str, suggest: bool, accept: bool, source: Path | None) -> None:
    from rejoinder.data.writer import write
    from rejoinder.reports.labels import counts
    from rejoinder.selection.label_files import read_labels
    from rejoinder.selection.label_rules import suggest as suggested
    from rejoinder.selection.labels import accepted

    questions = _questions(testset)
    if source is not None:
        found = read_labels(questions, source)
        questions = found.questions
        click.echo(f"{found.judged:,} candidates judged by people", err=True)
    if suggest:
        questions = [suggested(question) for question in questions]
    if accept:
        questions = [accepted(question) for question in questions]
    write(questions, out)
    click.echo(counts(questions), err=True)
    if out != "-":
        click.echo(f"written: {out}", err=True)
