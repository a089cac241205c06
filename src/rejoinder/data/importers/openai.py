"""Chat logs in the form of OpenAI's interface (messages, or input and output) and of ShareGPT (conversations)."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejoinder.data.importers._base import File, Found, Options, Tally
from rejoinder.data.importers._files import files, json_values
from rejoinder.data.importers._messages import Message, count_unread, message
from rejoinder.data.importers._names import Names, Replies, digest
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Response, Turn

SUMMARY = "chat logs with messages, roles and contents (OpenAI's, ShareGPT's): a file, or a folder of them"
TAKES = frozenset({"system", "max_turns"})
OPENINGS = "assistant messages that open a conversation"
REPEATED = "replies that were read already"


def read(path: Path, options: Options, tally: Tally) -> Iterator[Found]:
    """Every assistant message as a response to an item whose context is what was said before it."""
    seen = _Seen(Names(), Names(), Replies(), {})
    for file in [options.file] if options.file else files(path, (".json", ".jsonl", ".ndjson"), tally):
        for place, value in json_values(file):
            conversation = _conversation(value, place, file)
            tally.left_out.update(conversation.left_out)
            count_unread(value, _listed(value, place), tally.left_out)
            for record in _records(conversation, options, seen, tally):
                yield Found(record, place)


@dataclasses.dataclass(frozen=True)
class _Conversation:
    """One log: its messages, its own id and the one it gets where another conversation has that."""

    id: str
    # Whether the log says its id; else it goes by its place.
    named: bool
    otherwise: str
    model: str | None
    messages: tuple[Message | None, ...]
    file: str
    place: Place
    left_out: Counter[str]
    # How much had been left out before each message.
    left_out_before: tuple[Counter[str], ...]


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What the logs before gave: ids of dialogues and items, replies, and the system prompt of each item."""

    dialogues: Names
    items: Names
    replies: Replies
    prompts: dict[str, bytes]


def _conversation(value: Any, place: Place, file: File) -> _Conversation:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an object with 'messages', found {brief(value)}")
    left_out: Counter[str] = Counter()
    messages: list[Message | None] = []
    before: list[Counter[str]] = []
    for number, found in enumerate(_listed(value, place), start=1):
        before.append(left_out.copy())
        messages.append(message(found, place, number, left_out))
    numbered = f"{file.stem}-{place.line}"
    given = next((value[key] for key in ("id", "conversation_id") if value.get(key) is not None), None)
    if given is not None and type(given) not in (str, int):
        raise InputError(f"{place}: 'id' is {brief(given)}; it must be a string")
    if isinstance(given, str) and not given.strip():
        raise InputError(f"{place}: 'id' is empty; give it a name or leave it out")
    last = numbered.rpartition("/")[2]
    model = value.get("model")
    return _Conversation(
        id=last if given is None else str(given),
        named=given is not None,
        otherwise=numbered if given is None else f"{file.stem}/{given}",
        model=model if isinstance(model, str) and model.strip() else None,
        messages=tuple(messages),
        file=file.stem,
        place=place,
        left_out=left_out,
        left_out_before=tuple(before),
    )


def _listed(value: dict[str, Any], place: Place) -> list[Any]:
    """The messages of a log, in any of the three dialects."""
    for keys in (("messages",), ("conversations",), ("instructions", "input", "output")):
        if keys[-1] not in value:
            continue
        found: list[Any] = []
        for key in keys:
            part = value.get(key)
            if key == "instructions" and isinstance(part, str):
                part = [{"role": "system", "content": part}]
            if isinstance(part, str) and key in ("input", "output"):
                part = [{"role": "user" if key == "input" else "assistant", "content": part}]
            if part is not None and not isinstance(part, list):
                raise InputError(f"{place}: {key!r} is {brief(part)}; it must be a list of messages")
            found += part or []
        return found
    keys_found = ", ".join(sorted(value)) or "none"
    raise InputError(f"{place}: this is no chat log: it has no 'messages' (found keys: {brief(keys_found, 120)})")


def _records(log: _Conversation, options: Options, seen: _Seen, tally: Tally) -> Iterator[Item | Response]:
    spoken = [(n, m) for n, m in enumerate(log.messages) if m is not None and m.role != "system"]
    turns = tuple(Turn(m.text, m.role) for _, m in spoken)
    if not turns:
        tally.left_out["conversations without a turn"] += 1
        return
    # Two logs of one id are of the same conversation where they open alike; then their systems can be compared.
    own = digest(log.id, turns[:1]) if log.named else digest(log.file, str(log.place))
    dialogue, _ = seen.dialogues.of(log.id, own, log.otherwise)
    for position, (number, said) in enumerate(spoken):
        if said.role != "assistant":
            continue
        if position == 0:
            tally.left_out[OPENINGS] += 1
            continue
        system = options.system or said.model or log.model or options.unnamed
        if system is None:
            raise InputError(f"{log.place}: the log has no 'model'; say whose replies these are with --system NAME")
        wanted = f"{dialogue}/{position}"
        # Without an id it is the context alone that tells whether two systems answered the same thing.
        asked = digest(wanted if log.named else "", turns[:position])
        answered = said.text if log.named else f"{log.file} {log.place} {number}"
        content, unsaid = seen.replies.place(asked, system, answered)
        if not unsaid:
            tally.left_out[REPEATED] += 1
            continue
        name, new = seen.items.of(wanted, content, f"{log.file}/{wanted}")
        prompt = "\n".join(m.text for m in log.messages[:number] if m is not None and m.role == "system")
        if new:
            seen.prompts[name] = digest(prompt)
            meta: dict[str, Any] = {"system_prompt": prompt} if prompt else {}
            if log.left_out_before[number]:
                meta["left_out"] = dict(log.left_out_before[number])
            yield Item(name, turns[:position], future=turns[position + 1 :], dialogue=dialogue, meta=meta)
        differs = seen.prompts[name] != digest(prompt)
        yield Response(f"{name}/{system}", name, system, said.text, {"system_prompt": prompt} if differs else {})
