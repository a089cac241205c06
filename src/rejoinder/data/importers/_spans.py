"""Spans and logged events of OpenTelemetry, in OTLP's JSON or as SDKs write them, one per line or one after another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from rejoinder.data.importer import EntryPlace, File
from rejoinder.data.importers._files import read_json_values, read_text_lines
from rejoinder.data.importers._messages import id_of
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

_DEPTH = 20
_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "scopeLogs", "scope_logs", "instrumentationLibrarySpans")
_RECORDS = ("spans", "logRecords", "log_records")
_VALUES = (
    "stringValue",
    "intValue",
    "doubleValue",
    "boolValue",
    "string_value",
    "int_value",
    "double_value",
    "bool_value",
)


class Event(NamedTuple):
    """An event of a span, or a log record: its name and its attributes, with those in its body."""

    name: str
    attributes: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Span:
    """A span; ``is_log``: an event that was logged apart from its span."""

    id: str | None
    trace: str | None
    parent: str | None
    time: Any
    attributes: dict[str, Any]
    events: tuple[Event, ...]
    place: Place
    file: File
    is_log: bool = False


def read_spans(file: File) -> Iterator[Span]:
    """Yield the spans and the logged events of a file."""
    for place, value in _read_values(file):
        if not isinstance(value, dict):
            raise InputError(f"{place}: expected a span or an object with 'resourceSpans', found {brief(value)}")
        is_batch = any(key in value for key in _RESOURCES)
        if not is_batch and "attributes" not in value and "events" not in value and "body" not in value:
            keys = ", ".join(sorted(value)) or "none"
            raise InputError(f"{place}: this is not a span: it has no 'attributes' (found keys: {brief(keys, 120)})")
        for record in _find_records(value) if is_batch else [value]:
            yield _parse_record(record, place, file)


def _read_values(file: File) -> Iterator[tuple[Place, Any]]:
    """Yield the JSON values of a file; the console exporters write objects of several lines one after another."""
    first = [line.strip() for (_, line), _ in zip(read_text_lines(file), range(2), strict=False)]
    if first[0] != "{" or len(first) < 2:
        yield from read_json_values(file)
        return
    lines: list[str] = []
    number = 0
    for _, line in read_text_lines(file):
        lines.append(line)
        # An object ends with a brace at the beginning of a line.
        if line.rstrip() in ("}", "},"):
            number += 1
            yield EntryPlace(file.name, number), _parse_object("".join(lines).rstrip().rstrip(","), file, number)
            lines = []
    if "".join(lines).strip():
        _parse_object("".join(lines), file, number + 1)


def _parse_object(text: str, file: File, number: int) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{EntryPlace(file.name, number)}: not valid JSON ({error.msg}); is the file whole?") from None


def _find_records(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in _lists(value, _RESOURCES):
        for scope in _lists(resource, _SCOPES):
            yield from _lists(scope, _RECORDS)


def _lists(value: dict[str, Any], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the objects in the lists under some keys."""
    lists = (value[key] for key in keys if isinstance(value.get(key), list))
    return [entry for entries in lists for entry in entries if isinstance(entry, dict)]


def _parse_record(record: dict[str, Any], place: Place, file: File) -> Span:
    context = record.get("context", record.get("spanContext"))
    ids = {**context, **record} if isinstance(context, dict) else record
    attributes = _parse_attributes(record.get("attributes"))
    events = record.get("events")
    parsed = (
        tuple(_parse_event(event) for event in events if isinstance(event, dict)) if isinstance(events, list) else ()
    )
    is_log = "body" in record or "eventName" in record or "event_name" in record
    if is_log:
        parsed = (_parse_event(record),)
    return Span(
        id=_first_id(ids, ("spanId", "span_id", "spanID")),
        trace=_first_id(ids, ("traceId", "trace_id", "traceID")),
        parent=_first_id(ids, ("parentSpanId", "parent_span_id", "parent_id", "parentSpanID")),
        time=next(
            (ids[key] for key in ("startTimeUnixNano", "start_time", "startTime", "timeUnixNano") if key in ids), None
        ),
        attributes={} if is_log else attributes,
        events=parsed,
        place=place,
        file=file,
        is_log=is_log,
    )


def _first_id(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((name for key in keys if (name := id_of(values.get(key))) is not None), None)


def _parse_event(event: dict[str, Any]) -> Event:
    attributes = _parse_attributes(event.get("attributes"))
    body = _parse_value(event.get("body"))
    body = parse_json(body)
    names = (event.get("name"), event.get("eventName"), event.get("event_name"), attributes.get("event.name"))
    name = next((n for n in names if isinstance(n, str) and n), "")
    return Event(name, {**attributes, **body} if isinstance(body, dict) else attributes)


def _parse_attributes(value: Any) -> dict[str, Any]:
    """Return attributes by name: OTLP has a list of keys and typed values, SDKs write an object."""
    if isinstance(value, dict):
        return {str(key): _parse_value(part) for key, part in value.items()}
    entries = value if isinstance(value, list) else []
    return {
        entry["key"]: _parse_value(entry.get("value"))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("key"), str)
    }


def _parse_value(value: Any, depth: int = 0) -> Any:
    """Return a value without OTLP's types."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return value
    for key in _VALUES:
        if key in value:
            return value[key]
    for key in ("arrayValue", "array_value"):
        if isinstance(value.get(key), dict):
            entries = value[key].get("values")
            return [_parse_value(entry, depth + 1) for entry in entries] if isinstance(entries, list) else []
    for key in ("kvlistValue", "kvlist_value"):
        if isinstance(value.get(key), dict):
            entries = value[key].get("values")
            pairs = entries if isinstance(entries, list) else []
            return {
                str(pair.get("key")): _parse_value(pair.get("value"), depth + 1)
                for pair in pairs
                if isinstance(pair, dict)
            }
    return value


def parse_json(value: Any) -> Any:
    """Return the JSON in a string, if it holds an object or a list; anything else unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
