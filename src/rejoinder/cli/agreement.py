"""``rejoinder agreement``: how well people agree, and which raters to look at."""

from __future__ import annotations

from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import input_options, seed_option, source_argument, table_format_option, without_option

GROUP = _help.PEOPLE


@click.command(short_help="Show how well raters agree")
@source_argument
@click.option("--aspect", metavar="A", help="Only this aspect [all].")
@click.option(
    "--scale",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    help="The scale for Krippendorff's alpha [ordinal; nominal for preferences].",
)
@click.option(
    "--weights",
    type=click.Choice(["none", "linear", "quadratic"]),
    help="How Cohen's kappa weighs a disagreement [none on a nominal scale, else quadratic].",
)
@click.option("--above", type=float, metavar="X", help="Treat ratings as two classes: above X, and X or below.")
@without_option
@click.option(
    "--resamples", type=click.IntRange(min=100), default=1000, show_default=True, help="How many resamples to draw."
)
@seed_option
@table_format_option
@input_options()
def command(
    source: str,
    aspect: str | None,
    scale: Literal["nominal", "ordinal", "interval", "ratio"] | None,
    weights: Literal["none", "linear", "quadratic"] | None,
    above: float | None,
    without: tuple[str, ...],
    resamples: int,
    seed: int,
    form: str,
) -> None:
    """Show how well the raters of FILE agree, per aspect with intervals and per rater against the rest, and which
    raters to look at.

    FILE is JSONL with ratings or preferences (gzip or not; what they rate need not be in it), - for standard input,
    dataset:NAME, a run folder, or the PROJECT.toml of an annotation project, which has attention checks too.
    """
    from rejoinder.annotation.analysis.judgements import agreement
    from rejoinder.reports.agreement import aspect_table, class_table, rater_table, suspect_table
    from rejoinder.table import join_tables

    report = agreement(
        source,
        aspect=aspect,
        scale=scale,
        weights=weights,
        above=above,
        without=without,
        resamples=resamples,
        seed=seed,
    )
    results = report.aspects
    tables = [aspect_table(results, report.judgements), class_table(results), *map(rater_table, results)]
    click.echo(join_tables([*tables, suspect_table(report.suspects)], form))
