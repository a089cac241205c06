"""OpenTelemetry's spans and logs of calls to language models: the attributes and events named ``gen_ai.*``."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._chats import ChatConverter
from rejoinder.data.importers._files import files
from rejoinder.data.importers._messages import id_of, name_of
from rejoinder.data.importers._payloads import find_prompt, find_replies
from rejoinder.data.importers._ratings import LogRating, parse_value
from rejoinder.data.importers._shapes import first_object
from rejoinder.data.importers._spans import Event, Span, parse_json, read_spans
from rejoinder.data.importers._traces import Exchange, convert_exchanges

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "OpenTelemetry's GenAI spans and events (OTLP JSON, or one span per line)"
TAKES = _chats.TAKES

OTHER_SPANS = "spans that are no calls of a model"
_BATCHES = frozenset("resourceSpans resource_spans resourceLogs resource_logs batches".split())
_SPAN_IDS = frozenset("traceId trace_id spanId span_id context traceID spanID".split())
_MARK = re.compile(r'"(?:gen_ai\.|llm\.|gen_ai_)')
_SYSTEM = ("gen_ai.system_instructions", "gen_ai.system.instructions")
_INPUT = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.input_messages", "input.value")
_OUTPUT = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.output_messages", "output.value")
# Messages with numbers in the names of their attributes: gen_ai.prompt.0.content, llm.input_messages.0.message.role.
_NUMBERED = re.compile(
    r"(?P<side>gen_ai\.(?:prompt|completion)|llm\.(?:prompts|completions|input_messages|output_messages))"
    r"\.(?P<number>\d{1,6})\.(?:message\.)?(?P<key>role|content)\Z"
)
_OUTPUT_SIDES = ("gen_ai.completion", "llm.completions", "llm.output_messages")
_ROLE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message\Z")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.response.model", "llm.request.model")
_SESSIONS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
_EVALUATION = "gen_ai.evaluation.result"


def recognise(sample: Sample) -> bool:
    """Whether a file holds spans or logs of OpenTelemetry."""
    value = first_object(sample)
    if value is None:
        return False
    if _BATCHES & value.keys():
        return True
    return "attributes" in value and bool(_SPAN_IDS & value.keys()) and _MARK.search(sample.text) is not None


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each call of a model as an item and a response; the calls of a conversation are joined."""
    spans = [
        span
        for file in ([options.file] if options.file else files(path, (".json", ".jsonl", ".ndjson"), tally))
        for span in read_spans(file)
    ]
    by_span, by_response = _find_evaluations(spans)
    calls = []
    for span in _join_events(spans):
        exchange = _exchange(span)
        if exchange is not None:
            response = by_response.get(_text(span, "gen_ai.response.id") or "", ())
            ratings = (*by_span.get((span.trace, span.id), ()), *response)
            calls.append((span, dataclasses.replace(exchange, ratings=ratings)))
        elif not span.is_log or any(event.name != _EVALUATION for event in span.events):
            tally.left_out[OTHER_SPANS] += 1
    yield from convert_exchanges(_drop_outer_spans(calls, tally), ChatConverter(options, tally), tally)


def _join_events(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans, each with the events that were logged apart from it."""
    by_id: dict[tuple[str | None, str | None], list[Event]] = {}
    known = {(span.trace, span.id) for span in spans if not span.is_log}
    first: dict[tuple[str | None, str | None], Span] = {}
    for span in spans:
        if span.is_log and span.id is not None:
            by_id.setdefault((span.trace, span.id), []).extend(span.events)
            first.setdefault((span.trace, span.id), span)
    for span in spans:
        if not span.is_log:
            yield dataclasses.replace(span, events=(*span.events, *by_id.get((span.trace, span.id), ())))
        elif span.id is None:
            yield span
    for key, span in first.items():
        if key not in known:
            yield dataclasses.replace(span, events=tuple(by_id[key]))


def _attributes(span: Span) -> dict[str, Any]:
    """Return the attributes of a span; an event that holds a whole call counts as its attributes."""
    attributes: dict[str, Any] = {}
    for event in span.events:
        if not _ROLE_EVENT.match(event.name) and event.name not in ("gen_ai.choice", _EVALUATION):
            attributes |= event.attributes
    return {**attributes, **span.attributes}


def _exchange(span: Span) -> Exchange | None:
    """Return the call that a span records; None if it records none."""
    attributes = _attributes(span)
    prompt, replies = _numbered_messages(attributes)
    event_prompt, event_replies = _event_messages(span.events)
    first_input = next((attributes[key] for key in _INPUT if attributes.get(key)), None)
    first_output = next((attributes[key] for key in _OUTPUT if attributes.get(key)), None)
    prompt = find_prompt(parse_json(first_input)) or prompt or event_prompt
    replies = _find_choices(parse_json(first_output)) or replies or event_replies
    system = next((attributes[key] for key in _SYSTEM if attributes.get(key)), None)
    if system is not None:
        parts = parse_json(system)
        prompt = [{"role": "system", "content": parts if isinstance(parts, str | list) else str(system)}, *prompt]
    if not prompt and not replies:
        return None
    return Exchange(
        id=_text(span, "gen_ai.response.id") or span.id,
        place=span.place,
        file=span.file,
        prompt=prompt,
        replies=replies,
        model=next((m for key in _MODELS if (m := name_of(attributes.get(key))) is not None), None),
        session=next((s for key in _SESSIONS if (s := id_of(attributes.get(key))) is not None), None),
        time=span.time,
    )


def _find_choices(value: Any) -> list[dict[str, Any]]:
    """Return the replies of a call; each message is a choice of its own."""
    if isinstance(value, list):
        return [reply for one in value for reply in find_replies(one)]
    return find_replies(value)


def _numbered_messages(attributes: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    sides: tuple[dict[int, dict[str, Any]], dict[int, dict[str, Any]]] = ({}, {})
    for name, value in attributes.items():
        match = _NUMBERED.match(name)
        if match is not None:
            side = sides[match["side"] in _OUTPUT_SIDES]
            side.setdefault(int(match["number"]), {})[match["key"]] = value
    inputs = [find_prompt({"role": "user", **side}) for _, side in sorted(sides[0].items())]
    outputs = [find_replies({"role": "assistant", **side}) for _, side in sorted(sides[1].items())]
    return [m for messages in inputs for m in messages], [m for messages in outputs for m in messages]


def _event_messages(events: tuple[Event, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages of the older convention, one event each."""
    prompt, replies = [], []
    for event in events:
        match = _ROLE_EVENT.match(event.name)
        body = {key.removeprefix("gen_ai.event."): value for key, value in event.attributes.items()}
        if match is not None:
            prompt += find_prompt({"role": match[1], **_content(body)})
        elif event.name == "gen_ai.choice":
            message = parse_json(body.get("message", body))
            replies += find_replies(
                {"role": "assistant", **_content(message)} if isinstance(message, dict) else message
            )
    return prompt, replies


def _content(body: dict[str, Any]) -> dict[str, Any]:
    content = parse_json(body.get("content", body.get("gen_ai.prompt")))
    calls = {"tool_calls": body["tool_calls"]} if body.get("tool_calls") else {}
    return {"content": content if isinstance(content, str | list) else body.get("content"), **calls}


def _text(span: Span, key: str) -> str | None:
    return name_of(_attributes(span).get(key))


def _find_evaluations(
    spans: list[Span],
) -> tuple[dict[tuple[str | None, str | None], list[LogRating]], dict[str, list[LogRating]]]:
    """Return the results of evaluations, by the span of the call and by the id of its response."""
    by_span: dict[tuple[str | None, str | None], list[LogRating]] = {}
    by_response: dict[str, list[LogRating]] = {}
    for span in spans:
        for event in span.events:
            if event.name != _EVALUATION:
                continue
            get = event.attributes.get
            value = parse_value(get("gen_ai.evaluation.score.value"))
            if value is None:
                value = parse_value(get("gen_ai.evaluation.score.label"))
            if value is None:
                continue
            aspect = name_of(get("gen_ai.evaluation.name")) or "evaluation"
            rating = LogRating(aspect, value, "eval", name_of(get("gen_ai.evaluation.explanation")))
            response = name_of(get("gen_ai.response.id"))
            if response is not None:
                by_response.setdefault(response, []).append(rating)
            else:
                by_span.setdefault((span.trace, span.id), []).append(rating)
    return by_span, by_response


def _drop_outer_spans(calls: list[tuple[Span, Exchange]], tally: ImportTally) -> Iterator[Exchange]:
    """Yield the calls without the spans around them that hold the same reply, such as those of an agent."""
    texts = Counter((span.trace, str(exchange.replies)) for span, exchange in calls)
    outer = {(span.trace, span.parent) for span, _ in calls if span.parent is not None}
    for span, exchange in calls:
        if (span.trace, span.id) in outer and texts[span.trace, str(exchange.replies)] > 1:
            tally.left_out["spans around a call with the same reply"] += 1
        else:
            yield exchange
