"""Arguments of commands that read what people said."""

from __future__ import annotations

import click

source_argument = click.argument("source", metavar="FILE")
without_option = click.option(
    "--without", multiple=True, metavar="RATER", help="Leave this rater out; may be repeated."
)
