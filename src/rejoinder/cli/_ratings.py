"""Arguments and options of commands that read people's judgements."""

from __future__ import annotations

import click

source_argument = click.argument("source", metavar="FILE")
without_option = click.option(
    "--without", multiple=True, metavar="RATER", help="Leave out this rater; may be repeated."
)
