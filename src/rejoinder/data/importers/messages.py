"""One message per row, as help desks and databases export them: a conversation, an author, a text and a time."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._authors import EVENT_TYPES, EVENTS, NOTE_TYPES, ROLES, Author, find_author, is_event_text
from rejoinder.data.importers._containers import ENDINGS, read_rows
from rejoinder.data.importers._files import files
from rejoinder.data.importers._html import holds_html, strip_html
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._rows import look_up, parse_text
from rejoinder.data.importers._times import sort_keys
from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import holds_replies, suggest_import, suggest_score
from rejoinder.data.tables.detection import Sample
from rejoinder.data.tables.rating_columns import fold_name
from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.table import list_names
from rejoinder.types import Item, Response, Turn

SUMMARY = "one message per row: conversation, author, text, time (help desks, SQL; CSV, JSON, Parquet, spreadsheets)"
TAKES = frozenset({"system", "fields", "max_turns", "sheet", "bots", "markup"})
OPENING_MESSAGES = "messages of the bot that open a conversation"
EMPTY_MESSAGES = "messages without text"
NOTES = "internal notes"
PROMPTS = "system messages taken as the system prompt"
_MOST_ROLES = 4  # that a note names
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
    "type": ("type", "message_type", "event_type", "part_type", "entry_type"),
}  # fmt: skip
_ALIASES = {fold_name(alias): field for field, aliases in _NAMES.items() for alias in aliases}


class _Message(NamedTuple):
    """A row: its conversation, who wrote it (the role, the name), what and when."""

    place: Place
    dialogue: str
    role: str
    speaker: str
    text: str
    time: Any
    system: str | None
    # The column of types says that it is an event.
    is_event: bool = False

    @property
    def author(self) -> Author | None:
        """Who wrote it, by the role; a name may say that an agent is a bot."""
        if self.is_event:
            return "event"
        author = find_author(self.role)
        return "bot" if author in ("agent", None) and find_author(self.speaker) == "bot" else author


def recognise(sample: Sample) -> bool:
    """Whether each row of a table is a message of a conversation."""
    names = sample.header or sample.keys
    fields = _find_columns(names, sample.values[0] if sample.values and isinstance(sample.values[0], dict) else {})
    return {"dialogue", "text", "speaker"} <= fields.keys() and not holds_replies(names)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each message of a bot as a response to an item whose context is the messages before it."""
    named = _check_fields(options.fields)
    stripper = MarkupStripper(options, tally)
    for file in [options.file] if options.file else files(path, ENDINGS, tally):
        messages = _read_messages(file, named, options, tally)
        bots = _find_bots(messages, options.bots, Place(file.name, 1), tally)
        messages = [message for message in messages if _is_turn(message, bots, tally)]
        conversations: dict[str, list[_Message]] = {}
        for message, _ in sorted(zip(messages, sort_keys(messages), strict=True), key=lambda pair: pair[1]):
            conversations.setdefault(message.dialogue, []).append(message)
        for conversation in conversations.values():
            yield from _convert_conversation(conversation, bots, options, stripper)


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
        dialogue, kind = texts.get("dialogue"), fold_name(texts.get("type") or "")
        speaker = texts.get("speaker") or texts.get("role") or ("system" if kind in EVENT_TYPES else None)
        if dialogue is None or speaker is None:
            field = "dialogue" if dialogue is None else "speaker"
            column = columns.get(field, field)
            raise InputError(f"{place}: {column!r} is empty; fill it or remove the row")
        if kind in NOTE_TYPES:
            tally.left_out[NOTES] += 1
            continue
        text = texts.get("text")
        plain = strip_html(text) if text is not None and holds_html(columns["text"]) else None
        if plain is not None:
            html[columns["text"]] += 1
            text = plain or None
        if text is None:
            tally.left_out[EMPTY_MESSAGES] += 1
            continue
        time = look_up(row, columns["time"]) if "time" in columns else None
        kind_of_author = texts.get("type") if find_author(texts.get("type") or "") not in (None, "event") else None
        role, text = texts.get("role") or kind_of_author or speaker, text.strip("\r\n")
        is_event = kind in EVENT_TYPES
        messages.append(_Message(place, dialogue, role, speaker, text, time, texts.get("system"), is_event))
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


def _find_bots(
    messages: list[_Message], named: tuple[str, ...], place: Place, tally: ImportTally
) -> frozenset[tuple[str, str]]:
    """Return the roles and names whose messages are replies: as the user says, or those of bots, else of agents."""
    authors = dict.fromkeys(name for message in messages for name in (message.role, message.speaker))
    if named:
        wanted = {name.casefold() for name in named}
        missing = sorted(wanted - {author.casefold() for author in authors})
        if missing:
            raise InputError(f"{place.file}: has no author {missing[0]!r}; {nearest(missing[0], authors)}")
        return frozenset(_key(m) for m in messages if {m.role.casefold(), m.speaker.casefold()} & wanted)
    spoken = [message for message in messages if message.author != "event"]
    agents = [message for message in spoken if message.author == "agent" and not is_event_text(message.text)]
    bots = [message for message in spoken if message.author == "bot"]
    replies = bots or agents
    if spoken and (not replies or len(replies) == len(spoken)):
        answers = Counter(later.speaker for later, _ in _pairs_in_order(spoken))
        option = f"--bot {shlex.quote(answers.most_common(1)[0][0] if answers else next(iter(authors)))}"
        which = "no author is a bot by its name" if not replies else "every author is a bot by its name"
        raise InputError(
            f"{place.file}: {which} (found: {brief(', '.join(authors), 120)}); say which one is, for example: "
            f"{suggest_score(place, option)}"
        )
    names = list_names(list(dict.fromkeys(message.role for message in agents)), _MOST_ROLES)
    if agents and bots:
        tally.changes[f"messages of human agents ({names}) = context, not replies"] += len(agents)
    elif agents:
        tally.notes.append(f"no author is a bot, so the replies are those of the human agents ({names})")
    return frozenset(map(_key, replies))


def _key(message: _Message) -> tuple[str, str]:
    return message.role, message.speaker


def _is_turn(message: _Message, bots: frozenset[tuple[str, str]], tally: ImportTally) -> bool:
    """Whether a message is a turn, or may be a system prompt; an event is counted."""
    is_event = message.is_event or (message.author in ("event", "agent") and is_event_text(message.text))
    if not is_event and message.author == "event" and _key(message) not in bots:
        # In logs of language models, "system" is who wrote the prompt.
        is_event = fold_name(message.role) not in ("system", "developer")
    if is_event:
        tally.left_out[EVENTS] += 1
    return not is_event


def _pairs_in_order(messages: list[_Message]) -> Iterator[tuple[_Message, _Message]]:
    """Yield each message that answers another author's, with the one before it."""
    last: dict[str, _Message] = {}
    for message in messages:
        before = last.get(message.dialogue)
        if before is not None and before.speaker != message.speaker:
            yield message, before
        last[message.dialogue] = message


def _split_prompt(
    messages: list[_Message], bots: frozenset[tuple[str, str]], tally: ImportTally
) -> tuple[str, list[_Message]]:
    """Return the system prompt and the turns; messages of the system are events where no language model replied."""
    is_system = [message.author == "event" and _key(message) not in bots for message in messages]
    first = is_system.index(False) if False in is_system else len(messages)
    has_model = any(ROLES.get(message.role.lower()) == "assistant" and message.role != "bot" for message in messages)
    prompts = messages[:first] if has_model else []
    turns = [message for message, is_left_out in zip(messages, is_system, strict=True) if not is_left_out]
    events = len(messages) - len(turns) - len(prompts)
    if prompts:
        tally.changes[PROMPTS] += len(prompts)
    if events:
        tally.left_out[EVENTS] += events
    return "\n".join(message.text for message in prompts), turns


def _convert_conversation(
    entries: list[_Message], bots: frozenset[tuple[str, str]], options: ImportOptions, stripper: MarkupStripper
) -> Iterator[ImportedRecord]:
    prompt, messages = _split_prompt(entries, bots, stripper.tally)
    messages = list(_strip_messages(messages, bots, stripper))
    meta = {"system_prompt": stripper.prompt(prompt)} if prompt else {}
    turns = tuple(Turn(message.text, message.speaker) for message in messages)
    for position, message in enumerate(messages):
        if _key(message) not in bots:
            continue
        if position == 0:
            stripper.tally.left_out[OPENING_MESSAGES] += 1
            continue
        name, future = f"{message.dialogue}/{position}", turns[position + 1 :]
        item = Item(name, turns[:position], future=future, dialogue=message.dialogue, meta=meta)
        system = options.system or message.system or message.speaker
        yield ImportedRecord(item, message.place)
        yield ImportedRecord(Response(f"{item.id}/{system}", item.id, system, message.text), message.place)


def _strip_messages(
    messages: list[_Message], bots: frozenset[tuple[str, str]], stripper: MarkupStripper
) -> Iterator[_Message]:
    """Yield the messages without the markup of bots; one of which nothing is left is counted."""
    for message in messages:
        text = stripper.reply(message.text) if _key(message) in bots else message.text
        if text:
            yield message._replace(text=text)
        else:
            stripper.tally.left_out[EMPTY_MESSAGES] += 1
