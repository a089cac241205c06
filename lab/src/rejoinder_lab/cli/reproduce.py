"""``rejoinder reproduce``: a table of a paper, published and measured figures side by side."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option

GROUP = _help.MODELS_AND_DATA


@click.command(short_help="Measure a table of a paper again")
@click.argument("name")
@output_option(
    click.Path(path_type=Path, file_okay=False),
    "The folder for NAME.md and NAME.json.",
    metavar="FOLDER",
    default=Path("docs/results"),
    show_default=True,
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="Measure this metric instead of the paper's; may be repeated.",
)
@click.option(
    "--adapt",
    type=click.IntRange(min=0),
    metavar="N",
    help="Adapt at most N texts to their contexts; all of them need a GPU (only for scarce).",
)
@click.option(
    "--requests",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Only write the requests to the judge, for a server elsewhere, as a batch in JSONL (only for modern).",
)
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="That server's answers; their verdicts are written beside the results, and can be named here too.",
)
@click.option("--get", is_flag=True, help="First download the models that it needs, after asking.")
@click.option("--yes", is_flag=True, help="Download without being asked.")
def command(
    name: str,
    output: Path,
    metrics: tuple[str, ...],
    adapt: int | None,
    requests: Path | None,
    answers: Path | None,
    get: bool,
    yes: bool,
) -> None:
    """Measure a table of a paper again, print it beside the published figures and write both to files.

    `rejoinder list reproductions` shows the names. The published sets are read from $REJOINDER_DATA. What is missing is
    listed first; then everything that can be measured is.
    """
    from rejoinder.table import to_terminal
    from rejoinder_lab.papers import check_options, reproduce
    from rejoinder_lab.papers.base import reproduction_tables, write_reproduction

    if requests is not None:
        _write_requests(name, requests)
        return
    check_options(name, metrics, adapt, answers)
    _check_parts(name, get, yes)
    result = reproduce(name, metrics=metrics, adapt=adapt, answers=answers)
    for table in reproduction_tables(result):
        click.echo(to_terminal(table) + "\n")
    for note in result.notes:
        click.echo(note)
    for path in write_reproduction(result, output):
        click.echo(f"written: {path}", err=True)


def _write_requests(name: str, file: Path) -> None:
    """Write the requests to a judge elsewhere."""
    from rejoinder.files import atomic_write
    from rejoinder_lab.papers import list_requests

    lines = list(list_requests(name))
    with atomic_write(file) as out:
        out.writelines(lines)
    click.echo(f"written: {file} ({len(lines):,} requests)", err=True)


def _check_parts(name: str, get: bool, yes: bool) -> None:
    """List what is missing, download models if asked to, and stop where nothing could be measured."""
    from rejoinder.errors import InputError
    from rejoinder_lab.papers import list_missing_parts

    missing = list_missing_parts(name)
    if missing:
        click.echo(f"missing for {name}:", err=True)
    for part in missing:
        click.echo(f"  {part}", err=True)
    if get:
        _get_models([part.name for part in missing if part.kind == "model"], yes)
        missing = list_missing_parts(name)
    if needed := [f"{part.kind} {part.name}" for part in missing if part.needed]:
        raise InputError(f"{name} cannot be measured without {', '.join(needed)}; see the list above")


def _get_models(names: list[str], yes: bool) -> None:
    """Download models as `rejoinder models get` does; one that fails does not stop the others."""
    from rejoinder.cli import models
    from rejoinder.errors import RejoinderError

    for model in names:
        try:
            click.get_current_context().invoke(models.get, name=model, yes=yes, mirror=None)
        except RejoinderError as error:
            click.echo(f"{model}: {error}", err=True)
