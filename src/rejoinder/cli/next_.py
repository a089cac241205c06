"""``rejoinder next``: which replies to have rated next."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import Output, output_option, seed_option, table_format_option

GROUP = _help.PEOPLE


@click.command("next", short_help="Choose which replies to have rated next")
@click.argument("source", metavar="RUN")
@click.option(
    "--by",
    type=click.Choice(["metrics", "ranking"]),
    help="Choose where the metrics disagree most, or where the order of systems is least certain "
    "[metrics for a run with two or more of them, else ranking].",
)
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many replies.")
@click.option("--aspect", metavar="A", help="The aspect whose ratings rank the systems.")
@output_option(
    Output("JSONL", ".jsonl", ".csv", ".txt"),
    "Write the replies with their items, as data for an annotation project; to *.csv, the table; to *.txt, only ids.",
)
@seed_option
@table_format_option
def command(
    source: str,
    by: Literal["metrics", "ranking"] | None,
    count: int,
    aspect: str | None,
    output: str | None,
    seed: int,
    form: str,
) -> None:
    """List the replies of RUN that are most worth rating next.

    RUN is a run folder; for a ranking it may also be a JSONL file with ratings or preferences, - for standard input or
    dataset:NAME.
    """
    from rejoinder.comparison.next_ratings import (
        find_metric_disagreements,
        find_uncertain_order,
        next_table,
        select_records,
    )
    from rejoinder.data.inputs import read
    from rejoinder.data.writer import write
    from rejoinder.errors import InputError
    from rejoinder.files import atomic_write
    from rejoinder.scoring.reader import load_data
    from rejoinder.scoring.run import load
    from rejoinder.table import FORMATS

    folder = Path(source)
    is_file = source == "-" or source.startswith("dataset:") or folder.is_file()
    scores = None if is_file else load(folder)
    data = read(source, allow_empty=True) if scores is None else load_data(folder)
    if by is None:
        directed = [] if scores is None else [f for f in scores.facts.values() if f.higher_is_better is not None]
        by = "metrics" if len(directed) > 1 and aspect is None else "ranking"
    if by == "metrics" and scores is None:
        raise InputError("only a run folder has metrics; make one with: rejoinder score FILE -o RUN")
    if by == "metrics" and scores is not None:
        chosen = find_metric_disagreements(scores, data, count, seed)
    else:
        chosen = find_uncertain_order(data, count, aspect, scores, seed)
    table = next_table(chosen)
    click.echo(FORMATS[form](table))
    if output is None:
        return
    if output.lower().endswith((".csv", ".txt")):
        ids = "".join(f"{one.response}\n" for one in chosen)
        with atomic_write(output) as file:
            file.write((ids if output.lower().endswith(".txt") else FORMATS["csv"](table)).encode())
    else:
        write(select_records(chosen, data), output)
    click.echo(f"written: {output}", err=True)
