"""``rejoinder models``: the catalog; download a model, export an encoder, print the folder of a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import folder_output_option, table_format_option

if TYPE_CHECKING:
    from rejoinder.models.catalog.entry import CatalogModel

GROUP = _help.MODELS_AND_DATA


@click.group("models", invoke_without_command=True, short_help="Models by name: list, get, export")
@table_format_option
@click.pass_context
def command(context: click.Context, form: str) -> None:
    """List the models of the catalog, download one (get), export an encoder, or print the folder of one (path)."""
    if context.invoked_subcommand is None:
        context.invoke(list_, form=form)


@command.command("list")
@table_format_option
def list_(form: str) -> None:
    """List the models of the catalog and the sets of weights (the same as: rejoinder models)."""
    from rejoinder.reports.listing import model_table, weights_table
    from rejoinder.table import format_tables

    tables = [model_table(), *([weights_table()] if form in ("text", "markdown") else [])]  # other formats hold one
    click.echo(format_tables(tables, form))


@command.command("get")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Agree to the licence and the download without being asked.")
@click.option("--mirror", metavar="URL", envvar="HF_ENDPOINT", help="Download from here instead of the hub.")
def get(name: str, yes: bool, mirror: str | None) -> None:
    """Download the model NAME into the cache, check it and prepare it for use."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.models.catalog import manifest
    from rejoinder.models.catalog.entries import find_model
    from rejoinder.models.download import convert, fetch

    model = find_model(name)
    if manifest.is_model_available(model):
        click.echo(f"{manifest.model_folder(model)}: already here")
        return
    convert.check_libraries(model)
    _confirm_model_download(model, yes)
    with progress_bar(name) as progress:
        folder = fetch.fetch_model(name, mirror, talk=sys.stderr.isatty(), progress=progress)
    fetched = manifest.read_model_manifest(folder)
    unchecked = len(fetched.trusted) if fetched else 0
    click.echo(f"{folder}: downloaded and checked")
    if unchecked:
        click.echo(
            f"  {unchecked} of its files had no known sha256; that of the download is in {manifest.MANIFEST_FILE}"
        )


@command.command("export")
@click.argument("name")
@folder_output_option()
@click.option(
    "--weights",
    type=click.Choice(["int8", "float32"]),
    default="int8",
    show_default=True,
    help="How the weights are stored; the arithmetic is float32 either way.",
)
def export(name: str, output: Path, weights: str) -> None:
    """Convert the transformers encoder NAME to a folder that needs no torch, and measure the loss."""
    from rejoinder.models.encoder.export import export_by_name
    from rejoinder.reports.listing import format_model_size

    card = export_by_name(name, output, "int8" if weights == "int8" else "float32")
    measured = card.measured
    click.echo(
        f"{output}: {format_model_size(int(measured['graph_bytes']))}, {weights} weights; cosine to the original over "
        f"{measured['texts']} utterances: mean {measured['mean_cosine']:.4f}, lowest {measured['min_cosine']:.4f}"
    )


@command.command("path")
@click.argument("name")
def path(name: str) -> None:
    """Print the folder of the model NAME."""
    from rejoinder.models.catalog.manifest import require_model

    click.echo(str(require_model(name)))


def _confirm_model_download(model: CatalogModel, yes: bool) -> None:
    from rejoinder.errors import RejoinderError
    from rejoinder.reports.listing import format_model_size

    click.echo(f"{model.name}: {model.purpose}")
    click.echo(f"  licence   {model.licence}")
    click.echo(f"  citation  {model.citation}")
    click.echo(f"  from      {model.origin}")
    question = f"Download {format_model_size(model.size)}"
    if yes:
        click.echo(question)
    elif sys.stdin is None or not sys.stdin.isatty():
        raise RejoinderError("the download needs your consent and there is no terminal to ask on; give --yes to agree")
    elif not click.confirm(f"{question}?"):
        raise click.exceptions.Exit(1)
