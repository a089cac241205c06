"""``POST /score``: replies in, one score a metric and reply out; what comes at the same time is scored in one call."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.errors import InputError, SpecError, brief
from rejoinder.metric import Metric, SetMetric, signature
from rejoinder.scoring import compute
from rejoinder.scoring.api import score_pairs
from rejoinder.server.api.records import pair_of
from rejoinder.server.api.service import ApiService, split_by_size
from rejoinder.types import Pair


class MetricAnswer(NamedTuple):
    """What one metric says of one request's pairs; ``cut`` counts those that it could not read whole."""

    values: Sequence[float | None]
    matched: Sequence[int | None]
    cut: int
    signature: str


async def score(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a request's pairs."""
    metrics = list(dict.fromkeys(desk.offer.metric(text) for text in body["metrics"]))
    pairs = [pair_of(one, number) for number, one in enumerate(body["pairs"])]
    for metric in metrics:
        _check_needs(metric, pairs)
    matched = bool(body.get("matched"))
    found = await asyncio.gather(*(ask_metric(desk, metric, pairs, matched) for metric in metrics))
    named = {str(metric): one for metric, one in zip(metrics, found, strict=True)}
    return {
        "scores": {spec: one.values for spec, one in named.items()},
        "matched": {spec: one.matched for spec, one in named.items() if one.matched},
        "cut": {spec: one.cut for spec, one in named.items() if one.cut},
        "metrics": {str(metric): metric_facts(metric, named[str(metric)].signature) for metric in metrics},
    }


def _check_needs(metric: Metric, pairs: Sequence[Pair]) -> None:
    """Raise where no pair has what a metric needs; where some have it, the others have no score."""
    for part in sorted(metric.needs):
        if not any(getattr(pair.item, part) for pair in pairs):
            raise InputError(f"{metric} needs {part}, which no pair has; send it with them, or leave the metric out")


async def ask_metric(desk: ApiService, metric: Metric, pairs: Sequence[Pair], matched: bool = False) -> MetricAnswer:
    """What a metric says of some pairs."""
    matched = matched and "references" in metric.needs
    work = functools.partial(_score_batch, metric, matched)
    found: MetricAnswer = await desk.ask(metric, f"score {matched}", pairs, len(pairs), work)
    return found


def _score_batch(metric: Metric, matched: bool, given: list[Sequence[Pair]]) -> list[MetricAnswer]:
    """Each request's pairs, scored in one call; a metric of whole sets takes each request as a set."""
    try:
        if isinstance(metric, SetMetric):
            return [one for pairs in given for one in _score_together(metric, matched, [pairs])]
        return _score_together(metric, matched, given)
    except (ArithmeticError, ValueError, MemoryError) as error:
        if str(metric).endswith(")"):  # parameters that nobody thought of
            raise SpecError(f"{metric} cannot be computed ({brief(str(error), 120)}); change its parameters") from None
        raise


def _score_together(metric: Metric, matched: bool, given: list[Sequence[Pair]]) -> list[MetricAnswer]:
    pairs = [pair for of_request in given for pair in of_request]
    sizes = [len(of_request) for of_request in given]
    values = [None if math.isnan(value) else value for value in score_pairs(metric, pairs).tolist()]
    places = compute.match(metric, pairs) if matched else []
    cut = [False] * len(pairs) if compute.reads_whole(metric) else compute.cut(metric, pairs)
    shares = split_by_size(sizes, values), split_by_size(sizes, places), split_by_size(sizes, cut)
    return [
        MetricAnswer(value, place, sum(map(bool, part)), _metric_signature(metric, _reference_sources(of_request)))
        for of_request, value, place, part in zip(given, *shares, strict=True)
    ]


def _reference_sources(pairs: Sequence[Pair]) -> frozenset[str]:
    return frozenset(reference.source for pair in pairs for reference in pair.item.references)


@functools.lru_cache(512)
def _metric_signature(metric: Metric, sources: frozenset[str]) -> str:
    return signature(metric, sources)


def metric_facts(metric: Metric, signed: str) -> dict[str, Any]:
    """What a reader must know of a metric."""
    return {
        "signature": signed,
        "range": [None if math.isinf(bound) else bound for bound in metric.range],
        "higher_is_better": metric.higher_is_better,
        "needs": sorted(metric.needs),
    }
