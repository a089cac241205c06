"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rejoinder.engines.base import Engine

table_format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="How tables are printed.",
)
_ENDING_NAMES = {
    ".csv": "CSV", ".tsv": "TSV", ".xlsx": "a spreadsheet", ".parquet": "Parquet", ".json": "one JSON value",
    ".jsonl": "JSONL", ".txt": "plain text", ".md": "Markdown", ".html": "HTML", ".tex": "LaTeX", ".toml": "TOML",
    ".svg": "a drawing", ".png": "a picture", ".pdf": "PDF", ".npy": "vectors",
}  # fmt: skip


class Output(click.Path):
    """The name of something to write, which must not end like the name of something else."""

    def __init__(self, what: str, *endings: str, path_type: type[Any] | None = None) -> None:
        super().__init__(path_type=path_type)
        self.what, self.endings = what, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name as it is, or an error that says what would have been written under it."""
        self.check(str(value), param, ctx)
        return super().convert(value, param, ctx)

    def check(self, name: str, param: click.Parameter | None = None, ctx: click.Context | None = None) -> None:
        """Raise where a name ends like that of another format."""
        ending = PurePath(name.removesuffix(".gz")).suffix.lower()
        if ending in _ENDING_NAMES and ending not in self.endings:
            usual = f"end the name in {' or '.join(self.endings)}" if self.endings else f"leave out {ending}"
            self.fail(
                f"{name}: {ending} means {_ENDING_NAMES[ending]}, and {self.what} is written; {usual}", param, ctx
            )


def records_output(path_type: type[Any] | None = None) -> Output:
    """A file of records, or of other things one per line."""
    return Output("JSONL", ".jsonl", path_type=path_type)


def run_output(path_type: type[Any] | None = None) -> Output:
    """The folder of a run."""
    return Output("a folder", path_type=path_type)


page_output = Output("an HTML page", ".html", path_type=Path)
sheet_output = Output("CSV", ".csv")
project_output = Output("a project in TOML", ".toml")
seed_option = click.option("--seed", default=0, show_default=True, help="The seed of what is drawn again.")


def engine_options(usual: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Who computes: --engine, --address and --processes, of which there are usually so many."""

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--processes", type=click.IntRange(min=1), help=f"Processes or workers to use [{usual}]."),
            click.option("--address", metavar="HOST:PORT", help="Of a running Ray cluster [one is started here]."),
            click.option(
                "--engine",
                type=click.Choice(["local", "ray"]),
                default="local",
                show_default=True,
                help="Who computes: processes of this machine, or a Ray cluster.",
            ),
        ):
            command = option(command)
        return command

    return added


def choose_engine(name: str, processes: int | None, address: str | None) -> Engine:
    """The engine that was asked for; this process where nothing was, for its models use all cores themselves."""
    from rejoinder.engines.factory import open_engine

    return open_engine(name, processes or (1 if name == "local" else None), address)
