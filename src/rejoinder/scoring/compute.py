"""The innermost step: one metric over some pairs, without the pairs that cannot be scored."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import rejoinder
from rejoinder.data.parts import read_part
from rejoinder.errors import RejoinderError, brief
from rejoinder.metric import Metric, Rows, SetMetric, Statistic, is_packaged, parse, signature
from rejoinder.scoring import flags
from rejoinder.scoring.cache import DIALOGUE, EVERYTHING, ScoreStore, pairs_digest, score_address
from rejoinder.types import Pair

Found = TypeVar("Found")
NOT_LAST = "last reply"  # what a pair lacks whose dialogue is scored at another one


def missing_part(metric: Metric, pair: Pair) -> str | None:
    """Return what a pair lacks to be scored: "reply", a part of the item, or NOT_LAST; None where it has all."""
    if metric.whole_dialogues and not pair.is_last:
        return NOT_LAST
    if not pair.response.text or pair.response.text.isspace():
        return "reply"
    for part in sorted(metric.needs):
        if not read_part(pair, part):
            return part
    return None


def measure_pairs(metric: Metric, pairs: Sequence[Pair]) -> list[Statistic]:
    """Return the statistic of each pair: the score, or what a SetMetric will settle; None where it has none."""
    if isinstance(metric, SetMetric):
        return _apply_to_scorable(metric, pairs, metric.statistic)
    return [_check_score(metric, value) for value in _apply_to_scorable(metric, pairs, metric.score)]


def match_references(metric: Metric, pairs: Sequence[Pair]) -> list[int | None]:
    """Return which reference each response matched best."""
    return _apply_to_scorable(metric, pairs, metric.match)


def reads_whole(metric: Metric) -> bool:
    """Whether a metric reads every text whole, however long."""
    return type(metric).cut is Metric.cut


def find_cut_pairs(metric: Metric, pairs: Sequence[Pair]) -> list[bool | None]:
    """Return which pairs have a text that the metric could not read whole."""
    return _apply_to_scorable(metric, pairs, metric.cut)


def settle_set(metric: Metric, rows: Rows) -> list[float | None]:
    """Return the scores of a whole set from its statistics (without rows that have none)."""
    if not isinstance(metric, SetMetric):
        return [row.statistic for row in rows]
    values = metric.settle(rows)
    _check_count(metric, values, len(rows))
    return [_check_score(metric, value) for value in values]


def _apply_to_scorable(
    metric: Metric, pairs: Sequence[Pair], compute: Callable[[Sequence[Pair]], Sequence[Found]]
) -> list[Found | None]:
    known = [missing_part(metric, pair) is None for pair in pairs]
    scorable = [pair for pair, all_there in zip(pairs, known, strict=True) if all_there]
    try:
        results = compute(scorable) if scorable else []
    except RejoinderError:
        raise
    except Exception as error:
        if type(metric).__module__.startswith("rejoinder."):
            raise
        raise RejoinderError(f"the metric {metric} failed: {type(error).__name__}: {error}") from error
    _check_count(metric, results, len(scorable))
    values = iter(results)
    return [next(values) if all_there else None for all_there in known]


def _check_count(metric: Metric, values: Sequence[Any], expected: int) -> None:
    if len(values) != expected:
        raise RejoinderError(f"the metric {metric} must return one value per pair, not {len(values)} for {expected}")


def _check_score(metric: Metric, value: Any) -> float | None:
    """Return a score as it is stored: a finite number within the metric's range, or None for NaN."""
    if value is None:
        return None
    # Mostly it is a float: the check for other real numbers costs more than the rest.
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise RejoinderError(
            f"the metric {metric} returned {brief(value)}; a score must be a number (NaN where there is none)"
        )
    number = float(value)
    if math.isnan(number):
        return None
    low, high = metric.range
    if not low - 1e-9 <= number <= high + 1e-9 or math.isinf(number):
        raise RejoinderError(f"the metric {metric} returned {number}, outside its range from {low} to {high}")
    number = min(max(number, low), high)
    return number if metric.decimals is None else round(number, metric.decimals)


@runtime_checkable
class RequestingMetric(Protocol):
    """A metric that sends requests: one that failed may succeed another time, so missing scores are not final."""

    def is_open(self, pairs: Sequence[Pair]) -> bool:
        """Whether a request about the pairs would be sent again."""
        ...


@dataclass(frozen=True)
class ScoreColumn:
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
        """The parts of an item that the values may depend on; for a metric of the user's, everything."""
        if self.metric is None:
            return frozenset({"truncated"})
        return self.metric.needs if is_packaged(self.metric) else EVERYTHING

    @property
    def reads(self) -> frozenset[str]:
        """The parts of an item that the values depend on where it has them, and ``DIALOGUE`` for whole dialogues."""
        if self.metric is None:
            return frozenset()
        own = self.metric.reads if is_packaged(self.metric) else frozenset[str]()
        return own | ({DIALOGUE} if self.metric.whole_dialogues else frozenset[str]())

    def is_final(self, pairs: Sequence[Pair]) -> bool:
        """Whether stored values are complete, so that nothing would be computed again."""
        return not (self.kind == "score" and isinstance(self.metric, RequestingMetric) and self.metric.is_open(pairs))

    def compute(self, pairs: Sequence[Pair]) -> list[Any]:
        """Return one JSON value per pair."""
        if self.metric is None:
            return list(flags.find_flags(pairs))
        function = {"score": measure_pairs, "match": match_references, "cut": find_cut_pairs}[self.kind]
        return list(function(self.metric, pairs))


@dataclass(frozen=True)
class CachedScoreColumn:
    """The address of a column's values for one chunk, and whether they were cached."""

    address: str
    cached: bool


def make_score_columns(specs: Sequence[str], matched: bool = False) -> list[ScoreColumn]:
    """Return the columns for some specs: one per metric, then matches, cuts and flags."""
    metrics = [parse(spec) for spec in specs]
    matches = [ScoreColumn("match", m) for m in metrics if matched and "references" in m.needs]
    cuts = [ScoreColumn("cut", m) for m in metrics if not reads_whole(m)]
    return [*(ScoreColumn("score", m) for m in metrics), *matches, *cuts, ScoreColumn("flags")]


def has_stored(column: ScoreColumn, pairs: Sequence[Pair], store: ScoreStore) -> bool:
    """Whether the store has a column's values for a chunk, so that nothing would be computed."""
    values = store.get(score_address(column.signature, pairs_digest(pairs, column.needs, column.reads)))
    return values is not None and len(values) == len(pairs) and column.is_final(pairs)


def compute_cached(
    column: ScoreColumn,
    pairs: Sequence[Pair],
    store: ScoreStore,
    contents: dict[tuple[frozenset[str], frozenset[str]], str],
) -> CachedScoreColumn:
    """Compute a column over a chunk unless the store has it already; ``contents`` are digests of the same chunk."""
    parts = column.needs, column.reads
    if parts not in contents:
        contents[parts] = pairs_digest(pairs, *parts)
    target = score_address(column.signature, contents[parts])
    cached_values = store.get(target)
    if cached_values is not None and len(cached_values) == len(pairs) and column.is_final(pairs):
        return CachedScoreColumn(target, True)
    store.put(target, column.compute(pairs))
    return CachedScoreColumn(target, False)
