"""Aggregated ratings: one a unit and aspect, under a name that says how, with how sure it is in its meta.

Of classes, meta holds the probability of each (``probabilities``), that of the label (``confidence``), their mean
(``expected``) and standard deviation (``spread``), and between which classes 95% of it lies (``low``, ``high``); of a
mean, its ``standard_error`` and its 95% interval. ``n`` counts the ratings. ``trust`` reads them (``certainty``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rejoinder.comparison.judgements import AGGREGATE, AspectJudgements, sort_judgements, unit_of
from rejoinder.errors import InputError
from rejoinder.stats.aggregation import Aggregated, aggregate
from rejoinder.stats.ceiling import ReachableCorrelation, reachable_by_labels, reachable_by_means
from rejoinder.types import Choice, Preference, Rating, Record

_CHOICES: dict[float, Choice] = {1.0: "first", -1.0: "second", 0.0: "tie"}
_DECIMALS = 6


class AggregatedAspect(NamedTuple):
    """The aggregated ratings of one aspect."""

    judged: AspectJudgements
    found: Aggregated
    records: list[Rating | Preference]


def aggregate_ratings(records: Iterable[Record], method: str) -> list[AggregatedAspect]:
    """One rating (or preference) for each unit of each aspect; units without a label have none."""
    targets: dict[tuple[bool, str], Rating | Preference] = {}

    def watched() -> Iterable[Record]:
        for record in records:
            if isinstance(record, Rating | Preference):
                targets.setdefault((isinstance(record, Preference), unit_of(record)), record)
            yield record

    given = sort_judgements(watched())
    if not given.aspects:
        raise InputError("there are no ratings to aggregate; name a file that has some")
    wanted = [judged for judged in given.aspects.values() if not (judged.is_preference and method == "mean")]
    if not wanted:
        raise InputError("preferences have no mean; aggregate them by another method, such as majority")
    return [_aggregate_aspect(judged, aggregate(judged.matrix.values, method), method, targets) for judged in wanted]


def _aggregate_aspect(
    judged: AspectJudgements, found: Aggregated, method: str, targets: dict[tuple[bool, str], Rating | Preference]
) -> AggregatedAspect:
    rater = AGGREGATE + method
    records: list[Rating | Preference] = []
    for row, unit in enumerate(judged.matrix.units):
        value = float(found.values[row])
        if math.isnan(value):
            continue
        meta, target = _describe_certainty(found, row), targets[judged.is_preference, unit]
        if isinstance(target, Preference):
            first, second = sorted((target.first, target.second))
            records.append(Preference(target.item, first, second, rater, _CHOICES[value], judged.aspect, meta))
        else:
            records.append(Rating(rater, judged.aspect, value, target.response, target.dialogue, meta))
    return AggregatedAspect(judged, found, records)


def _describe_certainty(found: Aggregated, row: int) -> dict[str, Any]:
    """How sure a label is."""
    meta: dict[str, Any] = {"n": int(found.n[row])}
    if found.probabilities is None:
        numbers = {"standard_error": found.error[row]}
    else:
        numbers = {
            "confidence": found.confidence[row],
            "expected": found.expected[row],
            "spread": found.error[row],
        }
    numbers |= {"low": found.low[row], "high": found.high[row]}
    meta |= {name: round(float(number), _DECIMALS) for name, number in numbers.items() if not math.isnan(number)}
    if found.probabilities is not None:
        shares = zip(found.categories.tolist(), found.probabilities[row].tolist(), strict=True)
        meta["probabilities"] = {f"{label:g}": round(share, _DECIMALS) for label, share in shares if share >= 5e-7}
    return meta


def certainty(ratings: Sequence[Rating]) -> ReachableCorrelation:
    """How far any metric could follow aggregated ratings, by what they say of themselves."""
    values = [rating.value for rating in ratings]
    expected, spread, errors = (
        [_number(rating.meta.get(key)) for rating in ratings] for key in ("expected", "spread", "standard_error")
    )
    if any(not math.isnan(number) for number in spread):
        return reachable_by_labels(values, expected, spread)
    return reachable_by_means(values, errors)


def _number(found: object) -> float:
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else math.nan
