"""``rejoinder aggregate``: one rating per reply from those of several raters."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import input_options, records_output_option, source_argument, without_option

GROUP = _help.PEOPLE


@click.command(short_help="Combine the ratings of several raters into one")
@source_argument
@records_output_option()
@click.option(
    "--method",
    default="mean",
    show_default=True,
    metavar="NAME",
    help="mean, mode, majority, dawid_skene, minimax_entropy, minimax_entropy_ordinal; glad and mace need crowd-kit.",
)
@click.option("--aspect", metavar="A", help="Only this aspect [all].")
@without_option
@click.option(
    "--all", "everything", is_flag=True, help="Also write all other records of FILE, so that the result is complete."
)
@input_options()
def command(
    source: str, output: str, method: str, aspect: str | None, without: tuple[str, ...], everything: bool
) -> None:
    """Combine the ratings in FILE: one per reply and aspect, by the rater "aggregate:METHOD", with its confidence.

    FILE is JSONL with ratings or preferences, - for standard input, dataset:NAME, a run folder, or the PROJECT.toml of
    an annotation project. Score the result together with the replies (rejoinder score REPLIES RESULT);
    rejoinder trust then compares the metrics with it.
    """
    from rejoinder.annotation.analysis.judgements import aggregate, read_judged_records
    from rejoinder.data.writer import write

    records = read_judged_records(source, without).records
    results = aggregate(records, method, aspect=aspect)
    combined = [record for result in results for record in result.records]
    write([*(records if everything else []), *combined], output)
    for result in results:
        units, raters = len(result.judged.matrix.units), len(result.judged.matrix.raters)
        click.echo(f"{result.judged.name}: {len(result.records):,} of {units:,} units by {raters:,} raters", err=True)
        if not result.found.converged:
            click.echo(f"{result.judged.name}: {method} did not converge in {result.found.steps} steps", err=True)
    click.echo(f"written: {'standard output' if output == '-' else output}", err=True)
