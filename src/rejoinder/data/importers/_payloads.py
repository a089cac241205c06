"""What went into a traced call and what came out of it, as messages, whatever the application logged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rejoinder.data.importers._authors import ROLES
from rejoinder.data.tables.rating_columns import fold_name

_DEPTH = 8
# Keys, without case, spaces, - and _, the first of which holds what is wanted.
_MESSAGES = ("messages", "inputmessages", "conversation", "chat")
_HISTORY = ("chathistory", "history", "conversationhistory", "previousmessages")
_PROMPTS = tuple(
    "question query prompt prompts userinput userquery usermessage humaninput message input inputs text content "
    "request kwargs args body".split()
)
_REPLIES = tuple(
    "answer response reply completion output outputs result text content message finalanswer finaloutput "
    "generatedtext outputtext return returnvalue".split()
)
# LangChain names messages by class or by type.
_LANGCHAIN = {
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "human": "user",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "ai": "assistant",
    "systemmessage": "system",
    "system": "system",
    "toolmessage": "tool",
    "tool": "tool",
    "functionmessage": "tool",
    "function": "tool",
}


def find_prompt(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    """Return the messages in the input of a call; an empty list if there are none."""
    if depth > _DEPTH:
        return []
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value.strip() else []
    message = normalise_message(value)
    if message is not None:
        return [message]
    if isinstance(value, list):
        return _listed(value, depth)
    if not isinstance(value, Mapping):
        return []
    parts = {fold_name(str(key)): part for key, part in value.items()}
    system = next((parts[key] for key in ("system", "instructions", "systemprompt") if _is_text(parts.get(key))), None)
    before = [{"role": "system", "content": system}] if system is not None else []
    for key in _HISTORY:
        if parts.get(key):
            before += find_prompt(parts[key], depth + 1)
    for key in (*_MESSAGES, *_PROMPTS):
        if parts.get(key) and (messages := find_prompt(parts[key], depth + 1)):
            return [*before, *messages]
    held = [part for key, part in parts.items() if key not in _HISTORY]
    return [*before, *find_prompt(held[0], depth + 1)] if len(held) == 1 and system is None else []


def _listed(values: list[Any], depth: int) -> list[dict[str, Any]]:
    if len(values) == 1 and isinstance(values[0], list):
        return find_prompt(values[0], depth + 1)
    return [message for value in values for message in find_prompt(value, depth + 1)]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def find_replies(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    """Return the replies in the output of a call: several if several were asked for."""
    if depth > _DEPTH or value is None or value in ("", [], {}):
        return []
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}]
    message = normalise_message(value)
    if message is not None:
        return [message] if _is_reply(message) else []
    if isinstance(value, list):
        return _replies_in_list(value, depth)
    if not isinstance(value, Mapping):
        return [{"role": "assistant", "content": str(value)}] if type(value) in (int, float) else []
    parts = {fold_name(str(key)): part for key, part in value.items()}
    for key in ("choices", "generations"):
        if isinstance(parts.get(key), list):
            return [reply for part in parts[key] for reply in find_replies(part, depth + 1)]
    if isinstance(parts.get("messages"), list):
        return _replies_in_list(parts["messages"], depth)
    for key in _REPLIES:
        if parts.get(key) and (replies := find_replies(parts[key], depth + 1)):
            return replies
    if len(parts) == 1:
        return find_replies(next(iter(parts.values())), depth + 1)
    # A structured reply is its JSON.
    return [{"role": "assistant", "content": json.dumps(value, ensure_ascii=False)}] if depth == 0 else []


def _replies_in_list(values: list[Any], depth: int) -> list[dict[str, Any]]:
    """Return the last reply among messages, or the text in blocks of content."""
    messages = [message for value in values if (message := normalise_message(value)) is not None]
    if messages:
        replies = [message for message in messages if _is_reply(message)]
        # A whole conversation, or what came out of one call: its last message is the reply.
        return replies[-1:]
    if all(isinstance(value, Mapping) and "type" in value for value in values):
        return [{"role": "assistant", "content": values}]
    return [reply for value in values for reply in find_replies(value, depth + 1)]


def _is_reply(message: Mapping[str, Any]) -> bool:
    return ROLES.get(str(message["role"]).lower()) == "assistant"


def normalise_message(value: Any) -> dict[str, Any] | None:
    """Return a message of some framework as one with role and content; None if it is not a message."""
    if isinstance(value, list):
        # LangChain's short form: ["human", "Hello!"].
        is_pair = len(value) == 2 and all(isinstance(part, str) for part in value) and value[0].lower() in ROLES
        return {"role": ROLES[value[0].lower()], "content": value[1]} if is_pair else None
    if not isinstance(value, Mapping):
        return None
    kwargs = value.get("kwargs")
    if "lc" in value and isinstance(kwargs, Mapping) and isinstance(value.get("id"), list) and value["id"]:
        return _langchain(str(value["id"][-1]), kwargs)
    role = value.get("role")
    if isinstance(role, str) and role.lower() in ROLES and ({"content", "parts", "tool_calls"} & value.keys()):
        return dict(value)
    kind, data = value.get("type"), value.get("data")
    if isinstance(kind, str) and kind.lower() in _LANGCHAIN:
        if isinstance(data, Mapping) and "content" in data:
            return _langchain(kind, data)
        if "content" in value:
            return _langchain(kind, value)
    return None


def _langchain(kind: str, message: Mapping[str, Any]) -> dict[str, Any] | None:
    role = _LANGCHAIN.get(kind.lower()) or message.get("role")
    if not isinstance(role, str) or role.lower() not in ROLES:
        return None
    calls = message.get("tool_calls") or _calls(message.get("additional_kwargs"))
    return {"role": role, "content": message.get("content"), "tool_calls": calls}


def _calls(more: Any) -> Any:
    return (more.get("tool_calls") or more.get("function_call")) if isinstance(more, Mapping) else None
