"""Aggregated ratings: one per unit and aspect, whose rater names the method and whose meta holds its uncertainty.

For classes, meta holds the probability of each (``probabilities``), that of the label (``confidence``), their mean
(``expected``) and standard deviation (``spread``), and the classes between which 95% of it lies (``low``, ``high``);
for a mean, its ``standard_error`` and its 95% interval. ``n`` counts the ratings. ``trust`` reads them (``certainty``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rejoinder.comparison.judgements import AGGREGATE, AspectJudgements, judged_unit, sort_judgements
from rejoinder.errors import InputError
from rejoinder.stats.aggregation import Aggregated, aggregate
from rejoinder.stats.ceiling import ReachableCorrelation, reachable_by_labels, reachable_by_means
from rejoinder.types import Choice, Preference, Rating, Record

_CHOICES: dict[float, Choice] = {1.0: "first", -1.0: "second", 0.0: "tie"}
_DECIMALS = 6
_WITHOUT_RATERS = frozenset(("majority", "mean", "mode"))  # methods that do not ask who gave a rating


class AggregatedAspect(NamedTuple):
    """The aggregated ratings of one aspect."""

    judged: AspectJudgements
    found: Aggregated
    records: list[Rating | Preference]


def aggregate_ratings(records: Iterable[Record], method: str) -> list[AggregatedAspect]:
    """One rating (or preference) for each unit of each aspect, except for units without a label."""
    targets: dict[tuple[bool, str], Rating | Preference] = {}

    def note_targets() -> Iterable[Record]:
        for record in records:
            if isinstance(record, Rating | Preference):
                targets.setdefault((isinstance(record, Preference), judged_unit(record)), record)
            yield record

    judgements = sort_judgements(note_targets())
    if not judgements.aspects:
        raise InputError("there are no ratings to aggregate; use a file that contains ratings")
    wanted = [judged for judged in judgements.aspects.values() if not (judged.is_preference and method == "mean")]
    if not wanted:
        raise InputError("preferences have no mean; aggregate them with another method, such as majority")
    for judged in wanted:
        if method not in _WITHOUT_RATERS and len(judged.named_columns) < len(judged.matrix.raters):
            raise InputError(
                f"{method} learns how each rater rates, but ratings of {judged.name!r} have no rater's name; use "
                f"{' or '.join(sorted(_WITHOUT_RATERS))}, or add a column of raters"
            )
    return [_aggregate_aspect(judged, aggregate(judged.matrix.values, method), method, targets) for judged in wanted]


def _aggregate_aspect(
    judged: AspectJudgements, aggregated: Aggregated, method: str, targets: dict[tuple[bool, str], Rating | Preference]
) -> AggregatedAspect:
    rater = AGGREGATE + method
    records: list[Rating | Preference] = []
    for row, unit in enumerate(judged.matrix.units):
        value = float(aggregated.values[row])
        if math.isnan(value):
            continue
        meta, target = _describe_certainty(aggregated, row), targets[judged.is_preference, unit]
        if isinstance(target, Preference):
            first, second = sorted((target.first, target.second))
            records.append(Preference(target.item, first, second, rater, _CHOICES[value], judged.aspect, meta))
        else:
            records.append(Rating(rater, judged.aspect, value, target.response, target.dialogue, meta))
    return AggregatedAspect(judged, aggregated, records)


def _describe_certainty(aggregated: Aggregated, row: int) -> dict[str, Any]:
    """The uncertainty of a label."""
    meta: dict[str, Any] = {"n": int(aggregated.n[row])}
    if aggregated.probabilities is None:
        numbers = {"standard_error": aggregated.error[row]}
    else:
        numbers = {
            "confidence": aggregated.confidence[row],
            "expected": aggregated.expected[row],
            "spread": aggregated.error[row],
        }
    numbers |= {"low": aggregated.low[row], "high": aggregated.high[row]}
    meta |= {name: round(float(number), _DECIMALS) for name, number in numbers.items() if not math.isnan(number)}
    if aggregated.probabilities is not None:
        shares = zip(aggregated.categories.tolist(), aggregated.probabilities[row].tolist(), strict=True)
        meta["probabilities"] = {f"{label:g}": round(share, _DECIMALS) for label, share in shares if share >= 5e-7}
    return meta


def reachable_with_aggregated(ratings: Sequence[Rating]) -> ReachableCorrelation:
    """The highest correlation that any metric could reach with aggregated ratings, by their own uncertainty."""
    values = [rating.value for rating in ratings]
    expected, spread, errors = (
        [_certainty_number(rating.meta.get(key)) for rating in ratings]
        for key in ("expected", "spread", "standard_error")
    )
    if any(not math.isnan(number) for number in spread):
        return reachable_by_labels(values, expected, spread)
    return reachable_by_means(values, errors)


def _certainty_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
