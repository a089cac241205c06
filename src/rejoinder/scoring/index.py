"""The input of a run: every line checked once and written to ``data.jsonl``, with an index of responses and items.

Only ids and numbers are kept in memory, so a million responses fit. Records may come in any order and in any number of
files; a response is joined with its item by id when everything is read.
"""

from __future__ import annotations

import functools
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rejoinder.data.dialogue_places import DialoguePlaces, ResponseCodes, count_own_future, find_dialogue_places
from rejoinder.data.inputs import Input, merge_records
from rejoinder.data.schema import Place, from_object
from rejoinder.data.writer import encode_record
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.types import Item, Pair, Record, Reference, Response, Statement, Turn


class NoResponsesError(InputError):
    """An input without responses."""


# Chunks are cut by content (after a response whose id hashes to 0), so that a line inserted at the top of a file
# changes only the first chunk; the bounds keep them of a useful size.
_MEAN_CHUNK, _SMALLEST_CHUNK, _LARGEST_CHUNK = 512, 128, 2048


class ResponseRow(NamedTuple):
    """The ids of a response, its item, its system and, where the item names one, its dialogue."""

    response: str
    item: str
    system: str
    dialogue: str | None


@dataclass
class ResponseIndex:
    """Responses and their items as numbers: positions in ``data.jsonl`` and codes for names, one entry per response."""

    responses: list[str] = field(default_factory=list)
    response_at: array[int] = field(default_factory=lambda: array("q"))
    item_codes: array[int] = field(default_factory=lambda: array("q"))
    system_codes: array[int] = field(default_factory=lambda: array("q"))
    own_futures: array[int] = field(default_factory=lambda: array("q"))  # turns that followed it alone; -1: unknown
    chunk_ends: list[int] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    item_at: array[int] = field(default_factory=lambda: array("q"))
    turns_of_item: array[int] = field(default_factory=lambda: array("q"))
    future_of_item: array[int] = field(default_factory=lambda: array("q"))  # 1: of turns that may follow a reply
    dialogue_of_item: array[int] = field(default_factory=lambda: array("q"))
    systems: dict[str, int] = field(default_factory=dict)
    dialogues: dict[str, int] = field(default_factory=dict)
    reference_sources: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.responses)

    def add(self, record: Record, position: int) -> None:
        """Add a record that is at a position of ``data.jsonl``."""
        kind = type(record).__name__.lower()
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if isinstance(record, Item):
            code = self._item_code(record.id)
            self.item_at[code] = position
            self.turns_of_item[code] = len(record.context)
            self.future_of_item[code] = bool(record.future) and not record.references
            if record.dialogue is not None:
                self.dialogue_of_item[code] = self.dialogues.setdefault(record.dialogue, len(self.dialogues))
            self.reference_sources.update(r.source for r in record.references)
        elif isinstance(record, Response):
            self.responses.append(record.id)
            self.response_at.append(position)
            self.item_codes.append(self._item_code(record.item))
            self.system_codes.append(self.systems.setdefault(record.system, len(self.systems)))
            self.own_futures.append(count_own_future(record))
            self._cut(record.id)

    def close(self) -> None:
        """End the last chunk."""
        if len(self) and (not self.chunk_ends or self.chunk_ends[-1] != len(self)):
            self.chunk_ends.append(len(self))

    def chunks(self) -> list[range]:
        """Return the numbers of the responses of each chunk."""
        return [range(a, b) for a, b in zip([0, *self.chunk_ends[:-1]], self.chunk_ends, strict=True)]

    def where(self, chunk: range) -> list[tuple[int, int, int, int]]:
        """Return the positions of each response of a chunk and of its item, and whether it is last and followed."""
        last, followed = (flags[chunk.start : chunk.stop].tolist() for flags in self.dialogue_places)
        at = ((self.response_at[i], self.item_at[self.item_codes[i]]) for i in chunk)
        return [(*one, int(a), int(b)) for one, a, b in zip(at, last, followed, strict=True)]

    @functools.cached_property
    def dialogue_places(self) -> DialoguePlaces:
        """The place of each response in its dialogue; read when everything was added."""
        items = np.array(self.item_codes, np.int64)
        dialogues, turns = (np.array(column, np.int64)[items] for column in (self.dialogue_of_item, self.turns_of_item))
        systems, futures = np.array(self.system_codes, np.int64), np.array(self.future_of_item, bool)[items]
        own = np.array(self.own_futures, np.int64)
        return find_dialogue_places(ResponseCodes(items, dialogues, systems, turns, futures, own))

    def rows(self) -> Iterator[ResponseRow]:
        """Yield the ids of each response, in the order of the input."""
        items, systems, dialogues = list(self.items), list(self.systems), [*self.dialogues, None]  # -1: no dialogue
        for response, item, system in zip(self.responses, self.item_codes, self.system_codes, strict=True):
            yield ResponseRow(response, items[item], systems[system], dialogues[self.dialogue_of_item[item]])

    def _item_code(self, name: str) -> int:
        code = self.items.setdefault(name, len(self.items))
        if code == len(self.item_at):
            self.item_at.append(-1)
            self.turns_of_item.append(0)
            self.future_of_item.append(0)
            self.dialogue_of_item.append(-1)
        return code

    def _cut(self, response: str) -> None:
        size = len(self) - (self.chunk_ends[-1] if self.chunk_ends else 0)
        cut = size >= _SMALLEST_CHUNK and zlib.crc32(response.encode()) % (_MEAN_CHUNK - _SMALLEST_CHUNK) == 0
        if cut or size >= _LARGEST_CHUNK:
            self.chunk_ends.append(len(self))


def index_inputs(inputs: Sequence[Input], target: Path, allow_empty: bool) -> ResponseIndex:
    """Check every record of the inputs, write them to ``target`` and return their index."""
    index, position = ResponseIndex(), 0
    with atomic_write(target) as file:
        for record in merge_records(inputs, allow_empty):
            index.add(record, position)
            position += file.write(encode_record(record))
    index.close()
    if not len(index):
        counts = ", ".join(f"{n:,} {kind}{'' if n == 1 else 's'}" for kind, n in index.counts.items())
        raise NoResponsesError(
            f"{', '.join(i.called for i in inputs)}: no responses to score (found {counts}); "
            + next(
                (advice for one in inputs if (advice := one.suggest_replies())),
                "add lines with 'item', 'system' and 'text' (docs/formats.md shows them)",
            )
        )
    return index


class DataFile:
    """``data.jsonl`` of a run, read by position."""

    def __init__(self, path: Path) -> None:
        # Not memory-mapped: the pages of a mapped file would count as memory of this process.
        self._file = path.open("rb", buffering=2**18)
        self._place = Place(path.name, 0)

    def pairs(self, where: Sequence[Sequence[int]]) -> list[Pair]:
        """Return the pairs at these positions, as ``ResponseIndex.where`` gives them."""
        result, last_item_at, item = [], -1, None
        for response_at, item_at, is_last, is_followed in where:
            if item_at != last_item_at:
                last_item_at, item = item_at, self._record(item_at)
            response = self._record(response_at)
            if isinstance(item, Item) and isinstance(response, Response):
                result.append(Pair(item, response, bool(is_last), bool(is_followed)))
        return result

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _record(self, position: int) -> Record:
        self._file.seek(position)
        record = orjson.loads(self._file.readline())
        kind = record["kind"]
        if kind == "response":
            return Response(record["id"], record["item"], record["system"], record["text"], record.get("meta", {}))
        return _parse_item(record) if kind == "item" else from_object(record, self._place, allow_empty=True)


def _parse_item(o: dict[str, Any]) -> Item:
    """Return an item that was checked when it was written to ``data.jsonl``; a second check would double the time."""
    return Item(
        o["id"],
        _parse_turns(o["context"]),
        tuple([Reference(one) if isinstance(one, str) else Reference(**one) for one in o.get("references", ())]),
        _parse_turns(o.get("future", ())),
        tuple([Statement(**one) for one in o.get("situation", ())]),
        o.get("dialogue"),
        o.get("truncated", False),
        o.get("meta", {}),
    )


def _parse_turns(turns: Sequence[dict[str, str]]) -> tuple[Turn, ...]:
    return tuple([Turn(one["text"], one.get("speaker")) for one in turns])
