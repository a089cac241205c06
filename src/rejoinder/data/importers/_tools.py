"""The calls of tools in chat logs and their results, which are no turns: they are stored in meta, for judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_CALL_PARTS = frozenset({"tool_use", "server_tool_use", "tool_call", "function_call"})
_RESULT_PARTS = frozenset({"tool_result", "tool_call_response", "function_call_output"})
_CALL_ROLES = frozenset({"function_call"})
_RESULT_ROLES = frozenset({"tool", "function", "observation"})
_IDS = ("tool_call_id", "tool_use_id", "call_id", "id")
_ARGUMENTS = ("arguments", "args", "input")
_RESULTS = ("output", "result", "response", "content", "value")


class ToolEvent(NamedTuple):
    """A call of a tool, or the result of one."""

    is_result: bool
    id: str | None
    name: str | None
    content: Any


def list_tool_events(message: Any) -> list[ToolEvent]:
    """Return the calls and results in a message of a log, in their order."""
    return list(_find_events(message)) if isinstance(message, Mapping) else []


def join_tool_calls(events: Iterable[ToolEvent]) -> list[dict[str, Any]]:
    """Return each call with its result: the one with its id, or else the next one."""
    calls: list[dict[str, Any]] = []
    ids: list[str | None] = []
    for event in events:
        if not event.is_result:
            calls.append(_drop_empty({"name": event.name, "arguments": event.content}))
            ids.append(event.id)
            continue
        waiting = [i for i, call in enumerate(calls) if "result" not in call]
        same = [i for i in waiting if ids[i] == event.id or None in (ids[i], event.id)]
        if same:
            calls[same[0]]["result"] = event.content
        else:
            calls.append(_drop_empty({"name": event.name, "result": event.content}))
            ids.append(event.id)
    return [call for call in calls if call]


def _find_events(message: Mapping[str, Any]) -> Iterator[ToolEvent]:
    role = str(message.get("role", message.get("from", ""))).lower()
    kind = str(message.get("type", ""))
    if role in _RESULT_ROLES or (not role and kind in _RESULT_PARTS):
        yield _read_result(message)
    elif role in _CALL_ROLES or (not role and kind in _CALL_PARTS):
        content = message.get("value", message.get("content")) if role else None
        yield _read_call(message) if content is None else ToolEvent(False, None, None, content)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, Mapping):
            yield _read_call(call)
    if isinstance(message.get("function_call"), Mapping):
        yield _read_call(message["function_call"])
    parts = message.get("content")
    for part in parts if isinstance(parts, list) else []:
        kind = str(part.get("type")) if isinstance(part, Mapping) else ""
        if kind in _CALL_PARTS:
            yield _read_call(part)
        elif kind in _RESULT_PARTS and role not in _RESULT_ROLES:
            yield _read_result(part)


def _read_call(call: Mapping[str, Any]) -> ToolEvent:
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = next((function[key] for key in _ARGUMENTS if function.get(key) is not None), None)
    # In the Responses API, results name the call_id of a call, which also has an id of its own.
    return ToolEvent(False, _find_id(call), _text(function.get("name")), arguments)


def _read_result(result: Mapping[str, Any]) -> ToolEvent:
    content = next((result[key] for key in _RESULTS if result.get(key) is not None), None)
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        content = "\n".join(texts) if len(texts) == len(parts) else content
    return ToolEvent(True, _find_id(result), _text(result.get("name")), content)


def _find_id(value: Mapping[str, Any]) -> str | None:
    return next((found for key in _IDS if (found := _text(value.get(key))) is not None), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _drop_empty(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if value is not None}
