"""``rejoinder power``: how many items and raters the next comparison needs."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import table_format_option

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
@table_format_option
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
    form: str,
) -> None:
    """Plan a comparison of two systems: its power, or the items and raters that a difference needs.

    PILOT is JSONL with responses and ratings (or preferences), dataset:NAME or a run folder; without one, give the
    variation with --sd-items and --sd-ratings. Give --difference for the number of items, --items for the difference
    that they can detect, both for the power; with a pilot alone, the difference that as many items can detect.
    """
    from pathlib import Path

    from rejoinder.cli._ratings import read_judgements
    from rejoinder.comparison.power import make_plans, pilot_from_records, pilot_from_scores, plan_table
    from rejoinder.errors import InputError
    from rejoinder.scoring.run import load
    from rejoinder.stats.rating_noise import RatingNoise
    from rejoinder.table import FORMATS

    if pilot is None:
        if sd_items is None or sd_ratings is None or metric or aspect or systems:
            raise InputError(
                "without a pilot, give --sd-items and --sd-ratings, and leave out --metric, --aspect and --system"
            )
        if not (sd_items >= 0 and sd_ratings >= 0):
            raise InputError("--sd-items and --sd-ratings must be 0 or more")
        estimates, noise = None, RatingNoise(sd_items, sd_ratings, 1 if pairs else 2)
    elif sd_items is not None or sd_ratings is not None or pairs:
        raise InputError("--sd-items, --sd-ratings and --pairs are for planning without a pilot; leave them out")
    else:
        estimates = pilot_from_scores(load(Path(pilot)), metric, systems) if metric else None
        estimates = estimates or pilot_from_records(read_judgements(pilot)[0], aspect, systems)
        noise = estimates.noise
    if difference is None and items is None:
        if estimates is None:
            raise InputError("give --difference, --items or both")
        items = noise.n
    rater_counts = raters or ((1,) if metric else (1, 2, 3, 5, 10))
    plans = make_plans(noise, rater_counts, difference, items, wanted, alpha)
    click.echo(FORMATS[form](plan_table(noise, plans, 0.0 if difference and items else wanted, alpha, estimates)))
