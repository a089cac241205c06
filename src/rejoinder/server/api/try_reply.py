"""Requests of the Try page: one reply under many metrics, the explanation of a score, and the scores of attacks."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.json_schema import Schema
from rejoinder.metric import Metric, SetMetric
from rejoinder.probes.exchange import Exchange
from rejoinder.probes.explanation import ContextPart, Explanation, ReplySpan
from rejoinder.probes.occlusion import explain_pair
from rejoinder.probes.variants import TRIALS, TRUE, TrialVariants
from rejoinder.scoring.compute import missing_part
from rejoinder.server.api.endpoint import Verb
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.records import pair_of
from rejoinder.server.api.schemas import COUNT, FIGURE, FLAG, NOTE, PAIR, PLACE, STRING, TEXT, array_of, object_of
from rejoinder.server.api.score import CONVERSATION, FACTS, ask_metric, metric_facts
from rejoinder.server.api.service import ApiService
from rejoinder.server.api.specs import is_large_spec
from rejoinder.types import Pair

MAX_TURNS = 8  # the last turns of a context, each scored alone
MAX_EXPLAINED = 5


async def try_reply(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Score one reply with many metrics; one that is not installed says so without affecting the others."""
    names = body.get("metrics") or list_quick_metrics(service)
    pair = pair_of(body)
    return {"metrics": await asyncio.gather(*(_try_metric(service, name, pair) for name in dict.fromkeys(names)))}


def list_quick_metrics(service: ApiService) -> list[str]:
    """List the metrics that need no large model."""
    return [name for name in service.offer.metrics if not is_large_spec(name)]


async def _try_metric(service: ApiService, name: str, pair: Pair) -> dict[str, Any]:
    result: dict[str, Any] = {"metric": name, "score": None, "missing": None, "error": None}
    result |= {"reference": None, "turn": None, "facts": None}
    try:
        metric = service.offer.metric(name)
        result["missing"] = missing_part(metric, pair)
        if result["missing"] is not None:
            return result
        turns = _single_turn_pairs(metric, pair)
        answer = await ask_metric(service, metric, [pair, *turns], matched=True)
    except RejoinderError as error:
        return result | {"error": str(error)}
    result |= {"score": answer.values[0], "facts": metric_facts(metric, answer.signature)}
    if answer.matched:
        result["reference"] = answer.matched[0]
    if turns:
        result["turn"] = _find_best_turn(metric, answer.values[1:], len(pair.item.context))
    return result


def _single_turn_pairs(metric: Metric, pair: Pair) -> list[Pair]:
    """Pair the reply with each of the last turns alone; empty if that tells nothing, or the metric takes whole sets."""
    if "context" not in metric.needs or isinstance(metric, SetMetric) or len(pair.item.context) < 2:
        return []
    return [
        dataclasses.replace(pair, item=dataclasses.replace(pair.item, context=(turn,)))
        for turn in pair.item.context[-MAX_TURNS:]
    ]


def _find_best_turn(metric: Metric, scores: Sequence[float | None], n_turns: int) -> int | None:
    """Return the turn that alone gives the best score, like ``match`` for references; the latest if tied."""
    sign = -1 if metric.higher_is_better is False else 1
    signed_scores = [(sign * score, n) for n, score in enumerate(scores) if score is not None]
    return n_turns - len(scores) + max(signed_scores)[1] if signed_scores else None


def _parse_quick_metric(service: ApiService, text: str, verb: str) -> Metric:
    """Parse a metric that is quick enough to score many variants while a client waits."""
    metric = service.offer.metric(text)
    if service.queue_name(metric) == "models":
        raise InputError(f"{metric} uses a large model for every variant; use the command: rejoinder {verb}")
    return metric


async def explain_reply(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say how each part of the context and each word of the reply changes a score."""
    metric = _parse_quick_metric(service, body["metric"], "explain")
    pair = pair_of(body)
    explanation: Explanation = await service.ask(metric, "explain", pair, 1, functools.partial(_explain_batch, metric))
    return {
        "metric": explanation.metric,
        "score": json_number(explanation.score),
        "unit": explanation.unit,
        "words": [_span_object(one) for one in explanation.words],
        "costly": [_span_object(one) for one in explanation.costly(MAX_EXPLAINED)],
        "earning": [_span_object(one) for one in explanation.earning(MAX_EXPLAINED)],
        "context": [_part_object(one) for one in explanation.context if not one.is_piece],
        "leans_on": [_part_object(one) for one in explanation.answers()],
        "notes": list(explanation.notes),
    }


def _explain_batch(metric: Metric, pairs: list[Pair]) -> list[Explanation]:
    return [explain_pair(metric, pair) for pair in pairs]


def _span_object(span: ReplySpan) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "text": span.text, "worth": json_number(span.worth)}


def _part_object(part: ContextPart) -> dict[str, Any]:
    part_data = {"turn": part.utterance, "text": part.text, "is_piece": part.is_piece}
    return part_data | {"share": json_number(part.share), "alone": json_number(part.alone)}


async def attack_reply(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Score the reply, worse replies made by rule, and harmless rewritings."""
    metric = _parse_quick_metric(service, body["metric"], "attack")
    if isinstance(metric, SetMetric):
        raise SpecError(f"{metric} is computed over a whole set of replies; choose a metric that scores single replies")
    item = pair_of(body).item
    exchange = Exchange("try", "try", "try", item.context, body["reply"], references=item.references)
    work = functools.partial(_attack_batch, metric)
    trials: list[dict[str, Any]] = await service.ask(metric, "attack", exchange, len(TRIALS), work)
    return {"metric": str(metric), "higher_is_better": metric.higher_is_better, "trials": trials}


def _attack_batch(metric: Metric, exchanges: list[Exchange]) -> list[list[dict[str, Any]]]:
    return [_trial_objects(metric, TrialVariants.of([exchange], 0)) for exchange in exchanges]


def _trial_objects(metric: Metric, variants: TrialVariants) -> list[dict[str, Any]]:
    scores = {name: float(values[0]) for name, values in variants.scores(metric).items()}
    true_score = scores[TRUE]
    sign = -1 if metric.higher_is_better is False else 1
    trials = [{"name": TRUE, "kind": "true", "about": "the reply", "text": variants.exchanges[0].reply}]
    for trial in TRIALS:
        if (text := variants.texts[trial.name][0]) is not None:
            trials.append({"name": trial.name, "kind": trial.kind, "about": trial.about, "text": text})
    return [
        {
            **entry,
            "score": json_number(scores[entry["name"]]),
            "lead": _score_lead(sign, true_score, scores[entry["name"]]),
        }
        for entry in trials
    ]


def _score_lead(sign: int, true_score: float, other_score: float) -> float | None:
    """Return how much better the reply itself is."""
    return None if math.isnan(true_score) or math.isnan(other_score) else sign * (true_score - other_score)


_SPANS = array_of(object_of(start=COUNT, end=COUNT, text=STRING, worth=FIGURE))
_PARTS = array_of(object_of(turn=COUNT, text=STRING, is_piece={"type": "boolean"}, share=FIGURE, alone=FIGURE))
_TRIAL = object_of(
    name=STRING, kind={"enum": ["true", "attack", "edit"]}, about=STRING, text=STRING, score=FIGURE, lead=FIGURE
)
_METRIC = object_of(
    metric=STRING,
    score=FIGURE,
    missing=NOTE,
    error=NOTE,
    reference=PLACE,
    turn=PLACE,
    facts={"anyOf": [FACTS, {"type": "null"}]},
)


def _one_metric_schema(metric: Schema, system: Schema) -> Schema:
    """Return the schema of a request with one metric and a reply that is not blank."""
    return object_of(("metric", "context", "reply"), metric=metric, **PAIR | {"reply": TEXT})


TRY = Verb(
    "try",
    request=lambda metric, system: object_of(("context", "reply"), metrics=array_of(metric, 100), **PAIR),
    answer=object_of(metrics=array_of(_METRIC)),
    example={**CONVERSATION, "metrics": ["length", "context_overlap"]},
    respond=try_reply,
)
EXPLAIN = Verb(
    "explain",
    request=_one_metric_schema,
    answer=object_of(
        metric=STRING,
        score=FIGURE,
        unit={"enum": ["word", "sentence", "stretch"]},
        words=_SPANS,
        costly=_SPANS,
        earning=_SPANS,
        context=_PARTS,
        leans_on=_PARTS,
        notes=array_of(STRING),
    ),
    example={**CONVERSATION, "metric": "context_overlap"},
    respond=explain_reply,
)
ATTACK = Verb(
    "attack",
    request=_one_metric_schema,
    answer=object_of(metric=STRING, higher_is_better=FLAG, trials=array_of(_TRIAL)),
    example={**CONVERSATION, "metric": "context_overlap"},
    respond=attack_reply,
)
