"""``rejoinder power``: how many items and raters the next comparison needs."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import input_options, table_format_option

GROUP = _help.SCORING


@click.command(short_help="Plan how many items and raters a comparison needs")
@click.argument("pilot", required=False, metavar="[PILOT]")
@click.option("--difference", type=float, metavar="D", help="The difference between the two systems to detect.")
@click.option("--items", type=click.IntRange(min=2), metavar="N", help="The number of items.")
@click.option(
    "--raters",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="R",
    help="Raters per reply; may be repeated [1, 2, 3, 5, 10].",
)
@click.option("--power", "wanted", default=0.8, show_default=True, help="The probability of detecting the difference.")
@click.option("--alpha", default=0.05, show_default=True, help="The significance level.")
@click.option("--aspect", metavar="A", help="The aspect of the pilot.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="A system of the pilot; name two.")
@click.option("-m", "--metric", metavar="SPEC", help="Plan with a metric's scores; the pilot is then a run folder.")
@click.option("--sd-items", type=float, metavar="S", help="Without a pilot: how much differences vary between items.")
@click.option(
    "--sd-ratings", type=float, metavar="S", help="Without a pilot: how much a rating varies around its mean."
)
@click.option(
    "--pairs", is_flag=True, help="Without a pilot: raters compare pairs; a difference of 0.1 is 60 of 100 points."
)
@click.option(
    "--with-metric",
    is_flag=True,
    help="Plan for rejoinder estimate: ratings needed with a metric's scores and without.",
)
@click.option("--half-width", type=float, metavar="W", help="With --with-metric: half of the interval of a mean.")
@click.option("--correlation", type=float, metavar="R", help="With --with-metric, without a pilot: metric with people.")
@click.option("--ratings", metavar="FILE", help="With --with-metric: as in rejoinder estimate [those in the run].")
@click.option("--replies", type=click.IntRange(min=4), metavar="N", help="With --with-metric: replies of a system.")
@table_format_option
@input_options("system")
def command(
    pilot: str | None,
    difference: float | None,
    items: int | None,
    raters: tuple[int, ...],
    wanted: float,
    alpha: float,
    aspect: str | None,
    systems: tuple[str, ...],
    metric: str | None,
    sd_items: float | None,
    sd_ratings: float | None,
    pairs: bool,
    with_metric: bool,
    half_width: float | None,
    correlation: float | None,
    ratings: str | None,
    replies: int | None,
    form: str,
) -> None:
    """Plan a comparison of two systems: its power, or the items and raters that a difference needs.

    PILOT is JSONL with responses and ratings (or preferences), dataset:NAME or a run folder; without one, give the
    variation with --sd-items and --sd-ratings. Give --difference for the number of items, --items for the difference
    that they can detect, both for the power; with a pilot alone, the difference that as many items can detect.

    With --with-metric, PILOT is a run folder with ratings, and the plan is for rejoinder estimate: give --half-width or
    --difference; without a pilot also --correlation and --sd-items.
    """
    from rejoinder.annotation.analysis.judgements import find_ratings
    from rejoinder.annotation.analysis.power import power
    from rejoinder.comparison.metric_power import power_with_metric
    from rejoinder.table import FORMATS

    if with_metric:
        if items or raters or pairs or sd_ratings is not None:
            raise click.UsageError("leave out --items, --raters, --pairs and --sd-ratings with --with-metric")
        plan = power_with_metric(
            pilot,
            half_width=half_width,
            difference=difference,
            metric=metric,
            correlation=correlation,
            sd=sd_items,
            replies=replies,
            ratings=find_ratings(ratings),
            aspect=aspect,
            systems=systems,
            power=wanted,
            alpha=alpha,
        )
        click.echo(FORMATS[form](plan.table()))
        return
    if half_width is not None or correlation is not None or ratings or replies:
        raise click.UsageError("--half-width, --correlation, --ratings and --replies need --with-metric")

    analysis = power(
        pilot,
        difference=difference,
        items=items,
        raters=raters,
        power=wanted,
        alpha=alpha,
        aspect=aspect,
        systems=systems,
        metric=metric,
        sd_items=sd_items,
        sd_ratings=sd_ratings,
        pairs=pairs,
    )
    click.echo(FORMATS[form](analysis.table()))
