"""``rejoinder aggregate``: one rating a reply from those of several raters."""

from __future__ import annotations

import click

from rejoinder.cli._options import records_output
from rejoinder.cli._ratings import source_argument, without_option


@click.command(short_help="One rating from several raters'")
@source_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=records_output(),
    metavar="FILE",
    help='Where to; "-" is standard output, *.gz is packed.',
)
@click.option(
    "--method",
    default="mean",
    show_default=True,
    metavar="NAME",
    help="mean, mode, majority, dawid_skene, minimax_entropy, minimax_entropy_ordinal; glad and mace need crowd-kit.",
)
@click.option("--aspect", metavar="A", help="Only this aspect [all of them].")
@without_option
@click.option("--all", "everything", is_flag=True, help="Write everything else of FILE too, so that it stands alone.")
def command(
    source: str, output: str, method: str, aspect: str | None, without: tuple[str, ...], everything: bool
) -> None:
    """Aggregate the ratings of FILE: one a reply and aspect, by the rater "aggregate:METHOD", with how sure it is.

    FILE is JSONL with ratings or preferences, - for standard input, dataset:NAME, a run folder, or the PROJECT.toml of
    an annotation project. Score the result together with the replies (rejoinder score REPLIES RESULT), and
    rejoinder trust holds the metrics against it.
    """
    from rejoinder.annotation.judgements import aggregate, read_judged_records
    from rejoinder.data.writer import write

    records = read_judged_records(source, without).records
    found = aggregate(records, method, aspect=aspect)
    made = [record for one in found for record in one.records]
    write([*(records if everything else []), *made], output)
    for one in found:
        units, raters = len(one.judged.matrix.units), len(one.judged.matrix.raters)
        click.echo(f"{one.judged.name}: {len(one.records):,} of {units:,} units by {raters:,} raters", err=True)
        if not one.found.converged:
            click.echo(f"{one.judged.name}: {method} had not settled after {one.found.steps} steps", err=True)
    click.echo(f"written: {'standard output' if output == '-' else output}", err=True)
