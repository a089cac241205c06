"""What the beginning of a file shows about chat logs: the first log, and whose format it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rejoinder.data.tables.columns import find_aliases
from rejoinder.data.tables.rating_columns import fold_name

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

# Keys of our own schema: a file that has them is ours, or a table.
_OUR_KEYS = frozenset({"kind", "context", "turns", "item", "rater", "candidates"})
_MESSAGE_KEYS = frozenset({"role", "from", "content", "value"})
# Keys of a list of messages: of OpenAI, of ShareGPT, of WildChat and LMSYS, and of Gemini.
MESSAGE_LISTS = ("messages", "conversations", "conversation", "contents")
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})


def first_object(sample: Sample) -> dict[str, Any] | None:
    """Return the first JSON object of a file; if it is longer than the sample, its keys, mostly without values."""
    if sample.values:
        return sample.values[0] if isinstance(sample.values[0], dict) else None
    key, entries = sample.entries
    return (dict.fromkeys(sample.keys) | ({key: list(entries)} if key else {})) if sample.keys else None


def column_names(sample: Sample) -> frozenset[str]:
    """Return the keys of the first object, or the columns of a table, without case, spaces, - and _."""
    return frozenset(fold_name(name) for name in (sample.header or sample.keys))


def is_chat(value: Mapping[str, Any]) -> bool:
    """Whether an object is a log of messages, and not a row of a table that has some."""
    messages = next((value[key] for key in MESSAGE_LISTS if key in value), None)
    if messages is not None and not isinstance(messages, list):
        return False
    if messages and isinstance(messages[0], dict) and not _MESSAGE_KEYS & messages[0].keys():
        return False  # a list of conversations, or of rows
    if _OUR_KEYS & value.keys() or {"chosen", "rejected"} <= value.keys():
        return False
    # A text beside the messages is the reply to them, so each object is a row of a table.
    columns = find_aliases(value)
    return not any(
        isinstance(value[key], str | int | float) for key in (*columns.get("response", ()), *columns.get("text", ()))
    )


def is_anthropic(value: Mapping[str, Any]) -> bool:
    """Whether an object is a log, a request or a result of Anthropic's API."""
    if "custom_id" in value:
        return bool({"params", "result"} & value.keys())
    requests = value.get("requests")
    if isinstance(requests, list) and requests and isinstance(requests[0], dict):
        return {"custom_id", "params"} <= requests[0].keys()
    if _is_answer(value):
        return True
    answers = [value.get(key) for key in ("response", "message", "output", "completion")]
    request = next((v for key in ("request", "params", "body") if isinstance(v := value.get(key), dict)), value)
    if "messages" not in request or not is_chat(request):
        return False
    if any(isinstance(answer, dict) and _is_answer(answer) for answer in answers):
        return True
    return "system" in request or "anthropic_version" in request or _has_blocks(request["messages"])


def _is_answer(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "message" and value.get("role") == "assistant" and "stop_reason" in value


def _has_blocks(messages: Any) -> bool:
    contents = [m.get("content") for m in messages or [] if isinstance(m, dict)]
    return any(
        isinstance(block, dict) and str(block.get("type")) in _BLOCKS
        for content in contents
        if isinstance(content, list)
        for block in content
    )
