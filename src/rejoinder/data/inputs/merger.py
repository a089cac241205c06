"""Records of several inputs as those of one.

Items that ask the same are one item. What a conversation became afterwards belongs to the system that was in it: where
an item's future or system prompt differs between two inputs, the responses of the later one get theirs in ``meta``.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from rejoinder.data.importer import ImportTally
from rejoinder.data.objects import turn_object
from rejoinder.data.schema import Place
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Preference, Rating, Record, Response


class RecordMerger:
    """Checks the records of one input after another, and fits those of a later one to the earlier ones."""

    def __init__(self) -> None:
        self._checker = IdChecker()
        self._openings: dict[str, tuple[int, int]] = {}  # the input and a hash of the first turn of each dialogue
        self._number = 0
        self.begin("")

    def begin(self, stem: str) -> None:
        """Begin another input, whose name is put before ids that earlier inputs have for something else."""
        self._stem = stem
        self._number += 1
        self._items: dict[str, str] = {}
        self._dialogues: dict[str, str] = {}
        self._responses: dict[str, str] = {}
        self._own: dict[str, dict[str, Any]] = {}
        self._answered: set[str] = set()  # items of which a response came first

    def add(self, record: Record, place: Place, tally: ImportTally | None) -> Record | None:
        """Return a record as it fits the others; None for an item that an earlier input had.

        ``tally`` counts what happens to ids that an importer made from those of a log; None if the file has its own.
        """
        match record:
            case Item():
                record = self._fit_item(record, place, tally)
            case Response():
                record = self._fit_response(record)
            case Rating():
                response = record.response and self._responses.get(record.response, record.response)
                dialogue = record.dialogue and self._dialogues.get(record.dialogue, record.dialogue)
                record = replace(record, response=response, dialogue=dialogue)
            case Preference():
                first, second = (self._responses.get(name, name) for name in (record.first, record.second))
                record = replace(record, item=self._items.get(record.item, record.item), first=first, second=second)
        return record if self._checker.add(record, place) else None

    def close(self) -> None:
        """Raise if an id that was referred to never occurred."""
        self._checker.close()

    def _fit_item(self, item: Item, place: Place, tally: ImportTally | None) -> Item:
        name = item.id
        # The id of a log's item is that of its conversation and the number of turns before the reply.
        if tally is not None and item.dialogue is not None and name.startswith(f"{item.dialogue}/"):
            item = self._fit_dialogue(item, tally)
            if not self._checker.matches(item, place):
                tally.changes["items with another context than an earlier file's = items of their own"] += 1
                item = replace(item, id=self._make_id(item.id))
            if item.id != name:
                self._items[name] = item.id
        future, prompt = self._checker.differs(item) if self._checker.matches(item, place) else (False, False)
        if (future or prompt) and name in self._answered:
            raise InputError(
                f"{place}: item {brief(name)} went on in another way than in an earlier file, and a response to it "
                "comes before it; write each item before its responses"
            )
        if future and not item.references:
            self._own[name] = {"future": [turn_object(turn) for turn in item.future]}
        if prompt:
            self._own.setdefault(name, {})["system_prompt"] = item.meta.get("system_prompt") or ""
        return item

    def _fit_dialogue(self, item: Item, tally: ImportTally) -> Item:
        """Return an item whose conversation has a name of its own if it began with another turn than its namesake."""
        dialogue = item.dialogue or ""
        opening = hash(item.context[:1])
        if dialogue not in self._dialogues:
            number, first = self._openings.get(dialogue, (self._number, opening))
            is_other = number != self._number and first != opening
            if is_other:
                tally.changes["conversations with another beginning than an earlier file's = renamed"] += 1
            self._dialogues[dialogue] = f"{self._stem}/{dialogue}" if is_other else dialogue
            self._openings.setdefault(self._dialogues[dialogue], (self._number, opening))
        name = self._dialogues[dialogue]
        return replace(item, id=name + item.id.removeprefix(dialogue), dialogue=name)

    def _make_id(self, name: str) -> str:
        names = itertools.chain([f"{self._stem}/{name}"], (f"{self._stem}/{name}~{n}" for n in itertools.count(2)))
        return next(one for one in names if not self._checker.has_item(one))

    def _fit_response(self, response: Response) -> Response:
        before = response.item
        self._answered.add(before)
        meta = {**self._own[before], **response.meta} if before in self._own else response.meta
        item = self._items.get(before, before)
        if item != before and response.id.startswith(before):
            name = item + response.id.removeprefix(before)
            self._responses[response.id] = name
            return replace(response, id=name, item=item, meta=meta)
        return replace(response, item=item, meta=meta) if item != before or meta is not response.meta else response
