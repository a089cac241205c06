"""The messages of chat logs: who said what, in the formats of several APIs and frameworks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rejoinder.data.importers._authors import EVENTS, ROLES, find_author
from rejoinder.data.importers._ratings import LogRating, find_ratings, is_rating_key
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief, nearest

TOOL_MESSAGES = "tool messages"
OTHER_ENTRIES = "entries that are no messages"
TOOL_CALLS = "tool calls without text"
OTHER_PARTS = "message parts that are not text"
EMPTY_MESSAGES = {
    "assistant": "empty assistant messages",
    "user": "empty user messages",
    "system": "empty system messages",
    "agent": "empty messages of human agents",
}
_MESSAGE_KEYS = frozenset(
    "role from content value refusal model type tool_calls function_call weight parts id status".split()
)
_EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})
_MAX_REASONS = 40  # a log may have different keys in each conversation
# Parts of a content that hold text which nobody was told.
_UNSPOKEN = frozenset("thinking redacted_thinking reasoning reasoning_text summary_text thoughts".split())
_TOOL_RESULTS = frozenset({"tool_result", "tool_call_response", "function_call_output"})
_CALLS = frozenset({"tool_use", "server_tool_use", "tool_call", "function_call"})


class Message(NamedTuple):
    """A message with text: its role is user, assistant, system or agent (a person who answers beside a bot)."""

    role: str
    text: str
    model: str | None = None
    ratings: tuple[LogRating, ...] = ()
    # Other replies to what was said before.
    others: tuple[Message, ...] = ()
    # Where it was read, if not where its conversation was.
    place: Place | None = None
    # Whether it is only part of the context: it is no response.
    is_context: bool = False


def parse_message(value: Any, place: Place, number: int, left_out: Counter[str]) -> Message | None:
    """Return a message of a log; one without text is counted, and None is returned."""
    where = f"{place}, message {number}"
    if isinstance(value, str):
        # The Responses API allows a plain string as the whole input.
        value = {"role": "user", "content": value}
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: expected an object with 'role' and 'content', found {brief(value)}")
    if value.get("type", "message") != "message" and "role" not in value:
        # An entry of a Responses API log that is not a message: a call, its result, reasoning.
        left_out[OTHER_ENTRIES] += 1
        return None
    role = _parse_role(value, where)
    if role == "event":
        left_out[EVENTS] += 1
        return None
    types = _part_types(value)
    if role == "tool" or (types and types <= _TOOL_RESULTS):
        left_out[TOOL_MESSAGES] += 1
        return None
    text = _parse_text(value, where, left_out)
    if text is None:
        is_call = role == "assistant" and (value.get("tool_calls") or value.get("function_call") or types & _CALLS)
        left_out[TOOL_CALLS if is_call else EMPTY_MESSAGES[role]] += 1
        return None
    ratings = find_ratings(value, left_out) if role == "assistant" else ()
    return Message(role, text, name_of(value.get("model")), ratings, is_context=value.get("weight") == 0)


def name_of(value: Any) -> str | None:
    """Return a value if it can be a name: a string that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def id_of(value: Any) -> str | None:
    """Return a value if it can be an id: a whole number becomes its digits."""
    return str(value) if type(value) is int else name_of(value)


def count_unread(
    log: Mapping[str, Any], known: frozenset[str], messages: Iterable[Any], left_out: Counter[str]
) -> None:
    """Count the non-empty keys of a log and of its turns that are not read."""
    turns = (value for value in messages if isinstance(value, Mapping) and _is_turn(value))
    for what, names, objects in (("conversations", known, [log]), ("messages", _MESSAGE_KEYS, turns)):
        for value in objects:
            is_reply = what == "messages" and _role(value) == "assistant"
            for key in value.keys() - names:
                if value[key] in _EMPTY_VALUES or (is_rating_key(key) and (is_reply or what == "conversations")):
                    continue
                reason = f"{brief(key, 40)} of {what}"
                many = reason not in left_out and len(left_out) >= _MAX_REASONS
                left_out[f"other keys of {what}" if many else reason] += 1


def _role(message: Mapping[str, Any]) -> str | None:
    return ROLES.get(str(message.get("role", message.get("from"))).lower())


def _is_turn(message: Mapping[str, Any]) -> bool:
    return _role(message) in ("user", "assistant", "system")


def _parse_role(message: Mapping[str, Any], where: str) -> str:
    role = message.get("role", message.get("from"))
    if role is None:
        keys = ", ".join(sorted(message)) or "none"
        raise InputError(f"{where}: has no 'role' (found keys: {brief(keys, 120)})")
    # The roles of help desks: a bot, a customer, a human agent, an event.
    author = find_author(role) if isinstance(role, str) and role.lower() not in ROLES else None
    if author is not None:
        return {"bot": "assistant", "customer": "user"}.get(author, author)
    if not isinstance(role, str) or role.lower() not in ROLES:
        raise InputError(f"{where}: unknown role {brief(role)}; {nearest(str(role).lower()[:60], ROLES)}")
    return ROLES[role.lower()]


def _content(message: Mapping[str, Any]) -> Any:
    content = message.get("content", message.get("value", message.get("parts")))
    # A refusal is in its own field; it is what the user saw.
    return message.get("refusal") if content is None else content


def _part_types(message: Mapping[str, Any]) -> set[str]:
    content = _content(message)
    parts = content if isinstance(content, list) else []
    return {str(part.get("type")) if isinstance(part, Mapping) else "text" for part in parts}


def _parse_text(message: Mapping[str, Any], where: str, left_out: Counter[str]) -> str | None:
    content = _content(message)
    if content is None or isinstance(content, str):
        texts = [content or ""]
    else:
        parts = content if isinstance(content, list) else [content]
        texts = [_parse_part(part, where, left_out) for part in parts]
    joined = "\n".join(text for text in texts if text and not text.isspace())
    return joined or None


def _parse_part(part: Any, where: str, left_out: Counter[str]) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InputError(f"{where}: a part of 'content' is {brief(part)}; it must be a string or an object")
    text = part.get("text", part.get("refusal"))
    if isinstance(text, Mapping):
        text = text.get("value")
    if text is None and part.get("type") == "text":
        text = part.get("content")
    kind = str(part.get("type"))
    if isinstance(text, str) and kind not in _UNSPOKEN and part.get("thought") is not True:
        return text
    if kind not in _CALLS:
        left_out[OTHER_PARTS] += 1
    return ""
