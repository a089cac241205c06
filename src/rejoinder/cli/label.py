"""``rejoinder label``: why false candidates are false, labelled by people or suggested by rules."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, output_option, records_output, table_format_option

GROUP = _help.TEST_SETS


@click.command(short_help="Label why false candidates are false")
@click.argument("testset", required=False)
@output_option(records_output(), "The JSONL file for the labelled questions [standard output].")
@click.option("--suggest", is_flag=True, help="Suggest labels by rules; they are kept as suggestions, in 'meta'.")
@click.option("--accept", is_flag=True, help="Make suggestions labels, for candidates that have none yet.")
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="FILE", help="A file of labels from people.")
@click.option(
    "--for-people",
    type=OutputPath("JSONL", ".jsonl", ".csv"),
    metavar="FILE",
    help="Write the false candidates for people to label: *.jsonl for `rejoinder annotate`, *.csv for a spreadsheet.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Measure how often the rules are right, on the labels of TESTSET [our own examples].",
)
@table_format_option
def command(
    testset: str | None,
    output: str | None,
    suggest: bool,
    accept: bool,
    source: Path | None,
    for_people: str | None,
    measure: bool,
    form: str,
) -> None:
    """Give the false candidates of TESTSET error labels: inconsistent, insufficient, wrong-subject, wrong-tense.

    Labels come from people (--for-people, then --from) or are suggested by rules for English (--suggest), which
    --measure compares with labels from people.
    """
    if measure:
        if suggest or accept or source or for_people or output:
            raise click.UsageError("--measure changes nothing: leave out the other options")
        _print_accuracy(testset, form)
        return
    if testset is None:
        raise click.UsageError("Missing argument 'TESTSET'.")
    if not (suggest or accept or source or for_people):
        raise click.UsageError("choose what to do: --suggest, --accept, --from FILE, --for-people FILE or --measure")
    if source and (suggest or accept):
        raise click.UsageError(
            "--from reads people's labels, --suggest and --accept use the rules; give one or the other"
        )
    if for_people:
        if source or accept or output:
            raise click.UsageError("--for-people writes one file only: leave out --from, --accept and -o")
        from rejoinder.selection.label_files import label, write_label_sheet

        write_label_sheet(label(testset, suggest=suggest).questions, for_people)
        click.echo(f"written: {for_people}", err=True)
        return
    _write_labels(testset, output or "-", suggest, accept, source)


def _print_accuracy(testset: str | None, form: str) -> None:
    from rejoinder.reports.selection import OWN_EXAMPLES_NOTE, label_accuracy_table
    from rejoinder.selection.label_files import read_test_set
    from rejoinder.selection.labels import read_labelled_questions
    from rejoinder.table import join_tables

    if testset is None:
        parts = {"reported on": read_labelled_questions("test"), "developed on": read_labelled_questions("valid")}
        tables = [
            label_accuracy_table(questions, f"our own examples, {part}", OWN_EXAMPLES_NOTE)
            for part, questions in parts.items()
        ]
    else:
        tables = [label_accuracy_table(read_test_set(testset), testset)]
    click.echo(join_tables(tables, form))


def _write_labels(testset: str, output: str, suggest: bool, accept: bool, source: Path | None) -> None:
    from rejoinder.data.writer import write
    from rejoinder.reports.selection import describe_label_counts
    from rejoinder.selection.label_files import label
    from rejoinder.text.language import note_other_languages

    labelled = label(testset, suggest=suggest, accept=accept, source=source)
    questions = labelled.questions
    texts = [candidate.text for question in questions for candidate in question.candidates] if suggest else []
    for note in note_other_languages(texts, "the rules are made for English"):
        click.echo(note, err=True)
    if source is not None:
        click.echo(f"{labelled.judged:,} candidates judged by people", err=True)
    write(questions, output)
    click.echo(describe_label_counts(questions), err=True)
    if output != "-":
        click.echo(f"written: {output}", err=True)
