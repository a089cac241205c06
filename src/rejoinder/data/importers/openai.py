"""Chat logs in the formats of OpenAI's API (messages, or input and output) and of ShareGPT (conversations)."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.detection import Sample
from rejoinder.data.importers._base import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._columns import holds_replies
from rejoinder.data.importers._files import files, read_json_values
from rejoinder.data.importers._ids import IdAssigner, ResponsePlacer, content_digest
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief, nearest
from rejoinder.types import Item, Response, Turn

# The roles in OpenAI's and ShareGPT's logs, and the role each one means here.
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
EMPTY_MESSAGES = {
    "assistant": "empty assistant messages",
    "user": "empty user messages",
    "system": "empty system messages",
}


_LOG_KEYS = frozenset(
    {"id", "conversation_id", "model", "messages", "conversations", "instructions", "input", "output"}
)
_MESSAGE_KEYS = frozenset("role from content value refusal model type tool_calls function_call".split())
_EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})
_MAX_REASONS = 40  # a log may have different keys in each conversation


class Message(NamedTuple):
    """A message with text: its role is user, assistant or system."""

    role: str
    text: str
    model: str | None


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
    if role == "tool":
        left_out[TOOL_MESSAGES] += 1
        return None
    text = _parse_text(value, where, left_out)
    if text is None:
        is_call = role == "assistant" and (value.get("tool_calls") or value.get("function_call"))
        left_out[TOOL_CALLS if is_call else EMPTY_MESSAGES[role]] += 1
        return None
    model = value.get("model")
    return Message(role, text, model if isinstance(model, str) and model.strip() else None)


def count_unread(log: Mapping[str, Any], messages: Iterable[Any], left_out: Counter[str]) -> None:
    """Count the non-empty keys of a log and of its turns that are not read."""
    turns = (value for value in messages if isinstance(value, Mapping) and _is_turn(value))
    for what, known, objects in (("conversations", _LOG_KEYS, [log]), ("messages", _MESSAGE_KEYS, turns)):
        for value in objects:
            for key in value.keys() - known:
                if value[key] not in _EMPTY_VALUES:
                    reason = f"{brief(key, 40)} of {what}"
                    many = reason not in left_out and len(left_out) >= _MAX_REASONS
                    left_out[f"other keys of {what}" if many else reason] += 1


def _is_turn(message: Mapping[str, Any]) -> bool:
    return ROLES.get(str(message.get("role", message.get("from"))).lower()) in ("user", "assistant", "system")


def _parse_role(message: Mapping[str, Any], where: str) -> str:
    role = message.get("role", message.get("from"))
    if role is None:
        keys = ", ".join(sorted(message)) or "none"
        raise InputError(f"{where}: has no 'role' (found keys: {brief(keys, 120)})")
    if not isinstance(role, str) or role.lower() not in ROLES:
        raise InputError(f"{where}: unknown role {brief(role)}; {nearest(str(role).lower()[:60], ROLES)}")
    return ROLES[role.lower()]


def _parse_text(message: Mapping[str, Any], where: str, left_out: Counter[str]) -> str | None:
    content = message.get("content", message.get("value"))
    if content is None:
        # A refusal is in its own field; it is what the user saw.
        content = message.get("refusal")
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
    if isinstance(text, str):
        return text
    left_out[OTHER_PARTS] += 1
    return ""


SUMMARY = "chat logs with messages, roles and contents (OpenAI's, ShareGPT's): a file, or a folder of them"
TAKES = frozenset({"system", "max_turns"})
OPENING_MESSAGES = "assistant messages that open a conversation"
REPEATED_RESPONSES = "replies that were read already"


def recognise(sample: Sample) -> bool:
    """Whether a file is a log of conversations with messages, and not a table with a column of messages."""
    names = {"messages", "conversations"} & sample.keys
    if not names or holds_replies(sample.keys) or {"chosen", "rejected"} <= sample.keys:
        return False
    first = sample.values[0] if sample.values and isinstance(sample.values[0], dict) else {}
    return any(isinstance(first.get(name, []), list) for name in names)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each assistant message as a response to an item whose context is the messages before it."""
    seen = _ImportState(IdAssigner(), IdAssigner(), ResponsePlacer(), {})
    for file in [options.file] if options.file else files(path, (".json", ".jsonl", ".ndjson"), tally):
        for place, value in read_json_values(file):
            conversation = _parse_conversation(value, place, file)
            tally.left_out.update(conversation.left_out)
            count_unread(value, _find_messages(value, place), tally.left_out)
            for record in _convert_conversation(conversation, options, seen, tally):
                yield ImportedRecord(record, place)


@dataclasses.dataclass(frozen=True)
class _Conversation:
    """One log: its messages, its id, and the id it gets if another conversation has that one."""

    id: str
    # Whether the log has an id; otherwise the id is made from its place.
    named: bool
    otherwise: str
    model: str | None
    messages: tuple[Message | None, ...]
    file: str
    place: Place
    left_out: Counter[str]
    # What had been left out before each message.
    left_out_before: tuple[Counter[str], ...]


@dataclasses.dataclass(frozen=True)
class _ImportState:
    """The logs so far: ids of dialogues and items, replies, and the system prompt of each item."""

    dialogues: IdAssigner
    items: IdAssigner
    replies: ResponsePlacer
    prompts: dict[str, bytes]


def _parse_conversation(value: Any, place: Place, file: File) -> _Conversation:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an object with 'messages', found {brief(value)}")
    left_out: Counter[str] = Counter()
    messages: list[Message | None] = []
    before: list[Counter[str]] = []
    for number, message in enumerate(_find_messages(value, place), start=1):
        before.append(left_out.copy())
        messages.append(parse_message(message, place, number, left_out))
    numbered = f"{file.stem}-{place.line}"
    log_id = next((value[key] for key in ("id", "conversation_id") if value.get(key) is not None), None)
    if log_id is not None and type(log_id) not in (str, int):
        raise InputError(f"{place}: 'id' is {brief(log_id)}; it must be a string")
    if isinstance(log_id, str) and not log_id.strip():
        raise InputError(f"{place}: 'id' is empty; give it a name or leave it out")
    last = numbered.rpartition("/")[2]
    model = value.get("model")
    return _Conversation(
        id=last if log_id is None else str(log_id),
        named=log_id is not None,
        otherwise=numbered if log_id is None else f"{file.stem}/{log_id}",
        model=model if isinstance(model, str) and model.strip() else None,
        messages=tuple(messages),
        file=file.stem,
        place=place,
        left_out=left_out,
        left_out_before=tuple(before),
    )


def _find_messages(value: dict[str, Any], place: Place) -> list[Any]:
    """Return the messages of a log, in any of the three formats."""
    for keys in (("messages",), ("conversations",), ("instructions", "input", "output")):
        if keys[-1] not in value:
            continue
        messages: list[Any] = []
        for key in keys:
            part = value.get(key)
            if key == "instructions" and isinstance(part, str):
                part = [{"role": "system", "content": part}]
            if isinstance(part, str) and key in ("input", "output"):
                part = [{"role": "user" if key == "input" else "assistant", "content": part}]
            if part is not None and not isinstance(part, list):
                raise InputError(f"{place}: {key!r} is {brief(part)}; it must be a list of messages")
            messages += part or []
        return messages
    keys_found = ", ".join(sorted(value)) or "none"
    raise InputError(f"{place}: this is not a chat log: it has no 'messages' (found keys: {brief(keys_found, 120)})")


def _convert_conversation(
    log: _Conversation, options: ImportOptions, seen: _ImportState, tally: ImportTally
) -> Iterator[Item | Response]:
    messages = [(n, m) for n, m in enumerate(log.messages) if m is not None and m.role != "system"]
    turns = tuple(Turn(m.text, m.role) for _, m in messages)
    if not turns:
        tally.left_out["conversations without a turn"] += 1
        return
    # Two logs with one id are the same conversation if they begin with the same turn; their systems can be compared.
    own = content_digest(log.id, turns[:1]) if log.named else content_digest(log.file, str(log.place))
    dialogue, _ = seen.dialogues.assign(log.id, own, log.otherwise)
    for position, (number, message) in enumerate(messages):
        if message.role != "assistant":
            continue
        if position == 0:
            tally.left_out[OPENING_MESSAGES] += 1
            continue
        system = options.system or message.model or log.model or options.unnamed
        if system is None:
            raise InputError(f"{log.place}: the log has no 'model'; name the system that replied with --system NAME")
        wanted = f"{dialogue}/{position}"
        # Without an id, only the context shows whether two systems answered the same thing.
        context_digest = content_digest(wanted if log.named else "", turns[:position])
        reply_key = message.text if log.named else f"{log.file} {log.place} {number}"
        content, is_new = seen.replies.place(context_digest, system, reply_key)
        if not is_new:
            tally.left_out[REPEATED_RESPONSES] += 1
            continue
        name, new = seen.items.assign(wanted, content, f"{log.file}/{wanted}")
        prompt = "\n".join(m.text for m in log.messages[:number] if m is not None and m.role == "system")
        if new:
            seen.prompts[name] = content_digest(prompt)
            meta: dict[str, Any] = {"system_prompt": prompt} if prompt else {}
            if log.left_out_before[number]:
                meta["left_out"] = dict(log.left_out_before[number])
            yield Item(name, turns[:position], future=turns[position + 1 :], dialogue=dialogue, meta=meta)
        differs = seen.prompts[name] != content_digest(prompt)
        yield Response(f"{name}/{system}", name, system, message.text, {"system_prompt": prompt} if differs else {})
