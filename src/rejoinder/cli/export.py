"""``rejoinder export``: a test set for another evaluation program."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import folder_output_option

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Write a test set for another evaluation program")
@click.argument("testset")
@click.option("--to", required=True, metavar="NAME", help="The program: lm-eval or inspect.")
@folder_output_option()
@click.option("--name", metavar="NAME", help="The name of the task [that of TESTSET].")
@click.option(
    "--turn-end",
    metavar="TEXT",
    help="lm-eval: what ends a turn, e.g. the model's end-of-text token [a line break].",
)
def command(testset: str, to: str, output: Path, name: str | None, turn_end: str | None) -> None:
    """Write the questions of TESTSET (JSONL, or dataset:NAME) as a task of another program.

    The results of `rejoinder select` and of that program agree question by question; docs/selecting.md says with which
    settings.
    """
    from rejoinder.data.inputs import read
    from rejoinder.selection.exports import ExportSettings, check_program, export, make_task_name

    check_program(to)
    if turn_end is not None and to != "lm-eval":
        raise click.UsageError(
            "--turn-end is for lm-eval only; leave it out, since the other programs keep turns apart"
        )
    settings = ExportSettings(name or make_task_name(testset), turn_end or "\n")
    questions = list(read(testset).questions.values())
    for path in export(questions, to, output, settings):
        click.echo(f"written: {path}", err=True)
    click.echo(f"{len(questions):,} questions for {to}, as the task {settings.name}", err=True)
