"""One message per row, as help desks and databases export them: a conversation, an author, a text and a time."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.detection import Sample
from rejoinder.data.importers._base import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._columns import fold_name, holds_replies, suggest_import, suggest_score
from rejoinder.data.importers._containers import ENDINGS, read_rows
from rejoinder.data.importers._files import files
from rejoinder.data.importers._html import holds_html, strip_html
from rejoinder.data.importers._rows import look_up, parse_text
from rejoinder.data.importers._times import sort_keys
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.types import Item, Response, Turn

SUMMARY = "one message per row: conversation, author, text, time (help desks, SQL; CSV, JSON, Parquet, spreadsheets)"
TAKES = frozenset({"system", "fields", "max_turns", "sheet", "bots"})
OPENING_MESSAGES = "messages of the bot that open a conversation"
EMPTY_MESSAGES = "messages without text"
_NAMES = {
    "dialogue": (
        "conversation_id", "conversation", "thread_id", "thread", "ticket_id", "ticket", "chat_id", "session_id",
        "dialogue_id", "dialogue", "dialog_id", "case_id",
    ),
    "role": ("role", "author_type", "author_role", "sender_type", "sender_role", "from_type", "author.type"),
    "speaker": (
        "author", "author_name", "sender", "sender_name", "from", "speaker", "user", "username", "name", "author_id",
        "sender_id", "author.name",
    ),
    "text": (
        "text", "plain_body", "body", "message", "content", "comment", "message_text", "utterance", "html_body",
        "comment_body", "message_body",
    ),
    "time": (
        "time", "timestamp", "created_at", "date", "created", "sent_at", "datetime", "created_time", "position", "turn",
        "message_index",
    ),
    "system": ("model", "system", "version"),
}  # fmt: skip
_ALIASES = {fold_name(alias): field for field, aliases in _NAMES.items() for alias in aliases}
_BOT_WORDS = frozenset("bot chatbot assistant agent ai gpt chatgpt claude gemini llm model virtualagent".split())


class _Message(NamedTuple):
    """A row: its conversation, who wrote it (the role, the name), what and when."""

    place: Place
    dialogue: str
    role: str
    speaker: str
    text: str
    time: Any
    system: str | None


def recognise(sample: Sample) -> bool:
    """Whether each row of a table is a message of a conversation."""
    names = sample.header or sample.keys
    fields = _find_columns(names, sample.values[0] if sample.values and isinstance(sample.values[0], dict) else {})
    return {"dialogue", "text", "speaker"} <= fields.keys() and not holds_replies(names)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each message of a bot as a response to an item whose context is the messages before it."""
    named = _check_fields(options.fields)
    for file in [options.file] if options.file else files(path, ENDINGS, tally):
        messages = _read_messages(file, named, options, tally)
        bots = _find_bots(messages, options.bots, Place(file.name, 1))
        conversations: dict[str, list[_Message]] = {}
        for message, _ in sorted(zip(messages, sort_keys(messages), strict=True), key=lambda pair: pair[1]):
            conversations.setdefault(message.dialogue, []).append(message)
        for conversation in conversations.values():
            yield from _convert_conversation(conversation, bots, options, tally)


def _read_messages(file: File, named: Mapping[str, str], options: ImportOptions, tally: ImportTally) -> list[_Message]:
    messages: list[_Message] = []
    html: Counter[str] = Counter()
    for place, row in read_rows(file, options):
        columns = {field: name for field, name in {**_find_columns(row, row), **named}.items() if name}
        if not messages:
            _check_columns(columns, row, place)
            tally.note_columns({column: field for field, column in columns.items()})
            tally.unused.update(
                set(row) - {part for name in columns.values() for part in (name, name.partition(".")[0])}
            )
        texts = {
            field: parse_text(look_up(row, column), column, place)
            for field, column in columns.items()
            if field != "time"
        }
        dialogue, speaker = texts.get("dialogue"), texts.get("speaker")
        if dialogue is None or speaker is None:
            field = "dialogue" if dialogue is None else "speaker"
            column = columns.get(field, field)
            raise InputError(f"{place}: {column!r} is empty; fill it or remove the row")
        text = texts.get("text")
        plain = strip_html(text) if text is not None and holds_html(columns["text"]) else None
        if plain is not None:
            html[columns["text"]] += 1
            text = plain or None
        if text is None:
            tally.left_out[EMPTY_MESSAGES] += 1
            continue
        time = look_up(row, columns["time"]) if "time" in columns else None
        role = texts.get("role") or speaker
        messages.append(_Message(place, dialogue, role, speaker, text.strip("\r\n"), time, texts.get("system")))
    tally.notes += [f"HTML tags removed from {number:,} texts of {column}" for column, number in html.items()]
    return messages


def _find_columns(names: Any, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the column of each field by its name; of several, the one whose name comes first in our list."""
    nested = [f"{name}.{key}" for name in names if isinstance(row.get(name), Mapping) for key in row[name]]
    ranks = {fold_name(alias): rank for aliases in _NAMES.values() for rank, alias in enumerate(aliases)}
    columns: dict[str, str] = {}
    for name in sorted([*names, *nested], key=lambda name: ranks.get(fold_name(name), 0)):
        field = _ALIASES.get(fold_name(name))
        if field is not None and not isinstance(row.get(name), Mapping):
            columns.setdefault(field, name)
    if "role" in columns:
        columns.setdefault("speaker", columns["role"])
    return columns


def _check_fields(fields: tuple[tuple[str, str], ...]) -> dict[str, str]:
    for ours, _ in fields:
        if ours not in _NAMES:
            raise SpecError(f"--field {ours}= is not a field of messages; {nearest(ours, _NAMES)}")
    return dict(fields)


def _check_columns(columns: Mapping[str, str], row: Mapping[str, Any], place: Place) -> None:
    for field in ("dialogue", "speaker", "text"):
        if field not in columns:
            other = next((name for name in row if name not in columns.values()), "COLUMN")
            option = f"--field {shlex.quote(f'{field}={other}')}"
            raise InputError(
                f"{place}: no column holds the {field} of a message (found: {brief(', '.join(row), 120)}); name it, "
                f"for example: {suggest_import(place, option, 'messages')}"
            )
    for column in columns.values():
        if column not in row and column.partition(".")[0] not in row:
            raise InputError(f"{place}: has no column {column!r}; {nearest(column, row)}")


def _find_bots(messages: list[_Message], named: tuple[str, ...], place: Place) -> frozenset[str]:
    """Return the authors, or roles, whose messages are replies: as the user says, or by their names."""
    authors = dict.fromkeys(name for message in messages for name in (message.role, message.speaker))
    if named:
        wanted = {name.casefold() for name in named}
        missing = sorted(wanted - {author.casefold() for author in authors})
        if missing:
            raise InputError(f"{place.file}: has no author {missing[0]!r}; {nearest(missing[0], authors)}")
        return frozenset(author for author in authors if author.casefold() in wanted)
    roles = {message.role for message in messages}
    # A role says it for certain; a name may be that of a person.
    bots = frozenset(role for role in roles if _is_bot(role)) or frozenset(name for name in authors if _is_bot(name))
    if messages and (not bots or bots >= roles):
        answers = Counter(later.speaker for later, _ in _pairs_in_order(messages))
        option = f"--bot {shlex.quote(answers.most_common(1)[0][0] if answers else next(iter(authors)))}"
        which = "no author is a bot by its name" if not bots else "every author is a bot by its name"
        raise InputError(
            f"{place.file}: {which} (found: {brief(', '.join(authors), 120)}); say which one is, for example: "
            f"{suggest_score(place, option)}"
        )
    return bots


def _pairs_in_order(messages: list[_Message]) -> Iterator[tuple[_Message, _Message]]:
    """Yield each message that answers another author's, with the one before it."""
    last: dict[str, _Message] = {}
    for message in messages:
        before = last.get(message.dialogue)
        if before is not None and before.speaker != message.speaker:
            yield message, before
        last[message.dialogue] = message


def _is_bot(author: str) -> bool:
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", author).lower())
    return any(word in _BOT_WORDS or word.endswith("bot") for word in words)


def _convert_conversation(
    messages: list[_Message], bots: frozenset[str], options: ImportOptions, tally: ImportTally
) -> Iterator[ImportedRecord]:
    turns = tuple(Turn(message.text, message.speaker) for message in messages)
    for position, message in enumerate(messages):
        if message.role not in bots and message.speaker not in bots:
            continue
        if position == 0:
            tally.left_out[OPENING_MESSAGES] += 1
            continue
        item = Item(
            f"{message.dialogue}/{position}", turns[:position], future=turns[position + 1 :], dialogue=message.dialogue
        )
        system = options.system or message.system or message.speaker
        yield ImportedRecord(item, message.place)
        yield ImportedRecord(Response(f"{item.id}/{system}", item.id, system, message.text), message.place)
