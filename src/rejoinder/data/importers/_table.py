"""Rows of a foreign table as records: a context, its references, one or several replies, and their ratings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rejoinder.data.importers import _rows as cells
from rejoinder.data.importers._base import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._columns import Columns, Layout, has_column, nearest_column
from rejoinder.data.importers._ids import IdAssigner, ResponsePlacer, content_digest
from rejoinder.data.importers._rows import ForeignRow
from rejoinder.data.schema import KEYS, Place, from_object
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.types import Record


class ItemPlacement(NamedTuple):
    """The item that a reply belongs to, and whether the item and the reply are new."""

    item: str
    new_item: bool
    new_reply: bool


class ItemIndex:
    """Items so far; rows of one item are joined, and rows that disagree about it are an error."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[bytes, Place]] = {}
        self._said: set[tuple[str, str, str | None, bytes]] = set()
        self._names, self._replies = IdAssigner(), ResponsePlacer()

    def place(self, item: Mapping[str, Any], at: Place) -> tuple[str, bool]:
        """Return the id of an item without a reply, and whether it is new."""
        given, content = item.get("id"), _item_digest(item)
        if given is None:
            return self._names.of(content.hex()[:12], content)
        if given not in self._given:
            self._given[given] = (content, at)
            return given, True
        before, where = self._given[given]
        if before != content:
            raise InputError(
                f"{at}: item {brief(given)} has a different context or references than in {where}; "
                "make the rows of one item agree, or ignore the ids with --field id="
            )
        return given, False

    def place_reply(self, item: Mapping[str, Any], reply: Mapping[str, str], at: Place) -> ItemPlacement:
        """Return the item of a reply; without an id, a second reply of one system gets its own item."""
        system, text = reply["system"], reply["text"]
        if item.get("id") is None:
            content = _item_digest(item)
            own, unsaid = self._replies.place(content, system, text)
            name, new = self._names.of(content.hex()[:12], own)
            return ItemPlacement(name, new, unsaid)
        # A row without a context only refers to its item, which is in another row or file.
        name, new = self.place(item, at) if "context" in item else (item["id"], False)
        said = (name, system, reply.get("id"), content_digest(text))
        unsaid = said not in self._said
        self._said.add(said)
        return ItemPlacement(name, new, unsaid)


def _item_digest(item: Mapping[str, Any]) -> bytes:
    """Return what distinguishes items that have no id."""
    turns = [f"{turn.get('speaker', '')}\0{turn['text']}" for turn in item.get("context", [])]
    references = [str(reference) for reference in item.get("references", [])]
    return content_digest(str(len(turns)), *turns, *references, f"\0{item.get('dialogue')}")


TAKES = frozenset({"system", "fields", "separator", "rater", "empty", "max_turns"})
_KIND_WORDS = {"flat": "replies"}
_MAX_LAYOUTS = 1000
_REPEATED_ROWS = "rows that repeat another"


class RowConverter:
    """Turns rows into records, and remembers the items and columns so far."""

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self._options = options
        self._tally = tally
        self._columns = Columns(options.fields)
        self._separator = options.separator and options.separator.replace("\\n", "\n").replace("\\t", "\t")
        self._layouts: dict[tuple[Any, ...], Layout] = {}
        self._unfound = set(self._columns.named)
        self._idle = self._columns.fields
        self._known: tuple[str, ...] = ()
        self._seen: set[str] = set()
        self._items = ItemIndex()

    def expect(self, columns: Iterable[str], where: str) -> None:
        """Raise if a file lacks a column that the user named."""
        known = dict.fromkeys(columns)
        self._known = tuple(known)
        for column in self._columns.named:
            if not has_column(column, known):
                raise InputError(f"{where}: has no column {column!r}; {nearest_column(column, known)}")

    def close(self) -> None:
        """Raise if a key that the user named was in no row, or was not used."""
        if self._unfound:
            column = min(self._unfound)
            raise InputError(f"no entry has the key {column!r}; {nearest_column(column, self._seen)}")
        for ours, column in self._idle.items() if self._layouts else ():
            kinds = sorted({_KIND_WORDS.get(layout.kind, f"{layout.kind}s") for layout in self._layouts.values()})
            raise SpecError(
                f"--field {ours}={column} has no effect: the rows are read as {' and '.join(kinds)}, which have no "
                f"{ours!r}; leave it out"
            )

    def wanted(self, columns: Iterable[str]) -> list[str]:
        """Return the columns of a file that may be needed; the others need not be read."""
        named = {part for column in self._columns.named for part in (column, column.partition(".")[0])}
        ours = {key for keys in KEYS.values() for key in keys} | {"reference"}
        kept = [column for column in columns if column in named | ours]
        self._tally.unused.update(set(columns) - set(kept))
        return kept

    def records(self, values: Mapping[str, Any], place: Place, stem: str) -> Iterator[ImportedRecord]:
        """Yield the records of one row."""
        row = ForeignRow(values, self._layout(values, place), place, self._separator, self._tally)
        if row.layout.kind == "flat":
            for record in self._flat(row):
                yield ImportedRecord(record, place)
            return
        found = row.object()
        if row.layout.kind == "item":
            if found.get("id") is None and row.has("item"):
                found["id"] = row.name("item")
            found["id"], new = self._items.place(found, place)
            if not new:
                self._tally.left_out[_REPEATED_ROWS] += 1
                return
        elif found.get("id") is None and row.layout.kind in ("dialogue", "question"):
            found["id"] = row.name("dialogue") if row.layout.names_dialogue else f"{stem}-{place.line}"
        yield ImportedRecord(from_object(found, place, self._options.empty == "keep"), place)

    def _layout(self, values: Mapping[str, Any], place: Place) -> Layout:
        kind = values.get("kind")
        key = (*values, kind if isinstance(kind, str) else None)
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._columns.layout(values, place, self._known or values)
            if len(self._layouts) < _MAX_LAYOUTS:
                self._layouts[key] = layout
            fields = layout.fields()
            used = {column for columns in fields.values() for column in columns}
            self._idle = {ours: column for ours, column in self._idle.items() if ours not in fields}
            self._tally.unused.update(c for c in values if not any(has_column(u, {c: None}) for u in used))
            self._seen.update(values)
        if self._unfound:
            self._unfound -= {column for column in self._unfound if cells.look_up(values, column) is not None}
        return layout

    def _flat(self, row: ForeignRow) -> Iterator[Record]:
        item = self._item(row)
        for system, column in row.layout.replies:
            said = row.text(column)
            if said is None and self._options.empty == "drop":
                self._tally.left_out["empty replies"] += 1
                continue
            if said is None and self._options.empty == "error":
                raise InputError(
                    f"{row.place}: the reply in {column!r} is empty; fill it, or use --empty drop to leave such "
                    "replies out, or --empty keep to keep them"
                )
            reply = {"kind": "response", "system": system or self._system(row), "text": said or ""}
            if row.has("item") and row.has("id") and system is None:
                reply["id"] = row.name("id")
            placed = self._items.place_reply(item, reply, row.place)
            if placed.new_item:
                yield from_object({**item, "id": placed.item}, row.place)
            if placed.new_reply:
                yield from_object({**reply, "item": placed.item}, row.place, allow_empty=True)
            elif not row.layout.ratings:
                # With ratings, the row comes from another rater: only the rating is new.
                self._tally.left_out[_REPEATED_ROWS] += 1
            yield from self._ratings(row, system, reply.get("id", f"{placed.item}/{reply['system']}"))

    def _item(self, row: ForeignRow) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "item"}
        if row.layout.context:
            found |= {"context": row.context(), "references": row.references()}
        if row.has("item") or row.has("id"):
            found["id"] = row.name("item" if row.has("item") else "id")
        if row.has("dialogue"):
            found["dialogue"] = row.text(row.layout.single["dialogue"])
        if row.has("future"):
            found["future"] = row.turns(row.layout.single["future"])
        return found

    def _system(self, row: ForeignRow) -> str:
        if self._options.system is not None:
            return self._options.system
        if not row.has("system"):
            raise InputError(
                f"{row.place}: the system that replied is unknown; give --system NAME, or --field system=COLUMN, "
                "or one column per system with --field response:NAME=COLUMN"
            )
        return row.name("system")

    def _ratings(self, row: ForeignRow, system: str | None, response: str) -> Iterator[Record]:
        for found in row.ratings(system):
            rater = found.rater or self._options.rater or found.column
            rating = {"kind": "rating", "response": response, "rater": rater, "aspect": found.aspect}
            yield from_object({**rating, "value": found.value}, row.place)
