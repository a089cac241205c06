"""``rejoinder models``: the catalog; fetch a model, export an encoder, say where a model lies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import table_format_option

if TYPE_CHECKING:
    from rejoinder.models.catalog.entries import Model
    from rejoinder.table import Cell, Table


@click.group("models", invoke_without_command=True, short_help="Models by name: list, get, export")
@table_format_option
@click.pass_context
def command(context: click.Context, form: str) -> None:
    """List the models that have a name here (list); fetch one (get), export an encoder, or print its folder (path)."""
    if context.invoked_subcommand is None:
        context.invoke(list_, form=form)


@command.command("list")
@table_format_option
def list_(form: str) -> None:
    """List the models that have a name here; without a command this is what is done."""
    from rejoinder.table import FORMATS

    click.echo(FORMATS[form](_catalog_table()))


@command.command("get")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Agree to the licence and the download beforehand.")
@click.option("--mirror", metavar="URL", envvar="HF_ENDPOINT", help="Download from here instead of the hub.")
def get(name: str, yes: bool, mirror: str | None) -> None:
    """Fetch the model NAME into the cache, check it and make it ready."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.models.catalog import convert, fetch, manifest
    from rejoinder.models.catalog.entries import find_model

    model = find_model(name)
    if manifest.is_available(model):
        click.echo(f"{manifest.model_folder(model)}: already here")
        return
    convert.check_libraries(model)
    _confirm(model, yes)
    with progress_bar(name) as progress:
        folder = fetch.get(name, mirror, talk=sys.stderr.isatty(), progress=progress)
    found = manifest.read_manifest(folder)
    trusted = len(found.trusted) if found else 0
    click.echo(f"{folder}: fetched and checked")
    if trusted:
        click.echo(
            f"  {trusted} of its files had no sha256 known beforehand; what came is written in {manifest.MANIFEST_FILE}"
        )


@command.command("export")
@click.argument("name")
@click.option("-o", "--output", required=True, metavar="FOLDER", type=click.Path(path_type=Path), help="A new folder.")
@click.option(
    "--weights",
    type=click.Choice(["int8", "float32"]),
    default="int8",
    show_default=True,
    help="How the weights are stored; the arithmetic is float32 either way.",
)
def export(name: str, output: Path, weights: str) -> None:
    """Turn the transformers encoder NAME into a folder that needs no torch, and measure what it lost."""
    from rejoinder.models.encoder.export import export_by_name as export_encoder

    card = export_encoder(name, output, "int8" if weights == "int8" else "float32")
    found = card.measured
    click.echo(
        f"{output}: {_format_size(int(found['graph_bytes']))}, {weights} weights; cosine to the original over "
        f"{found['texts']} utterances: mean {found['mean_cosine']:.4f}, lowest {found['min_cosine']:.4f}"
    )


@command.command("path")
@click.argument("name")
def path(name: str) -> None:
    """Say where the model NAME lies."""
    from rejoinder.models.catalog.manifest import require_model

    click.echo(str(require_model(name)))


def _catalog_table() -> Table:
    """The catalog, and what of it is in the cache."""
    from rejoinder.models.catalog import manifest
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.device import describe_backend
    from rejoinder.table import Table

    rows: list[list[Cell]] = []
    for model in MODELS.values():
        here = "yes" if manifest.is_available(model) else "no"
        size = _format_size(model.size) if model.size else "–"
        rows.append([model.name, model.kind, here, size, model.licence, str(model.origin), model.purpose])
    notes = [
        "Use: rejoinder models get NAME. The size is what is downloaded.",
        f"What is fetched lies in {manifest.models_home()} (set REJOINDER_CACHE to move it).",
        f"Models compute on {describe_backend()} (set REJOINDER_DEVICE to cpu or cuda to choose).",
    ]
    return Table("Models", ["name", "kind", "here", "size", "licence", "from", "what for"], rows, notes)


def _confirm(model: Model, yes: bool) -> None:
    from rejoinder.errors import RejoinderError

    click.echo(f"{model.name}: {model.purpose}")
    click.echo(f"  licence   {model.licence}")
    click.echo(f"  citation  {model.citation}")
    click.echo(f"  from      {model.origin}")
    question = f"Download {_format_size(model.size)}"
    if yes:
        click.echo(question)
    elif sys.stdin is None or not sys.stdin.isatty():
        raise RejoinderError("nobody is there to agree to the download (no terminal); say --yes to agree beforehand")
    elif not click.confirm(f"{question}?"):
        raise click.exceptions.Exit(1)


def _format_size(n: int) -> str:
    return f"{n / 1e6:,.0f} MB" if n >= 1e6 else f"{n / 1e3:.1f} kB"
