"""Exports of traced calls: rows of JSON or of a table with JSON in its cells, and exchanges joined to sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from rejoinder.data.importer import File, ImportedRecord, ImportTally
from rejoinder.data.importers._authors import ROLES
from rejoinder.data.importers._chats import ChatConverter, Conversation, MessageList
from rejoinder.data.importers._delimited import read_delimited_rows
from rejoinder.data.importers._files import read_beginning, read_json_values
from rejoinder.data.importers._ratings import LogRating
from rejoinder.data.schema import Place
from rejoinder.data.tables.detection import BEGINNING, take_sample
from rejoinder.data.tables.rating_columns import fold_name
from rejoinder.errors import InputError, brief
from rejoinder.types import Reference

NO_PROMPT = "calls without a readable input"
NO_REPLY = "calls without a readable output"
ENDINGS = (".jsonl", ".json", ".ndjson", ".csv")


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One traced call: its messages, the replies, and the session it belongs to."""

    id: str | None
    place: Place
    file: File
    prompt: list[dict[str, Any]]
    replies: list[dict[str, Any]]
    model: str | None = None
    session: str | None = None
    time: Any = None
    ratings: tuple[LogRating, ...] = ()
    references: tuple[Reference, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether one message went in, so that what was said before is in other exchanges of the session."""
        return [_role(message) for message in self.prompt if _role(message) != "system"] == ["user"]


def _role(message: Mapping[str, Any]) -> str | None:
    return ROLES.get(str(message.get("role")).lower())


def read_rows(file: File) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the rows of an export: JSON objects, or the rows of a text table with their JSON cells parsed."""
    if take_sample(read_beginning(file, BEGINNING), file.name).container != "json":
        for place, row in read_delimited_rows(file, None):
            yield place, {name: parse_cell(cell) for name, cell in row.items()}
        return
    for place, value in read_json_values(file):
        if not isinstance(value, dict):
            raise InputError(f"{place}: expected a JSON object, found {brief(value)}")
        yield place, value


def parse_cell(cell: str) -> Any:
    """Return a cell of a table: JSON objects, lists and strings are parsed, anything else stays text."""
    text = cell.strip()
    if text[:1] not in ("{", "[", '"'):
        return cell or None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return cell


def fold_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row under keys without case, spaces, - and _: traceId, trace_id and Trace ID are one."""
    return {fold_name(str(key)): value for key, value in row.items()}


def convert_exchanges(
    exchanges: Iterable[Exchange], converter: ChatConverter, tally: ImportTally
) -> Iterator[ImportedRecord]:
    """Yield the records of exchanges; those of a session that hold one message each are one conversation."""
    sessions: dict[str, list[Exchange]] = {}
    alone = []
    for exchange in exchanges:
        if not exchange.prompt or not exchange.replies:
            tally.left_out[NO_REPLY if exchange.prompt else NO_PROMPT] += 1
        elif exchange.session is None:
            alone.append(exchange)
        else:
            sessions.setdefault(exchange.session, []).append(exchange)
    for session, members in sessions.items():
        if len(members) > 1 and all(member.is_single for member in members):
            yield from converter.records(_join_session(session, sorted(members, key=_sort_key)))
        else:
            alone += members
    for exchange in sorted(alone, key=lambda e: (e.place.file, e.place.line)):
        yield from converter.records(_convert_exchange(exchange))


def _sort_key(exchange: Exchange) -> tuple[int, float, str]:
    if isinstance(exchange.time, int | float):
        return 0, float(exchange.time), ""
    return 1, 0.0, str(exchange.time or "")


def _convert_exchange(exchange: Exchange) -> Conversation:
    said = MessageList(exchange.place)
    said.read(exchange.prompt, is_context=True)
    said.read_replies(exchange.replies)
    return said.conversation(
        exchange.file,
        exchange.id,
        is_exchange=True,
        model=exchange.model,
        session=exchange.session,
        ratings=exchange.ratings,
        references=exchange.references,
    )


def _join_session(session: str, exchanges: list[Exchange]) -> Conversation:
    said = MessageList(exchanges[0].place)
    prompts = []
    for exchange in exchanges:
        said.move(exchange.place)
        for message in exchange.prompt:
            if _role(message) == "system":
                if message in prompts:
                    continue
                prompts.append(message)
            said.read([message], is_context=True)
        said.read_replies(exchange.replies)
        reply = said.messages[-1]
        if reply is not None:
            said.messages[-1] = reply._replace(
                model=reply.model or exchange.model, ratings=(*reply.ratings, *exchange.ratings)
            )
    return said.conversation(exchanges[0].file, session, model=None)
