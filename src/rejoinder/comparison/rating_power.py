"""How many items and raters are enough: what a pilot says about the next comparison of two systems."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.judgements import AGGREGATE, check_preferences, is_by_judge
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.result import Scores
from rejoinder.stats.arrays import LARGEST, Floats
from rejoinder.stats.bradley_terry import POINTS
from rejoinder.stats.rating_noise import RatingNoise, RatingPlan, estimate_noise, plan_ratings
from rejoinder.table import Cell, Table, format_count, list_names
from rejoinder.types import Item, Preference, Rating, Record, Response

Ratings = dict[str, list[float]]  # by item
_FEW_ITEMS = 30


class Pilot(NamedTuple):
    """What a pilot says about the difference between two systems."""

    what: str
    first: str
    second: str
    noise: RatingNoise


def pilot_from_records(records: Sequence[Record], aspect: str | None = None, systems: Sequence[str] = ()) -> Pilot:
    """The noise in ratings of two systems' replies to the same items, or in preferences between them."""
    whose = {record.id: (record.item, record.system) for record in records if isinstance(record, Response)}
    clusters = {record.id: record.dialogue or record.id for record in records if isinstance(record, Item)}
    ratings = [r for r in records if isinstance(r, Rating) and r.response in whose and _is_person(r)]
    preferences = [r for r in records if isinstance(r, Preference) and r.first in whose and _is_person(r)]
    known = list(dict.fromkeys([*(r.aspect for r in ratings), *(r.aspect for r in preferences)]))
    if not known:
        raise InputError("there are no ratings of responses to plan with; use a file that has responses and ratings")
    aspect = _choose_one(aspect, known, "aspect")
    ratings = [r for r in ratings if r.aspect == aspect]
    first, second = _choose_two_systems(systems, [system for _, system in whose.values()])
    if ratings:
        sides: tuple[Ratings, Ratings] = {}, {}
        for rating in ratings:
            item, system = whose[rating.response or ""]
            if system in (first, second):
                _check_size(rating)
                sides[system == second].setdefault(item, []).append(rating.value)
        items = [item for item in sides[0] if item in sides[1]]
        _check_enough_items(items, first, second)
        groups = [clusters.get(item, item) for item in items]
        _need_dialogues(groups)
        noise = estimate_noise(_matrix(sides[0], items), _matrix(sides[1], items), groups)
        return Pilot(aspect, first, second, noise)
    check_preferences(preferences, {response: item for response, (item, _) in whose.items()})
    points = _points([r for r in preferences if r.aspect == aspect], whose, first, second)
    _check_enough_items(list(points), first, second)
    groups = [clusters.get(item, item) for item in points]
    _need_dialogues(groups)
    noise = estimate_noise(_matrix(points, list(points)), None, groups)
    return Pilot(f"{aspect} (preference)", first, second, noise)


def pilot_from_scores(scores: Scores, metric: str, systems: Sequence[str] = ()) -> Pilot:
    """The spread of a metric's differences between two systems of a run; no raters are involved."""
    spec = scores.spec(metric)
    first, second = _choose_two_systems(systems, scores.systems)
    sides: tuple[Ratings, Ratings] = {}, {}
    clusters: dict[str, int] = {}
    for item, code, value, cluster in zip(
        scores.items, scores.system_codes, scores.values[spec], scores.clusters, strict=True
    ):
        system = scores.systems[code]
        clusters[item] = int(cluster)
        if system in (first, second) and not math.isnan(value):
            sides[system == second].setdefault(item, []).append(float(value))
    items = [item for item in sides[0] if item in sides[1]]
    _check_enough_items(items, first, second)
    means = [np.array([[math.fsum(side[item]) / len(side[item])] for item in items]) for side in sides]
    _need_dialogues([clusters[item] for item in items])
    noise = estimate_noise(means[0], means[1], [clusters[item] for item in items])
    return Pilot(spec, first, second, noise._replace(reason=None))


def _is_person(record: Rating | Preference) -> bool:
    is_made = record.rater.startswith(AGGREGATE) or is_by_judge(record)
    return not is_made and not isinstance(record.meta.get("right"), bool)


def _points(
    preferences: Sequence[Preference], whose: Mapping[str, tuple[str, str]], first: str, second: str
) -> dict[str, list[float]]:
    """The first system's points above a tie, by item."""
    points: Ratings = {}
    for preference in preferences:
        sides = whose[preference.first][1], whose.get(preference.second, ("", ""))[1]
        if sides in ((first, second), (second, first)):
            won = POINTS[preference.choice] - 0.5
            points.setdefault(preference.item, []).append(won if sides[0] == first else 0.0 - won)
    return points


def _matrix(by_item: Ratings, items: Sequence[str]) -> Floats:
    width = max(len(by_item[item]) for item in items)
    matrix = np.full((len(items), width), math.nan)
    for row, item in enumerate(items):
        matrix[row, : len(by_item[item])] = by_item[item]
    return matrix


def _choose_two_systems(names: Sequence[str], systems: Sequence[str]) -> tuple[str, str]:
    known = list(dict.fromkeys(systems))
    for name in names:
        _choose_one(name, known, "system")
    chosen = list(dict.fromkeys(names)) or known
    if len(chosen) != 2:
        raise InputError(f"a comparison needs two systems, found {len(chosen)}; choose two of: {list_names(known)}")
    return chosen[0], chosen[1]


def _choose_one(wanted: str | None, known: Sequence[str], what: str) -> str:
    if wanted is None:
        if len(known) > 1:
            raise InputError(f"there are several {what}s ({list_names(known)}); choose one {what}")
        return known[0]
    if wanted not in known:
        raise InputError(f"there is no {what} {wanted!r}; {nearest(wanted, known)}")
    return wanted


def _check_enough_items(items: Sequence[str], first: str, second: str) -> None:
    if not items:
        raise InputError(f"no item has judgements of both {first} and {second}; choose other systems")
    if len(items) < 2:
        raise InputError(
            f"the pilot has one item with judgements of both {first} and {second}; estimating how much items differ "
            "takes two or more, so add items, or give the standard deviation between items"
        )


def _need_dialogues(groups: Sequence[Hashable]) -> None:
    if len(set(groups)) < 2:
        raise InputError(
            f"all {len(groups)} items of the pilot come from one dialogue; estimating how much dialogues differ takes "
            "two or more, so add dialogues, or give the standard deviation between items"
        )


def _check_size(rating: Rating) -> None:
    if abs(rating.value) > LARGEST:
        raise InputError(
            f"rater {rating.rater} gave {rating.response} the rating {rating.value:g}, which is too large for a "
            f"mean; keep ratings within {LARGEST:g}"
        )


def rating_plan_table(
    noise: RatingNoise, plans: Sequence[RatingPlan], wanted: float, alpha: float, pilot: Pilot | None
) -> Table:
    """One line per number of raters: items, ratings in total, the difference and the power to detect it."""
    rows: list[list[Cell]] = [
        [
            f"{plan.raters:g}",
            _round_count(plan.power.n),
            _round_count(plan.ratings),
            plan.power.difference,
            plan.power.power,
            noise.sd(plan.raters),
        ]
        for plan in plans
    ]
    title = "How many are enough" + (f": {pilot.what}, {pilot.first} vs. {pilot.second}" if pilot else "")
    rated = "reply" if noise.sides == 2 else "pair"
    heads = [f"raters per {rated}", "items", "ratings in total", "difference", "power", "sd of a difference"]
    return Table(title, heads, rows, _notes(noise, plans, wanted, alpha, pilot))


def _notes(
    noise: RatingNoise, plans: Sequence[RatingPlan], wanted: float, alpha: float, pilot: Pilot | None
) -> list[str]:
    notes = [
        f"Two-sided paired t test at {alpha:g}, by the noncentral t distribution"
        + ("; items and differences are those that give this power." if wanted else "."),
        f"Standard deviations: {noise.between:.3g} between items, {noise.within:.3g} of ratings around their mean.",
    ]
    if noise.cluster_size > 1 and noise.icc > 0:
        notes.append(
            f"Items of one dialogue are alike: icc {noise.icc:.2f} with {noise.cluster_size:.1f} items per dialogue."
        )
    if pilot is not None:
        rated = "reply" if noise.sides == 2 else "pair"
        notes.append(
            f"From {format_count(noise.n, 'item')}, {noise.raters:.2g} ratings per {rated}. The pilot's own difference "
            f"is {noise.difference:.3g}; plan with the smallest one that would matter, not with this one."
        )
        if noise.n < _FEW_ITEMS:
            notes.append(
                f"With only {format_count(noise.n, 'item')}, these standard deviations are uncertain themselves."
            )
    if noise.reason:
        notes.append(f"{noise.reason}.")
    notes += [f"{_count_raters(plan)}: {plan.power.reason}." for plan in plans if plan.power.reason]
    return notes


def _count_raters(plan: RatingPlan) -> str:
    return f"{plan.raters:g} {'rater' if plan.raters == 1 else 'raters'}"


def _round_count(n: float) -> int | None:
    return None if math.isnan(n) else math.ceil(n - 1e-9)


def make_rating_plans(
    noise: RatingNoise,
    raters: Sequence[float],
    difference: float | None,
    items: float | None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> list[RatingPlan]:
    """One plan for each number of raters."""
    return [plan_ratings(noise, difference, items=items, raters=r, power=power, alpha=alpha) for r in raters]
