"""``rejoinder data``: download, describe and convert published sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import records_output_option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rejoinder.data.datasets import Dataset, DatasetFile
    from rejoinder.data.download import Progress

GROUP = _help.MODELS_AND_DATA


@click.group("data", short_help="Published sets: get, show, write")
def command() -> None:
    """Download, describe and convert published sets (to list them: rejoinder list datasets)."""


@command.command("get")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Download without asking.")
@click.option("--mirror", metavar="URL", envvar="REJOINDER_MIRROR", help="Download from here instead of GitHub.")
def get(name: str, yes: bool, mirror: str | None) -> None:
    """Download the files of the set NAME (or of all sets below NAME) and check them."""
    from rejoinder.data.dataset import is_intact
    from rejoinder.data.datasets import datasets_under
    from rejoinder.data.download import dataset_file_url, fetch_dataset_file
    from rejoinder.paths import data_home

    root, sets = data_home(), datasets_under(name)
    files = _list_dataset_files(sets)
    missing = []
    for file in files:
        if is_intact(file, root / file.path):
            click.echo(f"{root / file.path}: already here")
        elif file.downloadable:
            dataset_file_url(file, mirror)  # a wrong mirror is an error before the user is asked
            missing.append(file)
    if missing:
        _confirm_dataset_download(sets, missing, root, yes)
    for file in missing:
        fetch_dataset_file(file, root, mirror, progress=_make_progress(file))
        click.echo(f"{root / file.path}: downloaded and checked, {_format_size(file.size)}")
    _refuse_unavailable(files, root)


@command.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Describe the set NAME (or all sets below NAME): its content, licence, files and first records."""
    from rejoinder.data.datasets import datasets_under
    from rejoinder.paths import data_home

    root = data_home()
    for number, dataset in enumerate(datasets_under(name)):
        if number:
            click.echo()
        _print_description(dataset)
        click.echo(click.wrap_text(f"notes     {dataset.notes}", 100, "  ", " " * 12))
        complete = True
        for file in dataset.files:
            present = (root / file.path).is_file()
            complete &= present
            state = "here" if present else "not here" if file.downloadable else f"not here: {file.reason}"
            click.echo(f"  file      {file.path} ({_format_size(file.size)}; {state})")
        if complete:
            _print_first_records(dataset, root)


@command.command("write")
@click.argument("name")
@records_output_option()
@click.option("--no-verify", is_flag=True, help="Do not check the sha256 of the files.")
def write(name: str, output: str, no_verify: bool) -> None:
    """Check the files of the set NAME and write its records as JSONL."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.data.writer import write as write_records

    count = write_records(read_dataset(name, verify=not no_verify), output)
    click.echo(f"{name}: {count:,} records written to {'standard output' if output == '-' else output}", err=True)


def _confirm_dataset_download(sets: Iterable[Dataset], files: list[DatasetFile], root: Path, yes: bool) -> None:
    from rejoinder.errors import RejoinderError

    for dataset in sets:
        _print_description(dataset)
    question = (
        f"Download {len(files)} file{'s' * (len(files) > 1)} ({_format_size(sum(f.size for f in files))}) to {root}"
    )
    if yes:
        click.echo(question)
    elif sys.stdin is None or not sys.stdin.isatty():
        raise RejoinderError("the download needs your consent and there is no terminal to ask on; give --yes to agree")
    elif not click.confirm(f"{question}?"):
        raise click.exceptions.Exit(1)


def _refuse_unavailable(files: list[DatasetFile], root: Path) -> None:
    from rejoinder.errors import RejoinderError

    for file in files:
        # A copy with other bytes is the user's own affair: only `rejoinder data write` checks the digest.
        if not file.downloadable and not (root / file.path).is_file():
            raise RejoinderError(f"{root / file.path}: cannot be downloaded: {file.reason}")


def _list_dataset_files(sets: Iterable[Dataset]) -> list[DatasetFile]:
    return list({file.path: file for dataset in sets for file in dataset.files}.values())


def _print_description(dataset: Dataset) -> None:
    counts = ", ".join(f"{n:,} {kind}" for kind, n in dataset.counts.items())
    click.echo(f"{dataset.name}: {dataset.summary}")
    click.echo(f"  records   {counts}")
    click.echo(f"  licence   {dataset.licence}")
    click.echo(f"  citation  {dataset.citation}")


def _print_first_records(dataset: Dataset, root: Path) -> None:
    """Print the first record of each kind, shortened to one line."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.data.writer import encode_record

    seen: set[type] = set()
    for record in read_dataset(dataset.name, root):
        if type(record) not in seen:
            seen.add(type(record))
            text = encode_record(record).decode().strip()
            click.echo(f"  record    {text if len(text) <= 200 else text[:199] + '…'}")
        if len(seen) == len(dataset.counts):
            break


def _make_progress(file: DatasetFile) -> Progress | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        click.echo(f"\r{file.path}: {done / total:4.0%}", nl=done == total, err=True)

    return show


def _format_size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.1f} kB"
