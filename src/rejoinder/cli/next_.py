"""``rejoinder next``: which replies to read, or to have rated, next."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, output_option, seed_option, table_format_option

GROUP = _help.PEOPLE


@click.command("next", short_help="Choose which replies to read or rate next")
@click.argument("source", metavar="RUN")
@click.option(
    "--by",
    type=click.Choice(["mix", "metrics", "ranking"]),
    help="A mix of low, uncertain, unusual and diverse replies; where the metrics disagree most; or where the order of "
    "systems is least certain [mix for one system, metrics for a run with two or more of them, else ranking].",
)
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many replies.")
@click.option("--aspect", metavar="A", help="The aspect whose ratings rank the systems.")
@output_option(
    OutputPath("JSONL", ".jsonl", ".csv", ".txt"),
    "Write the replies with their items, as data for an annotation project; to *.csv, the table; to *.txt, only ids.",
)
@seed_option
@table_format_option
def command(
    source: str,
    by: Literal["mix", "metrics", "ranking"] | None,
    count: int,
    aspect: str | None,
    output: str | None,
    seed: int,
    form: str,
) -> None:
    """List the replies of RUN that are most worth reading and rating next, and why.

    RUN is a run folder; for a ranking it may also be a JSONL file with ratings or preferences, - for standard input or
    dataset:NAME.
    """
    from rejoinder.comparison.next_ratings import next_
    from rejoinder.data.writer import write
    from rejoinder.files import atomic_write
    from rejoinder.table import FORMATS

    suggestions = next_(source, by, count, aspect=aspect, seed=seed)
    table = suggestions.table()
    click.echo(FORMATS[form](table))
    if output is None:
        return
    if output.lower().endswith((".csv", ".txt")):
        ids = "".join(f"{suggestion.response}\n" for suggestion in suggestions.suggestions)
        with atomic_write(output) as file:
            file.write((ids if output.lower().endswith(".txt") else FORMATS["csv"](table)).encode())
    else:
        write(suggestions.records(), output)
    click.echo(f"written: {output}", err=True)
