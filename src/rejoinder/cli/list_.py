"""``rejoinder list``: what there is by name."""

from __future__ import annotations

import click

FORM = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="How the table is printed.",
)


@click.group("list")
def command() -> None:
    """List metrics, importers, datasets or reproductions."""


@command.command()
@FORM
def metrics(form: str) -> None:
    """Every metric: what it needs, its range, which way is better, who proposed it."""
    from rejoinder.report.listing import metric_table
    from rejoinder.report.table import FORMATS

    click.echo(FORMATS[form](metric_table()))


@command.command()
@FORM
def importers(form: str) -> None:
    """Every format that can be imported."""
    from rejoinder.report.listing import importer_table
    from rejoinder.report.table import FORMATS

    click.echo(FORMATS[form](importer_table()))


@command.command()
@FORM
def datasets(form: str) -> None:
    """Every published set: where its files are, their licence and citation, whether they are here."""
    from rejoinder.report.listing import dataset_table
    from rejoinder.report.table import FORMATS

    click.echo(FORMATS[form](dataset_table()))


@command.command()
@FORM
def reproductions(form: str) -> None:
    """Every table of a paper that can be reproduced."""
    from rejoinder.report.listing import reproduction_table
    from rejoinder.report.table import FORMATS

    click.echo(FORMATS[form](reproduction_table()))
