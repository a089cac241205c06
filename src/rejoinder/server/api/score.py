"""``POST /score``: replies in, one score per metric and reply out; simultaneous requests are scored in one call."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.data.parts import PART_NAMES, read_part
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.metric import Metric, SetMetric, signature
from rejoinder.scoring import compute
from rejoinder.scoring.api import score_pairs
from rejoinder.server.api.endpoint import Verb
from rejoinder.server.api.limits import ROWS, SPECS
from rejoinder.server.api.records import pair_of
from rejoinder.server.api.schemas import COUNT, FIGURE, FLAG, PLACE, STRING, array_of, mapping_of, object_of, reference
from rejoinder.server.api.service import ApiService, split_by_size
from rejoinder.types import Pair


class MetricAnswer(NamedTuple):
    """One metric's scores of one request's pairs; ``cut`` counts the pairs that were too long to be read completely."""

    values: Sequence[float | None]
    matched: Sequence[int | None]
    cut: int
    signature: str


async def answer_score(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Score replies with metrics. Simultaneous requests are scored in one call."""
    metrics = list(dict.fromkeys(service.offer.metric(text) for text in body["metrics"]))
    pairs = [pair_of(entry, number) for number, entry in enumerate(body["pairs"])]
    for metric in metrics:
        _check_needs(metric, pairs)
    matched = bool(body.get("matched"))
    answers = await asyncio.gather(*(ask_metric(service, metric, pairs, matched) for metric in metrics))
    by_spec = {str(metric): answer for metric, answer in zip(metrics, answers, strict=True)}
    return {
        "scores": {spec: answer.values for spec, answer in by_spec.items()},
        "matched": {spec: answer.matched for spec, answer in by_spec.items() if answer.matched},
        "cut": {spec: answer.cut for spec, answer in by_spec.items() if answer.cut},
        "metrics": {str(metric): metric_facts(metric, by_spec[str(metric)].signature) for metric in metrics},
    }


def _check_needs(metric: Metric, pairs: Sequence[Pair]) -> None:
    """Raise an error if no pair has what a metric needs; if some have it, the others get no score."""
    for part in sorted(metric.needs):
        if not any(read_part(pair, part) for pair in pairs):
            name = PART_NAMES.get(part, part)
            raise InputError(f"{metric} needs {name}, which no pair has; add it to the pairs, or leave the metric out")


async def ask_metric(service: ApiService, metric: Metric, pairs: Sequence[Pair], matched: bool = False) -> MetricAnswer:
    """Score some pairs with a metric."""
    matched = matched and "references" in metric.needs
    work = functools.partial(_score_batch, metric, matched)
    answer: MetricAnswer = await service.ask(metric, f"score {matched}", pairs, len(pairs), work)
    return answer


def _score_batch(metric: Metric, matched: bool, requests: list[Sequence[Pair]]) -> list[MetricAnswer]:
    """Score the pairs of all requests in one call; a metric over whole sets takes each request as one set."""
    try:
        if isinstance(metric, SetMetric):
            return [answer for pairs in requests for answer in _score_together(metric, matched, [pairs])]
        return _score_together(metric, matched, requests)
    except (ArithmeticError, ValueError, MemoryError) as error:
        if str(metric).endswith(")"):  # unforeseen parameters
            raise SpecError(
                f"{metric} could not be computed ({brief(str(error), 120)}); change its parameters"
            ) from None
        raise


def _score_together(metric: Metric, matched: bool, requests: list[Sequence[Pair]]) -> list[MetricAnswer]:
    pairs = [pair for request in requests for pair in request]
    sizes = [len(request) for request in requests]
    values = [None if math.isnan(value) else value for value in score_pairs(metric, pairs).tolist()]
    places = compute.match_references(metric, pairs) if matched else []
    cut = [False] * len(pairs) if compute.reads_whole(metric) else compute.find_cut_pairs(metric, pairs)
    shares = split_by_size(sizes, values), split_by_size(sizes, places), split_by_size(sizes, cut)
    return [
        MetricAnswer(value, place, sum(map(bool, part)), _metric_signature(metric, _reference_sources(request)))
        for request, value, place, part in zip(requests, *shares, strict=True)
    ]


def _reference_sources(pairs: Sequence[Pair]) -> frozenset[str]:
    return frozenset(reference.source for pair in pairs for reference in pair.item.references)


@functools.lru_cache(512)
def _metric_signature(metric: Metric, sources: frozenset[str]) -> str:
    return signature(metric, sources)


def metric_facts(metric: Metric, metric_signature: str) -> dict[str, Any]:
    """Return what a reader needs to know about a metric."""
    return {
        "signature": metric_signature,
        "range": [None if math.isinf(bound) else bound for bound in metric.range],
        "higher_is_better": metric.higher_is_better,
        "needs": sorted(metric.needs),
    }


FACTS = object_of(signature=STRING, range=array_of(FIGURE), higher_is_better=FLAG, needs=array_of(STRING))
CONVERSATION = {
    "context": [{"speaker": "guest", "text": "Hello."}, {"speaker": "guest", "text": "Is it open on Sunday?"}],
    "reply": "Yes, from ten to five.",
}
SCORE = Verb(
    "score",
    request=lambda metric, system: object_of(
        ("metrics", "pairs"),
        metrics=array_of(metric, SPECS, 1),
        pairs=array_of(reference("Pair"), ROWS, 1),
        matched={"type": "boolean", "default": False, "description": "return which reference each reply matched"},
    ),
    answer=object_of(
        scores=mapping_of(array_of(FIGURE)),
        matched=mapping_of(array_of(PLACE)),
        cut=mapping_of(COUNT),
        metrics=mapping_of(FACTS),
    ),
    example={
        "metrics": ["aptness(model='bi')", "bleu"],
        "pairs": [{**CONVERSATION, "references": ["Yes, from ten."]}],
    },
    respond=answer_score,
)
