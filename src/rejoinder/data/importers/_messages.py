"""The messages of a chat log, whatever its dialect: who spoke, what was said, what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief, nearest

# The roles of OpenAI's logs and of ShareGPT's, and what each is to us.
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "function_call": "tool",
    "observation": "tool",
}
TOOL_MESSAGES = "tool messages"
OTHER_ENTRIES = "entries that are no messages"
TOOL_CALLS = "tool calls without text"
OTHER_PARTS = "message parts that are not text"
EMPTY = {"assistant": "empty assistant messages", "user": "empty user messages", "system": "empty system messages"}


_OF_LOG = frozenset({"id", "conversation_id", "model", "messages", "conversations", "instructions", "input", "output"})
_OF_MESSAGE = frozenset("role from content value refusal model type tool_calls function_call".split())
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MOST_REASONS = 40  # a log may have a key of its own for each conversation


class Message(NamedTuple):
    """A message that says something: its role is user, assistant or system."""

    role: str
    text: str
    model: str | None


def message(found: Any, place: Place, number: int, left_out: Counter[str]) -> Message | None:
    """A message of a log; None, and counted, where it says nothing in words."""
    where = f"{place}, message {number}"
    if isinstance(found, str):
        # The Responses API allows a plain string as the whole input.
        found = {"role": "user", "content": found}
    if not isinstance(found, Mapping):
        raise InputError(f"{where}: expected an object with 'role' and 'content', found {brief(found)}")
    if found.get("type", "message") != "message" and "role" not in found:
        # An entry of a Responses API log that is no message: a call, its result, a line of reasoning.
        left_out[OTHER_ENTRIES] += 1
        return None
    role = _role(found, where)
    if role == "tool":
        left_out[TOOL_MESSAGES] += 1
        return None
    text = _text(found, where, left_out)
    if text is None:
        called = role == "assistant" and (found.get("tool_calls") or found.get("function_call"))
        left_out[TOOL_CALLS if called else EMPTY[role]] += 1
        return None
    model = found.get("model")
    return Message(role, text, model if isinstance(model, str) and model.strip() else None)


def count_unread(log: Mapping[str, Any], messages: Iterable[Any], left_out: Counter[str]) -> None:
    """Count the keys of a log and of its turns that hold something and are not read."""
    turns = (one for one in messages if isinstance(one, Mapping) and _is_turn(one))
    for what, known, found in (("conversations", _OF_LOG, [log]), ("messages", _OF_MESSAGE, turns)):
        for one in found:
            for key in one.keys() - known:
                if one[key] not in _NOTHING:
                    reason = f"{brief(key, 40)} of {what}"
                    many = reason not in left_out and len(left_out) >= _MOST_REASONS
                    left_out[f"other keys of {what}" if many else reason] += 1


def _is_turn(found: Mapping[str, Any]) -> bool:
    return ROLES.get(str(found.get("role", found.get("from"))).lower()) in ("user", "assistant", "system")


def _role(found: Mapping[str, Any], where: str) -> str:
    role = found.get("role", found.get("from"))
    if role is None:
        keys = ", ".join(sorted(found)) or "none"
        raise InputError(f"{where}: has no 'role' (found keys: {brief(keys, 120)})")
    if not isinstance(role, str) or role.lower() not in ROLES:
        raise InputError(f"{where}: unknown role {brief(role)}; {nearest(str(role).lower()[:60], ROLES)}")
    return ROLES[role.lower()]


def _text(found: Mapping[str, Any], where: str, left_out: Counter[str]) -> str | None:
    content = found.get("content", found.get("value"))
    if content is None:
        # What a model declines to do is said in a field of its own; it is what the user saw.
        content = found.get("refusal")
    if content is None or isinstance(content, str):
        texts = [content or ""]
    else:
        parts = content if isinstance(content, list) else [content]
        texts = [_part(part, where, left_out) for part in parts]
    said = "\n".join(text for text in texts if text and not text.isspace())
    return said or None


def _part(part: Any, where: str, left_out: Counter[str]) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InputError(f"{where}: a part of 'content' is {brief(part)}; it must be a string or an object")
    text = part.get("text", part.get("refusal"))
    if isinstance(text, Mapping):
        text = text.get("value")
    if isinstance(text, str):
        return text
    left_out[OTHER_PARTS] += 1
    return ""
