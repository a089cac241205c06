"""The innermost step: one metric over some pairs, with every pair that cannot be scored left out and marked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import rejoinder
from rejoinder.errors import RejoinderError, brief
from rejoinder.metric import Metric, Rows, SetMetric, Statistic, is_packaged, parse, signature
from rejoinder.scoring import flags
from rejoinder.scoring.cache import EVERYTHING, ScoreStore, address, content_digest
from rejoinder.types import Item, Pair

Found = TypeVar("Found")
_ITEM_PARTS: dict[str, Callable[[Item], Sequence[Any]]] = {
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
        if not _ITEM_PARTS[part](pair.item):
            return part
    return None


def measure(metric: Metric, pairs: Sequence[Pair]) -> list[Statistic]:
    """The statistic of each pair: the score itself, or what a SetMetric will settle; None where it cannot be had."""
    if isinstance(metric, SetMetric):
        return _apply_to_scorable(metric, pairs, metric.statistic)
    return [_check_score(metric, value) for value in _apply_to_scorable(metric, pairs, metric.score)]


def match(metric: Metric, pairs: Sequence[Pair]) -> list[int | None]:
    """Which reference each response matched best."""
    return _apply_to_scorable(metric, pairs, metric.match)


def reads_whole(metric: Metric) -> bool:
    """Whether a metric reads every text whole, however long."""
    return type(metric).cut is Metric.cut


def cut(metric: Metric, pairs: Sequence[Pair]) -> list[bool | None]:
    """Which pairs hold a text that the metric could not read whole."""
    return _apply_to_scorable(metric, pairs, metric.cut)


def settle(metric: Metric, rows: Rows) -> list[float | None]:
    """The scores of a whole set from its statistics (the rows without one are not among them)."""
    if not isinstance(metric, SetMetric):
        return [row.statistic for row in rows]
    values = metric.settle(rows)
    _check_count(metric, values, len(rows))
    return [_check_score(metric, value) for value in values]


def _apply_to_scorable(
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
    _check_count(metric, found, len(scorable))
    values = iter(found)
    return [next(values) if all_there else None for all_there in known]


def _check_count(metric: Metric, found: Sequence[Any], expected: int) -> None:
    if len(found) != expected:
        raise RejoinderError(
            f"the metric {metric} gave {len(found)} values for {expected} pairs; it must give one each"
        )


def _check_score(metric: Metric, value: Any) -> float | None:
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


@runtime_checkable
class AskingMetric(Protocol):
    """A metric that asks somebody: what was refused once may be answered another time, so it does not stay as it is."""

    def is_open(self, pairs: Sequence[Pair]) -> bool:
        """Whether something about the pairs would be asked again."""
        ...


@dataclass(frozen=True)
class Column:
    """What is computed for each pair of a run."""

    kind: Literal["score", "match", "cut", "flags"]
    metric: Metric | None = None

    @property
    def signature(self) -> str:
        """Everything that decides the column's values, the package's version included."""
        own = f"flags|version:{flags.VERSION}" if self.metric is None else signature(self.metric)
        return f"{self.kind}|{own}|rejoinder:{rejoinder.__version__}"

    @property
    def needs(self) -> frozenset[str]:
        """What of a pair the values may depend on, beside the response's text; of a metric of the user's, all of it."""
        if self.metric is None:
            return frozenset({"truncated"})
        return self.metric.needs if is_packaged(self.metric) else EVERYTHING

    def is_final(self, pairs: Sequence[Pair]) -> bool:
        """Whether values that were kept are all that can be had."""
        return not (self.kind == "score" and isinstance(self.metric, AskingMetric) and self.metric.is_open(pairs))

    def compute(self, pairs: Sequence[Pair]) -> list[Any]:
        """One JSON value a pair."""
        if self.metric is None:
            return list(flags.find_flags(pairs))
        work = {"score": measure, "match": match, "cut": cut}[self.kind]
        return list(work(self.metric, pairs))


@dataclass(frozen=True)
class CachedColumn:
    """Where a column's values for one chunk are kept, and whether they were there already."""

    address: str
    found: bool


def make_columns(specs: Sequence[str], matched: bool = False) -> list[Column]:
    """The columns that specs ask for: one a metric, then matches, cuts and flags."""
    metrics = [parse(spec) for spec in specs]
    matches = [Column("match", m) for m in metrics if matched and "references" in m.needs]
    cuts = [Column("cut", m) for m in metrics if not reads_whole(m)]
    return [*(Column("score", m) for m in metrics), *matches, *cuts, Column("flags")]


def compute_cached(
    column: Column, pairs: Sequence[Pair], store: ScoreStore, contents: dict[frozenset[str], str]
) -> CachedColumn:
    """Compute a column over a chunk unless the store has it for good; ``contents`` are digests of the same chunk."""
    if column.needs not in contents:
        contents[column.needs] = content_digest(pairs, column.needs)
    place = address(column.signature, contents[column.needs])
    known = store.get(place)
    if known is not None and len(known) == len(pairs) and column.is_final(pairs):
        return CachedColumn(place, True)
    store.put(place, column.compute(pairs))
    return CachedColumn(place, False)
