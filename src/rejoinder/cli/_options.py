"""Options that several commands share."""

from __future__ import annotations

import click

table_form = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="How tables are printed.",
)
seed = click.option("--seed", default=0, show_default=True, help="The seed of what is drawn again.")
