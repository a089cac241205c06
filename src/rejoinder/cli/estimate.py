"""``rejoinder estimate``: what people would say of all replies, from few ratings and many scores."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import table_format_option

GROUP = _help.PEOPLE


@click.command(short_help="Estimate what people would say, from few ratings")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    required=True,
    metavar="SPEC",
    help="A metric of the run; of several, the best linear combination is fitted.",
)
@click.option(
    "--ratings",
    metavar="FILE",
    help="The ratings: JSONL, CSV with response and rating, or an annotation project (*.toml) [those in RUN].",
)
@click.option("--aspect", metavar="A", help="The aspect that people rated.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated [all].")
@click.option("--above", type=float, metavar="X", help="Also estimate the share of replies rated X or more.")
@click.option("--strata", metavar="S", help="Groups of known size: system, meta.KEY, or a metric (four equal parts).")
@click.option(
    "--population",
    type=click.Choice(["these", "future"]),
    default="these",
    show_default=True,
    help="The mean over these replies, or over future replies in conversations like these.",
)
@click.option(
    "--scale",
    metavar="LOW..HIGH",
    help="The lowest and the highest rating that people could give, such as 1..5 [the usual scale with these ratings].",
)
@click.option("--lambda", "tuning", type=float, metavar="L", help="How far the metric is used; 1 is PPI [the best].")
@click.option(
    "--assume-random", is_flag=True, help="Take the rated replies for a random sample, whatever they look like."
)
@table_format_option
def command(
    run: Path,
    metrics: tuple[str, ...],
    ratings: str | None,
    aspect: str | None,
    systems: tuple[str, ...],
    above: float | None,
    strata: str | None,
    population: Literal["these", "future"],
    scale: str | None,
    tuning: float | None,
    assume_random: bool,
    form: str,
) -> None:
    """Estimate what people would say of all replies of RUN, from ratings of some and a metric's scores of all.

    The ratings must be a random sample of the replies: rejoinder next RUN --for estimate draws one.
    """
    from rejoinder.annotation.analysis.judgements import find_ratings
    from rejoinder.comparison.estimate import estimate
    from rejoinder.comparison.rating_scale import parse_scale
    from rejoinder.table import FORMATS

    estimates = estimate(
        run,
        metrics,
        find_ratings(ratings),
        aspect=aspect,
        systems=systems,
        above=above,
        strata=strata,
        population=population,
        tuning=tuning,
        assume_random=assume_random,
        scale=None if scale is None else parse_scale(scale),
    )
    click.echo(FORMATS[form](estimates.table()))
