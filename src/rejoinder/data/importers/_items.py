"""The items of a table and their ids: given by a column, or made from what the item says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rejoinder.data.importers._names import Names, Replies, digest
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief


class Placed(NamedTuple):
    """The item that a reply belongs to, and whether the item and the reply are new."""

    item: str
    new_item: bool
    new_reply: bool


class Items:
    """Items seen so far; rows of one item join, and rows that disagree about it are an error."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[bytes, Place]] = {}
        self._said: set[tuple[str, str, str | None, bytes]] = set()
        self._names, self._replies = Names(), Replies()

    def place(self, item: Mapping[str, Any], at: Place) -> tuple[str, bool]:
        """The id of an item without a reply, and whether it is new."""
        given, content = item.get("id"), _content(item)
        if given is None:
            return self._names.of(content.hex()[:12], content)
        if given not in self._given:
            self._given[given] = (content, at)
            return given, True
        before, where = self._given[given]
        if before != content:
            raise InputError(
                f"{at}: item {brief(given)} has another context or other references than in {where}; "
                "rows of one item must agree, or leave the id out with --field id="
            )
        return given, False

    def place_reply(self, item: Mapping[str, Any], reply: Mapping[str, str], at: Place) -> Placed:
        """The item of a reply; without an id, a second reply of one system gets an item of its own."""
        system, text = reply["system"], reply["text"]
        if item.get("id") is None:
            content = _content(item)
            own, unsaid = self._replies.place(content, system, text)
            name, new = self._names.of(content.hex()[:12], own)
            return Placed(name, new, unsaid)
        # A row without a context only points at its item, which is in another row or file.
        name, new = self.place(item, at) if "context" in item else (item["id"], False)
        said = (name, system, reply.get("id"), digest(text))
        unsaid = said not in self._said
        self._said.add(said)
        return Placed(name, new, unsaid)


def _content(item: Mapping[str, Any]) -> bytes:
    """What tells one item from another where no id does."""
    turns = [f"{turn.get('speaker', '')}\0{turn['text']}" for turn in item.get("context", [])]
    references = [str(reference) for reference in item.get("references", [])]
    return digest(str(len(turns)), *turns, *references, f"\0{item.get('dialogue')}")
