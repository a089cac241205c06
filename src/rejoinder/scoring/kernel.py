"""The innermost step: one metric over some pairs, with every pair that cannot be scored left out and marked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rejoinder.contract import Metric, Rows, SetMetric, Statistic
from rejoinder.errors import RejoinderError, brief
from rejoinder.types import Item, Pair

Found = TypeVar("Found")
_PART: dict[str, Callable[[Item], Sequence[Any]]] = {
    "context": lambda item: item.context,
    "references": lambda item: item.references,
    "future": lambda item: item.future,
    "situation": lambda item: item.situation,
}


def missing_part(metric: Metric, pair: Pair) -> str | None:
    """Why a pair cannot be scored: "reply", or the part of the item that the metric needs; None where it can."""
    if not pair.response.text or pair.response.text.isspace():
        return "reply"
    for part in sorted(metric.needs):
        if not _PART[part](pair.item):
            return part
    return None


def measure(metric: Metric, pairs: Sequence[Pair]) -> list[Statistic]:
    """The statistic of each pair: the score itself, or what a SetMetric will settle; None where it cannot be had."""
    if isinstance(metric, SetMetric):
        return _over_scorable(metric, pairs, metric.statistic)
    return [_checked(metric, value) for value in _over_scorable(metric, pairs, metric.score)]


def match(metric: Metric, pairs: Sequence[Pair]) -> list[int | None]:
    """Which reference each response matched best."""
    return _over_scorable(metric, pairs, metric.match)


def reads_whole(metric: Metric) -> bool:
    """Whether a metric reads every text whole, however long."""
    return type(metric).cut is Metric.cut


def cut(metric: Metric, pairs: Sequence[Pair]) -> list[bool | None]:
    """Which pairs hold a text that the metric could not read whole."""
    return _over_scorable(metric, pairs, metric.cut)


def settle(metric: Metric, rows: Rows) -> list[float | None]:
    """The scores of a whole set from its statistics (the rows without one are not among them)."""
    if not isinstance(metric, SetMetric):
        return [row.statistic for row in rows]
    values = metric.settle(rows)
    _same_number(metric, values, len(rows))
    return [_checked(metric, value) for value in values]


def _over_scorable(
    metric: Metric, pairs: Sequence[Pair], verb: Callable[[Sequence[Pair]], Sequence[Found]]
) -> list[Found | None]:
    known = [missing_part(metric, pair) is None for pair in pairs]
    scorable = [pair for pair, all_there in zip(pairs, known, strict=True) if all_there]
    try:
        found = verb(scorable) if scorable else []
    except RejoinderError:
        raise
    except Exception as error:
        if type(metric).__module__.startswith("rejoinder."):
            raise
        raise RejoinderError(f"the metric {metric} failed: {type(error).__name__}: {error}") from error
    _same_number(metric, found, len(scorable))
    values = iter(found)
    return [next(values) if all_there else None for all_there in known]


def _same_number(metric: Metric, found: Sequence[Any], expected: int) -> None:
    if len(found) != expected:
        raise RejoinderError(
            f"the metric {metric} gave {len(found)} values for {expected} pairs; it must give one each"
        )


def _checked(metric: Metric, value: Any) -> float | None:
    """A score as it is kept: a finite number within the metric's range, or None for NaN."""
    if value is None:
        return None
    # Mostly it is a float: asking whether it is some real number costs more than the rest.
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise RejoinderError(
            f"the metric {metric} gave {brief(value)}; a score must be a number (NaN where it has none)"
        )
    number = float(value)
    if math.isnan(number):
        return None
    low, high = metric.range
    if not low - 1e-9 <= number <= high + 1e-9 or math.isinf(number):
        raise RejoinderError(f"the metric {metric} gave {number}, outside its range from {low} to {high}")
    number = min(max(number, low), high)
    return number if metric.decimals is None else round(number, metric.decimals)
