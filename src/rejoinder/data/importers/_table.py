"""Rows of a foreign table as records: a context, its references, a reply or several, and their ratings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rejoinder.data.importers import _cells as cells
from rejoinder.data.importers._columns import Columns, Layout, held
from rejoinder.data.importers._contract import Found, Options, Tally
from rejoinder.data.importers._names import Names, Replies, digest
from rejoinder.data.importers._rows import Row
from rejoinder.data.schema import KEYS, Place, from_object
from rejoinder.errors import InputError, brief, nearest
from rejoinder.types import Record

TAKES = frozenset({"system", "fields", "separator", "rater", "empty", "max_turns"})
_FLAT = frozenset({"item", "id", "dialogue", "system", "rater", "future"})
_MOST_LAYOUTS = 1000


class Table:
    """Turns rows into records, and remembers what it has seen of items and columns."""

    def __init__(self, options: Options, tally: Tally) -> None:
        self._options = options
        self._tally = tally
        self._columns = Columns(options.fields)
        self._separator = options.separator and options.separator.replace("\\n", "\n").replace("\\t", "\t")
        self._layouts: dict[tuple[Any, ...], Layout] = {}
        self._unfound = set(self._columns.named)
        self._seen: set[str] = set()
        self._items: dict[str, tuple[bytes, Place]] = {}
        self._names, self._replies = Names(), Replies()

    def expect(self, columns: Iterable[str], where: str) -> None:
        """Raise where a column that was named is not among those of a file."""
        known = dict.fromkeys(columns)
        for column in self._columns.named:
            if not held(column, known):
                raise InputError(f"{where}: has no column {column!r}; {nearest(column, known)}")

    def close(self) -> None:
        """Raise where a key that was named was in no row at all."""
        if self._unfound:
            column = min(self._unfound)
            raise InputError(f"no entry has the key {column!r}; {nearest(column, self._seen)}")

    def wanted(self, columns: Iterable[str]) -> list[str]:
        """Those columns of a file that may be needed, so that the others need not be read."""
        named = {part for column in self._columns.named for part in (column, column.partition(".")[0])}
        ours = {key for keys in KEYS.values() for key in keys} | {"reference"}
        kept = [column for column in columns if column in named | ours]
        self._tally.unused.update(set(columns) - set(kept))
        return kept

    def records(self, values: Mapping[str, Any], place: Place, stem: str) -> Iterator[Found]:
        """The records of one row."""
        row = Row(values, self._layout(values, place), place, self._separator, self._tally)
        if row.layout.kind == "flat":
            for record in self._flat(row):
                yield Found(record, place)
            return
        found = row.object()
        if found.get("id") is None and row.layout.kind in ("item", "question"):
            content = _content(found)
            found["id"] = self._names.of(content.hex()[:12], content)[0]
        if found.get("id") is None and row.layout.kind == "dialogue":
            found["id"] = f"{stem}-{place.line}"
        yield Found(from_object(found, place, self._options.empty == "keep"), place)

    def _layout(self, values: Mapping[str, Any], place: Place) -> Layout:
        kind = values.get("kind")
        key = (*values, kind if isinstance(kind, str) else None)
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._columns.layout(values, place)
            if len(self._layouts) < _MOST_LAYOUTS:
                self._layouts[key] = layout
            used = {layout.single[field] for field in KEYS.get(layout.kind, _FLAT) if field in layout.single}
            used.update(layout.context, layout.references)
            used.update(column for _, column in layout.replies)
            used.update(column for _, _, column in layout.ratings)
            self._tally.unused.update(c for c in values if not any(held(u, {c: None}) for u in used))
            self._seen.update(values)
        if self._unfound:
            self._unfound -= {column for column in self._unfound if cells.lookup(values, column) is not None}
        return layout

    def _flat(self, row: Row) -> Iterator[Record]:
        item = self._item(row) if row.layout.context else None
        for system, column in row.layout.replies:
            said = row.text(column)
            if said is None and self._options.empty == "drop":
                self._tally.left_out["empty replies"] += 1
                continue
            if said is None and self._options.empty == "error":
                raise InputError(
                    f"{row.place}: the reply in {column!r} is empty; fill it, or leave such replies out with "
                    "--empty drop, or keep them with --empty keep"
                )
            reply = {"kind": "response", "system": system or self._system(row), "text": said or ""}
            if row.has("item") and row.has("id") and system is None:
                reply["id"] = row.name("id")
            if item is None:
                reply["item"] = row.name("item")
            else:
                name, new = self._item_name(item, reply["system"], reply["text"], row.place)
                if name is None:
                    self._tally.left_out["rows that repeat another"] += 1
                    continue
                if new:
                    yield from_object({**item, "id": name}, row.place)
                reply["item"] = name
            yield from_object(reply, row.place, allow_empty=True)
            yield from self._ratings(row, system, reply.get("id", f"{reply['item']}/{reply['system']}"))

    def _item(self, row: Row) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "item", "context": row.context(), "references": row.references()}
        if row.has("item") or row.has("id"):
            found["id"] = row.name("item" if row.has("item") else "id")
        if row.has("dialogue"):
            found["dialogue"] = row.text(row.layout.single["dialogue"])
        if row.has("future"):
            found["future"] = row.turns(row.layout.single["future"])
        return found

    def _item_name(self, item: dict[str, Any], system: str, said: str, place: Place) -> tuple[str | None, bool]:
        """The id of an item and whether it is new; None where the system said the same to it already."""
        content = _content(item)
        name = item.get("id")
        if name is None:
            own = self._replies.place(content, system, said)
            return (None, False) if own is None else self._names.of(content.hex()[:12], own)
        before = self._items.get(name)
        if before is None:
            self._items[name] = (content, place)
        elif before[0] != content:
            raise InputError(
                f"{place}: item {brief(name)} has another context or other references than in {before[1]}; "
                "rows of one item must agree, or leave the id out with --field id="
            )
        return name, before is None

    def _system(self, row: Row) -> str:
        if self._options.system is not None:
            return self._options.system
        if not row.has("system"):
            raise InputError(
                f"{row.place}: nothing says which system replied; give --system NAME, or --field system=COLUMN, "
                "or one column a system with --field response:NAME=COLUMN"
            )
        return row.name("system")

    def _ratings(self, row: Row, system: str | None, response: str) -> Iterator[Record]:
        for found in row.ratings(system):
            rater = found.rater or self._options.rater or found.column
            rating = {"kind": "rating", "response": response, "rater": rater, "aspect": found.aspect}
            yield from_object({**rating, "value": found.value}, row.place)


def _content(item: Mapping[str, Any]) -> bytes:
    """What tells one item from another where no id does."""
    turns = [f"{turn.get('speaker', '')}\0{turn['text']}" for turn in item.get("context", [])]
    references = [str(reference) for reference in item.get("references", [])]
    return digest(str(len(turns)), *turns, *references, f"\0{item.get('dialogue')}")
