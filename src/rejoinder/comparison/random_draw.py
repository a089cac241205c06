"""A random sample of a run's replies to have rated, drawn with known probabilities: what ``estimate`` needs.

Items are drawn with all replies to them, so that systems are compared on the same items (or whole dialogues are). Where
systems answered different items, they get equally many ratings. Inside these groups every item has the same chance; or,
with strata, as many are drawn from each stratum as it has a share of the items; or items on which the metrics disagree
are drawn more often, with probabilities in proportion (systematic sampling in random order, Madow 1949).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.rating_table import DRAWN, PROBABILITY
from rejoinder.comparison.reading_list import beaten_shares
from rejoinder.comparison.sample_strata import label_strata
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.scoring.result import Scores
from rejoinder.seeded import stable_hash, stable_shuffle
from rejoinder.stats.arrays import Floats

Together: TypeAlias = Literal["item", "dialogue"]


class DrawnReply(NamedTuple):
    """A reply by its place in the scores, and the probability with which it was drawn."""

    place: int
    probability: float


class _Unit(NamedTuple):
    """Replies that are drawn together, by their places in the scores; the systems that wrote them."""

    name: str
    places: tuple[int, ...]
    systems: tuple[str, ...]
    stratum: str
    size: float  # its chance, relative to the others


def draw_replies(
    scores: Scores,
    data: Collection,
    count: int,
    *,
    together: Together = "item",
    strata: str | None = None,
    by_uncertainty: bool = False,
    seed: int = 0,
) -> list[DrawnReply]:
    """About ``count`` replies (no more, unless a single draw has more), in the order of their items."""
    units = _list_units(scores, data, together, strata, by_uncertainty)
    groups: dict[tuple[str, ...], list[_Unit]] = {}
    for unit in units:
        groups.setdefault(unit.systems, []).append(unit)
    drawn: list[DrawnReply] = []
    for systems, n in _balance_systems(groups, count).items():
        for part in _split_by_stratum(groups[systems], n):
            drawn += _draw_units(*part, seed)
    return sorted(drawn)


def mark_drawn(data: Collection, scores: Scores, drawn: Sequence[DrawnReply], together: Together) -> Collection:
    """The data with the probability of each drawn reply in its ``meta``, where ``estimate`` looks for it."""
    responses = dict(data.responses)
    for one in drawn:
        name = scores.responses[one.place]
        meta = {**responses[name].meta, PROBABILITY: one.probability, DRAWN: together}
        responses[name] = replace(responses[name], meta=meta)
    return replace(data, responses=responses)


def _list_units(
    scores: Scores, data: Collection, together: Together, strata: str | None, by_uncertainty: bool
) -> list[_Unit]:
    labels = None if strata in (None, "system") else label_strata(scores, data, str(strata))
    sizes = _disagreement(scores) if by_uncertainty else np.ones(len(scores))
    places: dict[str, list[int]] = {}
    for i, item in enumerate(scores.items):
        places.setdefault(item if together == "item" else str(scores.clusters[i]), []).append(i)
    units = []
    for name, rows in places.items():
        systems = tuple(sorted(scores.systems[scores.system_codes[i]] for i in rows))
        if together == "dialogue":  # dialogues differ in length, not in who speaks
            systems = tuple(sorted(set(systems)))
        stratum = "" if labels is None else str(labels[rows[0]])
        units.append(_Unit(name, tuple(rows), systems, stratum, float(sizes[rows].mean())))
    return units


def _disagreement(scores: Scores) -> Floats:
    """How far the metrics' ranks of each reply differ, but no less than half of the mean: weights stay small."""
    specs = [spec for spec, facts in scores.facts.items() if facts.higher_is_better is not None]
    if len(specs) < 2:
        raise InputError(
            f"probabilities by uncertainty need two or more metrics with a direction, found {len(specs)}; score with "
            "others too, or draw without --by-uncertainty"
        )
    ranks = np.stack([beaten_shares(scores[spec], scores.facts[spec].higher_is_better is False) for spec in specs])
    known = ~np.isnan(ranks)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, ranks, 0.0).sum(axis=0) / n
    spread = np.sqrt(np.where(known, (ranks - mean) ** 2, 0.0).sum(axis=0) / n)
    least = float(spread.mean()) / 2
    return np.maximum(spread, least) if least > 0 else np.ones(len(scores))


def _balance_systems(groups: Mapping[tuple[str, ...], Sequence[_Unit]], count: int) -> dict[tuple[str, ...], int]:
    """How many units to draw of each group: the system with the fewest replies so far is next."""
    n = dict.fromkeys(groups, 0)
    replies = {systems: sum(len(unit.places) for unit in units) / len(units) for systems, units in groups.items()}
    so_far = dict.fromkeys((system for systems in groups for system in systems), 0.0)
    total = 0.0
    while True:
        open_groups = [s for s in groups if n[s] < len(groups[s]) and (total + replies[s] <= count + 1e-9 or not total)]
        if not open_groups:
            return {systems: number for systems, number in n.items() if number}
        chosen = min(open_groups, key=lambda s: (min(so_far[one] for one in s), -len(s), s))
        n[chosen] += 1
        total += replies[chosen]
        for system in chosen:
            so_far[system] += replies[chosen] / len(chosen)


def _split_by_stratum(units: Sequence[_Unit], n: int) -> list[tuple[list[_Unit], int]]:
    """The units of each stratum and how many to draw of them: its share of all, and two where there is room."""
    strata: dict[str, list[_Unit]] = {}
    for unit in units:
        strata.setdefault(unit.stratum, []).append(unit)
    quotas = {name: n * len(members) / len(units) for name, members in strata.items()}
    numbers = {name: min(len(strata[name]), max(math.floor(quota), 1)) for name, quota in quotas.items()}
    while sum(numbers.values()) > n:
        largest = max(numbers, key=lambda name: (numbers[name] - quotas[name], name))
        numbers[largest] -= 1
    while sum(numbers.values()) < n:
        room = [name for name in numbers if numbers[name] < len(strata[name])]
        numbers[max(room, key=lambda name: (quotas[name] - numbers[name], name))] += 1
    if empty := [name for name, number in numbers.items() if not number]:
        raise InputError(
            f"{n} draws are too few for {len(strata)} strata ({empty[0]!r} gets none); draw more, or use fewer strata"
        )
    return [(strata[name], number) for name, number in numbers.items()]


def _draw_units(units: Sequence[_Unit], n: int, seed: int) -> list[DrawnReply]:
    """n units in systematic draws from a random order; each unit's probability is in proportion to its size."""
    by_name = {unit.name: unit for unit in units}
    shuffled = [by_name[name] for name in stable_shuffle(by_name, seed, "estimate")]
    probabilities = _inclusion([unit.size for unit in shuffled], n)
    start = stable_hash(seed, "start", *sorted(by_name)[:1]) / 2**64
    ends = np.cumsum(probabilities)
    ends[-1] = n  # not a rounding error less
    before = np.concatenate([[0.0], ends[:-1]])
    chosen = np.floor(ends - start) > np.floor(before - start)
    return [
        DrawnReply(place, round(float(probability), 9))
        for unit, probability, is_drawn in zip(shuffled, probabilities, chosen, strict=True)
        if is_drawn
        for place in unit.places
    ]


def _inclusion(sizes: Sequence[float], n: int) -> Floats:
    """Probabilities in proportion to sizes that add up to n, none above 1."""
    size = np.asarray(sizes, dtype=np.float64)
    certain = np.zeros(len(size), bool)
    while True:
        rest = n - int(certain.sum())
        p = np.where(certain, 1.0, size * rest / max(float(size[~certain].sum()), 1e-300))
        above = (p > 1) & ~certain
        if not above.any():
            return np.minimum(p, 1.0)
        certain |= above
