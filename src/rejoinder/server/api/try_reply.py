"""What the Try page asks: one reply under many metrics, why a metric says what it says, and what attacks score."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.metric import Metric, SetMetric, metric_class
from rejoinder.probes.exchange import Exchange
from rejoinder.probes.explanation import ContextPart, Explanation, Span
from rejoinder.probes.occlusion import explain_pair
from rejoinder.probes.variants import TRIALS, TRUE, Variants
from rejoinder.scoring.compute import missing_part
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.records import pair_of
from rejoinder.server.api.score import ask_metric, metric_facts
from rejoinder.server.api.service import ApiService
from rejoinder.types import Pair

MAX_TURNS = 8  # of the end of a context, each tried alone
MAX_EXPLAINED = 5


async def try_reply(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """A reply under metrics, each with what it matched; a metric that cannot be had says why, and hinders no other."""
    names = body.get("metrics") or list_quick_metrics(desk)
    pair = pair_of(body)
    return {"metrics": await asyncio.gather(*(_try_metric(desk, name, pair) for name in dict.fromkeys(names)))}


def list_quick_metrics(desk: ApiService) -> list[str]:
    """The metrics that need no large model."""
    return [name for name in desk.offer.metrics if not metric_class(name.partition("(")[0]).large]


async def _try_metric(desk: ApiService, name: str, pair: Pair) -> dict[str, Any]:
    told: dict[str, Any] = {"metric": name, "score": None, "missing": None, "error": None}
    told |= {"reference": None, "turn": None, "facts": None}
    try:
        metric = desk.offer.metric(name)
        told["missing"] = missing_part(metric, pair)
        if told["missing"] is not None:
            return told
        turns = _single_turn_pairs(metric, pair)
        found = await ask_metric(desk, metric, [pair, *turns], matched=True)
    except RejoinderError as error:
        return told | {"error": str(error)}
    told |= {"score": found.values[0], "facts": metric_facts(metric, found.signature)}
    if found.matched:
        told["reference"] = found.matched[0]
    if turns:
        told["turn"] = _find_best_turn(metric, found.values[1:], len(pair.item.context))
    return told


def _single_turn_pairs(metric: Metric, pair: Pair) -> list[Pair]:
    """The reply after each of the last turns alone; none where that would say nothing, or is another set."""
    if "context" not in metric.needs or isinstance(metric, SetMetric) or len(pair.item.context) < 2:
        return []
    return [
        dataclasses.replace(pair, item=dataclasses.replace(pair.item, context=(turn,)))
        for turn in pair.item.context[-MAX_TURNS:]
    ]


def _find_best_turn(metric: Metric, scores: Sequence[float | None], n_turns: int) -> int | None:
    """The turn that gives the best score alone, as ``match`` has it for references; the latest of equal ones."""
    sign = -1 if metric.higher_is_better is False else 1
    known = [(sign * score, place) for place, score in enumerate(scores) if score is not None]
    return n_turns - len(scores) + max(known)[1] if known else None


def _parse_quick_metric(desk: ApiService, text: str, verb: str) -> Metric:
    """A metric that can be asked about many variants while somebody waits."""
    metric = desk.offer.metric(text)
    if desk.lane_of(metric) == "models":
        raise InputError(f"{metric} asks a large model about every variant; use the command: rejoinder {verb}")
    return metric


async def explain_reply(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """What each part of the context and each word of the reply does for the score."""
    metric = _parse_quick_metric(desk, body["metric"], "explain")
    pair = pair_of(body)
    found: Explanation = await desk.ask(metric, "explain", pair, 1, functools.partial(_explain_batch, metric))
    return {
        "metric": found.metric,
        "score": json_number(found.score),
        "unit": found.unit,
        "words": [_span_object(one) for one in found.words],
        "costly": [_span_object(one) for one in found.costly(MAX_EXPLAINED)],
        "earning": [_span_object(one) for one in found.earning(MAX_EXPLAINED)],
        "context": [_part_object(one) for one in found.context if not one.is_piece],
        "leans_on": [_part_object(one) for one in found.answers()],
        "notes": list(found.notes),
    }


def _explain_batch(metric: Metric, given: list[Pair]) -> list[Explanation]:
    return [explain_pair(metric, pair) for pair in given]


def _span_object(one: Span) -> dict[str, Any]:
    return {"start": one.start, "end": one.end, "text": one.text, "worth": json_number(one.worth)}


def _part_object(one: ContextPart) -> dict[str, Any]:
    told = {"turn": one.utterance, "text": one.text, "is_piece": one.is_piece}
    return told | {"share": json_number(one.share), "alone": json_number(one.alone)}


async def attack_reply(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a metric gives to worse replies, and to the same reply written in another way."""
    metric = _parse_quick_metric(desk, body["metric"], "attack")
    if isinstance(metric, SetMetric):
        raise SpecError(f"{metric} looks at all replies of a set together; take a metric of single replies")
    item = pair_of(body).item
    exchange = Exchange("try", "try", "try", item.context, body["reply"], references=item.references)
    work = functools.partial(_attack_batch, metric)
    found: list[dict[str, Any]] = await desk.ask(metric, "attack", exchange, len(TRIALS), work)
    return {"metric": str(metric), "higher_is_better": metric.higher_is_better, "trials": found}


def _attack_batch(metric: Metric, given: list[Exchange]) -> list[list[dict[str, Any]]]:
    return [_trials(metric, Variants.of([exchange], 0)) for exchange in given]


def _trials(metric: Metric, variants: Variants) -> list[dict[str, Any]]:
    scores = {name: float(values[0]) for name, values in variants.scores(metric).items()}
    true = scores[TRUE]
    sign = -1 if metric.higher_is_better is False else 1
    told = [{"name": TRUE, "kind": "true", "about": "the reply", "text": variants.exchanges[0].reply}]
    for trial in TRIALS:
        if (text := variants.texts[trial.name][0]) is not None:
            told.append({"name": trial.name, "kind": trial.kind, "about": trial.about, "text": text})
    return [
        {**one, "score": json_number(scores[one["name"]]), "lead": _score_lead(sign, true, scores[one["name"]])}
        for one in told
    ]


def _score_lead(sign: int, true: float, other: float) -> float | None:
    """How much better the reply itself is."""
    return None if math.isnan(true) or math.isnan(other) else sign * (true - other)
