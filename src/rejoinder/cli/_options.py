"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rejoinder.engines.contract import Engine

table_form = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="How tables are printed.",
)
seed = click.option("--seed", default=0, show_default=True, help="The seed of what is drawn again.")


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


def engine_of(name: str, processes: int | None, address: str | None) -> Engine:
    """The engine that was asked for; this process where nothing was, for its models use all cores themselves."""
    from rejoinder.engines.opening import open_engine

    return open_engine(name, processes or (1 if name == "local" else None), address)
