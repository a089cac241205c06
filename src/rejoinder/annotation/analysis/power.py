"""How many items and raters a comparison of two systems needs, from a pilot study or from known standard deviations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.annotation.analysis.judgements import read_judged_records
from rejoinder.comparison.rating_power import (
    Pilot,
    make_rating_plans,
    pilot_from_records,
    pilot_from_scores,
    rating_plan_table,
)
from rejoinder.errors import InputError
from rejoinder.scoring.run import load
from rejoinder.stats.rating_noise import RatingNoise, RatingPlan
from rejoinder.table import Table
from rejoinder.types import Record

RATERS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class PowerAnalysis:
    """Plans for a comparison of two systems, one per number of raters; ``power`` is 0 if power is what is computed."""

    noise: RatingNoise
    plans: Sequence[RatingPlan]
    power: float
    alpha: float
    pilot: Pilot | None

    def table(self) -> Table:
        """Return a table with one row per number of raters."""
        return rating_plan_table(self.noise, self.plans, self.power, self.alpha, self.pilot)


def power(
    pilot: Iterable[Record] | str | Path | None = None,
    *,
    difference: float | None = None,
    items: int | None = None,
    raters: Sequence[int] = (),
    power: float = 0.8,
    alpha: float = 0.05,
    aspect: str | None = None,
    systems: Sequence[str] = (),
    metric: str | None = None,
    sd_items: float | None = None,
    sd_ratings: float | None = None,
    pairs: bool = False,
) -> PowerAnalysis:
    """Compute the power of so many items and raters, how many a difference needs, or the difference they can detect.

    - ``pilot``: responses with ratings or preferences: a file, a run folder, or records; with ``metric``, a run folder.
    - ``difference``: the difference between the two systems that is to be detected.
    - ``items``: how many items there will be.
    - ``raters``: raters per reply, one plan each; by default 1, 2, 3, 5 and 10.
    - ``power``: the probability with which the difference is to be detected.
    - ``alpha``: the significance level of the test.
    - ``aspect``: the pilot's aspect.
    - ``systems``: two systems of the pilot.
    - ``metric``: plan with a metric's scores.
    - ``sd_items``: without a pilot: how much differences vary between items.
    - ``sd_ratings``: without a pilot: how much a rating varies around its mean.
    - ``pairs``: without a pilot: pairs are compared; 0.1 is 60 of 100 points.

    >>> import rejoinder
    >>> analysis = rejoinder.power(difference=0.5, sd_items=0.8, sd_ratings=1.0, raters=[3])
    >>> analysis.plans[0].power.n > 20
    True
    """
    noise, pilot_data = _measure_noise(pilot, aspect, systems, metric, sd_items, sd_ratings, pairs)
    if difference is None and items is None:
        if pilot_data is None:
            raise InputError("give 'difference', 'items' or both")
        items = noise.n
    rater_counts = raters or ((1,) if metric else RATERS)
    plans = make_rating_plans(noise, rater_counts, difference, items, power, alpha)
    return PowerAnalysis(noise, plans, 0.0 if difference and items else power, alpha, pilot_data)


def _measure_noise(
    pilot: Iterable[Record] | str | Path | None,
    aspect: str | None,
    systems: Sequence[str],
    metric: str | None,
    sd_items: float | None,
    sd_ratings: float | None,
    pairs: bool,
) -> tuple[RatingNoise, Pilot | None]:
    """Return how much ratings vary, and the pilot if there is one."""
    if pilot is None:
        if sd_items is None or sd_ratings is None or metric or aspect or systems:
            raise InputError(
                "without a pilot, give 'sd_items' and 'sd_ratings', and leave out 'metric', 'aspect' and 'systems'"
            )
        if not (sd_items >= 0 and sd_ratings >= 0):
            raise InputError("'sd_items' and 'sd_ratings' must be 0 or more")
        return RatingNoise(sd_items, sd_ratings, 1 if pairs else 2), None
    if sd_items is not None or sd_ratings is not None or pairs:
        raise InputError("'sd_items', 'sd_ratings' and 'pairs' are for planning without a pilot; leave them out")
    if metric and not isinstance(pilot, str | Path):
        raise InputError("planning with a metric needs a run folder as the pilot")
    if metric and isinstance(pilot, str | Path):
        pilot_data = pilot_from_scores(load(pilot), metric, systems)
    else:
        pilot_data = pilot_from_records(read_judged_records(pilot).records, aspect, systems)
    return pilot_data.noise, pilot_data
