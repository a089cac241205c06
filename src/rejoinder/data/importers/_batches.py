"""Batches of requests to a chat API: the requests are items, the results are responses, joined by ``custom_id``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rejoinder.data.importer import ImportedRecord, ImportTally
from rejoinder.data.importers._chats import ChatConverter, MessageList
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._messages import Message, id_of
from rejoinder.data.importers._tools import join_tool_calls
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Reference, Turn

FAILED = "requests that failed"
_NO_TURNS = "requests without a turn"
_NO_REPLY = "results without a reply"


def custom_id(value: dict[str, Any], place: Place) -> str:
    """Return the id that joins a request and its result."""
    name = id_of(value.get("custom_id"))
    if name is None:
        raise InputError(f"{place}: 'custom_id' is {brief(value.get('custom_id'))}; it must be a string")
    return name


def convert_request(
    name: str,
    messages: Iterable[Any],
    place: Place,
    stripper: MarkupStripper,
    references: tuple[Reference, ...] = (),
) -> Iterator[ImportedRecord]:
    """Yield the item of a request; its messages are the context."""
    tally, said = stripper.tally, MessageList(place)
    said.read(messages)
    said.strip(stripper)
    tally.left_out.update(said.left_out)
    turns = tuple(Turn(m.text, m.role) for m in said.messages if m is not None and m.role != "system")
    if not turns:
        tally.left_out[_NO_TURNS] += 1
        return
    prompt = "\n".join(m.text for m in said.messages if m is not None and m.role == "system")
    meta: dict[str, Any] = {"system_prompt": prompt} if prompt else {}
    if said.left_out:
        meta["left_out"] = dict(said.left_out)
    if calls := join_tool_calls(event for _, event in said.tools):
        meta["tool_calls"] = calls
    yield ImportedRecord(Item(name, turns, references, meta=meta), place)


def convert_result(
    name: str, replies: Iterable[Message], model: str | None, place: Place, converter: ChatConverter, tally: ImportTally
) -> Iterator[ImportedRecord]:
    """Yield the responses of a result, one for each reply, and their ratings."""
    spoken = [(reply, text) for reply in replies if (text := converter.stripper.reply(reply.text))]
    responses = [converter.respond(name, converter.system_of(r.model or model, place), text, {}) for r, text in spoken]
    if not responses:
        tally.left_out[_NO_REPLY] += 1
    for response in responses:
        yield ImportedRecord(response, place)


def parse_replies(values: Iterable[Any], place: Place, tally: ImportTally) -> list[Message]:
    """Return the replies with text among messages."""
    said = MessageList(place)
    said.read(values)
    tally.left_out.update(said.left_out)
    return [message for message in said.messages if message is not None and message.role == "assistant"]
