"""``rejoinder next``: which replies to read, or to have rated, next."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import OutputPath, input_options, output_option, seed_option, table_format_option

GROUP = _help.PEOPLE


@click.command("next", short_help="Choose which replies to read or rate next")
@click.argument("source", metavar="RUN")
@click.option(
    "--by",
    type=click.Choice(["mix", "metrics", "ranking"]),
    help="A mix of low, uncertain, unusual and diverse replies; where the metrics disagree most; or where the order of "
    "systems is least certain [mix for one system, metrics for a run with two or more of them, else ranking].",
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["estimate"]),
    help="Draw a random sample for rejoinder estimate, with probabilities: items with all replies to them.",
)
@click.option("-n", "count", type=click.IntRange(min=1), help="How many replies [20; 100 for an estimate].")
@click.option("--strata", metavar="S", help="For an estimate: the same share of each meta.KEY, or part of a metric.")
@click.option("--dialogues", is_flag=True, help="For an estimate: draw whole dialogues, not items.")
@click.option("--by-uncertainty", is_flag=True, help="For an estimate: more often where the metrics disagree.")
@click.option("--aspect", metavar="A", help="The aspect whose ratings rank the systems.")
@output_option(
    OutputPath("JSONL", ".jsonl", ".csv", ".txt"),
    "Write the replies with their items, as data for an annotation project; to *.csv, a table "
    "(for an estimate, with an empty column for ratings); to *.txt, only ids.",
)
@seed_option
@table_format_option
@input_options()
def command(
    source: str,
    by: Literal["mix", "metrics", "ranking"] | None,
    purpose: str | None,
    count: int | None,
    strata: str | None,
    dialogues: bool,
    by_uncertainty: bool,
    aspect: str | None,
    output: str | None,
    seed: int,
    form: str,
) -> None:
    """List the replies of RUN that are most worth reading and rating next, and why.

    RUN is a run folder; for a ranking it may also be a JSONL file with ratings or preferences, - for standard input or
    dataset:NAME.
    """
    from rejoinder.comparison.next_ratings import next_, next_for_estimate
    from rejoinder.data.writer import write
    from rejoinder.files import atomic_write
    from rejoinder.table import FORMATS

    if purpose == "estimate":
        if by or aspect:
            raise click.UsageError("--for estimate draws at random; leave out --by and --aspect")
        suggestions = next_for_estimate(
            source,
            count or 100,
            together="dialogue" if dialogues else "item",
            strata=strata,
            by_uncertainty=by_uncertainty,
            seed=seed,
        )
    elif strata or dialogues or by_uncertainty:
        raise click.UsageError("--strata, --dialogues and --by-uncertainty need --for estimate")
    else:
        suggestions = next_(source, by, count or 20, aspect=aspect, seed=seed)
    table = suggestions.table()
    click.echo(FORMATS[form](table))
    if output is None:
        return
    if output.lower().endswith((".csv", ".txt")):
        ids = "".join(f"{suggestion.response}\n" for suggestion in suggestions.suggestions)
        sheet = suggestions.rating_sheet() if purpose == "estimate" else table
        with atomic_write(output) as file:
            file.write((ids if output.lower().endswith(".txt") else FORMATS["csv"](sheet)).encode())
    else:
        write(suggestions.records(), output)
    click.echo(f"written: {output}", err=True)
