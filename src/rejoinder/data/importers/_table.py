"""Rows of a foreign table as records: a context, its references, one or several replies, and their ratings."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally, RowReplies
from rejoinder.data.importers._conversations import Conversations
from rejoinder.data.importers._ids import IdAssigner, ResponsePlacer, content_digest
from rejoinder.data.importers._last_turn import RowAnswers, drop_last_turn
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._repeats import REPEATED_ROWS, RatingCollector, RepeatedReplies
from rejoinder.data.importers._row_meta import RowMeta
from rejoinder.data.importers._rows import ForeignRow, look_up
from rejoinder.data.schema import Place, from_object
from rejoinder.data.tables.columns import Columns, Layout, has_column, nearest_column, suggest_import, suggest_score
from rejoinder.data.tables.header import may_be_meta
from rejoinder.data.tables.rating_cells import parse_rating
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.types import Item, Record, Reference, Response, Turn


class ItemPlacement(NamedTuple):
    """The item that a reply belongs to, and whether the item and the reply are new."""

    item: str
    new_item: bool
    new_reply: bool


class ItemIndex:
    """Items so far; rows of one item are joined, and rows that disagree about it are an error."""

    def __init__(self) -> None:
        self._first_by_id: dict[str, tuple[bytes, Place]] = {}
        self._reply_keys: set[tuple[str, str, str | None, bytes]] = set()
        self._names, self._replies = IdAssigner(), ResponsePlacer()

    @property
    def apart(self) -> int:
        """How many replies with the words of an earlier one were placed apart from it."""
        return self._replies.apart

    def place(self, item: Mapping[str, Any], at: Place) -> tuple[str, bool]:
        """Return the id of an item without a reply, and whether it is new."""
        name = item.get("id")
        if name is None:
            content = _item_digest(item)
            return self._names.assign(content.hex()[:12], content)
        content = _digest([item.get(key) for key in ("context", "references", "dialogue")])
        if name not in self._first_by_id:
            self._first_by_id[name] = (content, at)
            return name, True
        first_content, first_place = self._first_by_id[name]
        if first_content != content:
            raise InputError(
                f"{at}: item {brief(name)} has a different context or references than in {first_place}; "
                f"make the rows of one item agree, or ignore the ids: {suggest_score(at, '--field id= --field item=')}"
            )
        return name, False

    def place_reply(
        self, item: Mapping[str, Any], reply: Mapping[str, str], at: Place, apart: bool = False
    ) -> ItemPlacement:
        """Return the item of a reply; without an id, a second reply of one system gets its own item.

        With ``apart``, so does a reply with the same text.
        """
        system, text = reply["system"], reply["text"]
        if item.get("id") is None:
            content = _item_digest(item)
            own, is_new = self._replies.place(content, system, text, apart)
            name, new = self._names.assign(content.hex()[:12], own)
            return ItemPlacement(name, new, is_new)
        # A row without a context only refers to its item, which is in another row or file.
        name, new = self.place(item, at) if "context" in item else (item["id"], False)
        key = (name, system, reply.get("id"), _digest(text))
        is_new = key not in self._reply_keys
        self._reply_keys.add(key)
        return ItemPlacement(name, new, is_new)


def _digest(value: Any) -> bytes:
    """Return what tells JSON values apart within one import."""
    return hashlib.blake2b(orjson.dumps(value), digest_size=16).digest()


def _item_digest(item: Mapping[str, Any]) -> bytes:
    """Return what distinguishes items that have no id."""
    turns = [f"{turn.get('speaker', '')}\0{turn['text']}" for turn in item.get("context", [])]
    references = [str(reference) for reference in item.get("references", [])]
    return content_digest(str(len(turns)), *turns, *references, f"\0{item.get('dialogue')}")


def _make_item(item: dict[str, Any], place: Place) -> Record:
    """Return the item of a row; its cells were checked, and only what the schema must check goes through it."""
    if "future" in item or not all(isinstance(reference, str) for reference in item["references"]):
        return from_object(item, place)
    return Item(
        item["id"],
        tuple(Turn(turn["text"], turn.get("speaker")) for turn in item["context"]),
        tuple(map(Reference, item["references"])),
        dialogue=item.get("dialogue"),
        meta=item.get("meta", {}),
    )


class PartialFields:
    """Columns that decide what a row is, which some rows of a file have and others lack, as JSON allows."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], str] = {}
        self._without: dict[tuple[str, str], Place] = {}

    def add(self, row: ForeignRow, options: ImportOptions) -> None:
        """Remember what a row has and lacks."""
        fields = ["id", "item"]
        if options.system is None and row.layout.replies[0][0] is None:
            fields.append("system")
        columns = [source.column for source in row.layout.ratings]
        if not columns and row.has("value"):  # ratings if the row also said who rated, or what
            columns = [row.layout.single["value"]]
        cells = (look_up(row.values, column) for column in columns)
        if any(isinstance(cell, list) or parse_rating(cell) is not None for cell in cells):
            fields += ["rater", "aspect"] if options.rater is None else ["aspect"]
        for field in fields:
            key = (row.place.file, field)
            if row.has(field):
                self._columns.setdefault(key, row.layout.single[field])
            else:
                self._without.setdefault(key, row.place)

    def close(self) -> None:
        """Raise if a row lacks what others have."""
        key = min(self._columns.keys() & self._without.keys(), default=None)
        if key is None:
            return
        place, field = self._without[key], key[1]
        raise InputError(
            f"{place}: has no {self._columns[key]!r}, which holds the {field} in other rows; fill it in, or leave the "
            f"{field} out of all rows with: {suggest_score(place, f'--field {field}=')}"
        )


TAKES = frozenset(
    {"system", "fields", "separator", "rater", "empty", "max_turns", "repeats", "chain", "last_turn", "markup"}
)
_KIND_WORDS = {"flat": "replies"}
_MAX_LAYOUTS = 1000
_LONGEST_SYSTEM = 120


class RowConverter:
    """Turns rows into records, and remembers the items and columns so far."""

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self._options = options
        self._tally = tally
        self._stripper = MarkupStripper(options, tally)
        self._columns = Columns(options.fields)
        self._separator = options.separator and options.separator.replace("\\n", "\n").replace("\\t", "\t")
        self._layouts: dict[tuple[Any, ...], Layout] = {}
        self._keys: set[str] = set()
        self._unused_fields = self._columns.fields
        self._header: tuple[str, ...] = ()
        self._items = ItemIndex()
        self._ratings = RatingCollector(options, tally)
        self._repeats = RepeatedReplies(options, tally)
        self._conversations = Conversations(options)
        self._partial = PartialFields()
        self._meta = RowMeta(tally)

    def expect(self, columns: Iterable[str], where: str) -> None:
        """Raise if a file lacks a column that the user named."""
        header = dict.fromkeys(columns)
        self._header = tuple(header)
        self._columns.expand(header)
        for column in self._columns.user_columns:
            if not has_column(column, header):
                raise InputError(f"{where}: has no column {column!r}; {nearest_column(column, header)}")

    def close(self) -> Iterator[ImportedRecord]:
        """Yield the ratings that could be told apart only now; raise if anything about the table is unclear."""
        missing = [column for column in self._columns.user_columns if not has_column(column, dict.fromkeys(self._keys))]
        if missing and self._layouts:
            column = min(missing)
            raise InputError(f"no entry has the key {column!r}; {nearest_column(column, self._keys)}")
        for ours, column in self._unused_fields.items() if self._layouts else ():
            kinds = sorted({_KIND_WORDS.get(layout.kind, f"{layout.kind}s") for layout in self._layouts.values()})
            raise SpecError(
                f"--field {ours}={column} has no effect: the rows are read as {' and '.join(kinds)}, which have no "
                f"{ours!r}; leave it out"
            )
        self._partial.close()
        self._meta.close()
        self._repeats.close(self._items.apart)
        yield from self._ratings.close()
        unused = self._ratings.unused
        if unused and not self._ratings.has_ratings:
            unused += [column for column, field in self._tally.columns.items() if field == "aspect"]
            self._repeats.count_unrated()
        if unused and not self._ratings.names_raters:
            unused += [column for column, field in self._tally.columns.items() if field == "rater"]
        # A rater's name beside no rating is not a column that was not used.
        self._tally.unused -= {name for name, field in self._tally.columns.items() if field in ("rater", "aspect")}
        for column in unused:
            self._tally.columns.pop(column, None)
            self._tally.unused.add(column)
        self._tally.remarks += self._conversations.describe()

    def needed_columns(self, columns: Sequence[str], cells: Collection[str]) -> list[str]:
        """Return the columns of a file that may be needed; the others need not be read.

        ``cells`` are those that hold one value, and no list or structure.
        """
        needed = set(self._columns.needed(columns)) | {column for column in cells if may_be_meta(column)}
        self._tally.unused.update(column for column in columns if column not in needed)
        return [column for column in columns if column in needed]

    def records(self, values: Mapping[str, Any], place: Place, stem: str) -> Iterator[ImportedRecord]:
        """Yield the records of one row."""
        if self._tally.rows is not None:
            self._tally.rows.setdefault(place.line, RowReplies([], {}))
        row = ForeignRow(values, self._layout(values, place), place, self._separator, self._tally, self._stripper)
        if row.layout.kind == "flat":
            for record in self._flat(row):
                yield ImportedRecord(record, place)
            return
        fields = row.object()
        if cells := self._meta.read(row):
            self._meta.store("", cells)
            fields["meta"] = {**cells, **fields.get("meta", {})}
        if row.layout.kind == "item":
            if row.layout.context and not row.is_own:
                fields["context"] = self._context(row, fields["context"], fields.get("references", []))
            if fields.get("id") is None and row.has("item"):
                fields["id"] = row.name("item")
            fields["id"], new = self._items.place(fields, place)
            if not new:
                self._tally.left_out[REPEATED_ROWS] += 1
                return
        elif fields.get("id") is None and row.layout.kind in ("dialogue", "question"):
            fields["id"] = row.name("dialogue") if row.layout.names_dialogue else f"{stem}-{place.line}"
        yield ImportedRecord(from_object(fields, place, self._options.empty == "keep"), place)

    def _layout(self, values: Mapping[str, Any], place: Place) -> Layout:
        kind = values.get("kind")
        key = (*values, kind if isinstance(kind, str) else None)
        layout = self._layouts.get(key)
        if layout is None:
            self._columns.expand(values)
            layout = self._columns.layout(values, place, self._header or values)
            fields = layout.fields()
            used = {column for columns in fields.values() for column in columns}
            used_fields = {*fields, *(["rating"] if layout.ratings else [])}
            self._unused_fields = {
                ours: column for ours, column in self._unused_fields.items() if ours not in used_fields
            }
            roles = layout.roles()
            unused = [c for c in values if c not in roles and not any(has_column(u, {c: None}) for u in used)]
            if layout.kind in ("flat", "item"):
                layout = replace(layout, meta=tuple(column for column in unused if may_be_meta(column)))
            self._tally.unused.update(unused)
            self._tally.unused -= roles.keys()
            self._tally.note_columns(roles)
            self._keys.update(values)
            if len(self._layouts) < _MAX_LAYOUTS:
                self._layouts[key] = layout
        return layout

    def _flat(self, row: ForeignRow) -> Iterator[Record]:
        own = self._item(row)
        has_name = "id" in own
        self._partial.add(row, self._options)
        cells = self._meta.read(row)
        for system, column in row.layout.replies:
            text = row.reply(column)
            if text is None and self._options.empty == "drop":
                self._tally.left_out["empty replies"] += 1
                self._ratings.skip(row, system)
                continue
            if text is None and self._options.empty == "error":
                raise InputError(
                    f"{row.place}: the reply in {column!r} is empty; fill it, keep such replies with --empty keep, or "
                    f"leave them out with: {suggest_import(row.place, '--empty drop')}"
                )
            reply = {"kind": "response", "system": system or self._system(row), "text": text or ""}
            if row.has("item") and row.has("id") and system is None:
                reply["id"] = row.name("id")
            item = self._conversations.extend(own, reply, row)
            apart = not has_name and self._repeats.are_apart(row)
            placement = self._items.place_reply(item, reply, row.place, apart)
            if placement.new_item:
                yield _make_item({**item, "id": placement.item}, row.place)
            name = reply.get("id", f"{placement.item}/{reply['system']}")
            if placement.new_reply:
                self._meta.store(name, cells)
                yield Response(name, placement.item, reply["system"], reply["text"], {**cells, **row.reply_meta()})
            else:
                self._meta.compare(name, cells)
                self._repeats.add(row, has_name)
            if self._tally.rows is not None:
                self._tally.rows[row.place.line].responses.append(name)
            yield from self._ratings.read(row, system, name, has_name)

    def _item(self, row: ForeignRow) -> dict[str, Any]:
        item: dict[str, Any] = {"kind": "item"}
        if row.layout.context:
            references = row.references()
            item |= {"context": self._context(row, row.context(), references), "references": references}
        elif row.layout.references and not row.has("item"):
            item |= {"context": [], "references": row.references()}
        if row.has("item") or row.has("id"):
            item["id"] = row.name("item" if row.has("item") else "id")
        prompt = row.prompt() if row.layout.context else ""
        if prompt:
            item["meta"] = {"system_prompt": prompt}
        if row.has("dialogue"):
            item["dialogue"] = row.dialogue()
        if row.has("future"):
            item["future"] = row.turns(row.layout.single["future"])
        return item

    def _context(self, row: ForeignRow, context: list[dict[str, str]], references: list[Any]) -> list[dict[str, str]]:
        """Return the context without a last turn that is the reply."""
        replies = [(system, text) for system, column in row.layout.replies if (text := row.reply(column))]
        systems = {system for system, _ in replies if system}
        if row.has("system") and (name := row.text(row.layout.single["system"])):
            systems.add(name)
        texts = [reference for reference in references if isinstance(reference, str)]
        answers = RowAnswers([text for _, text in replies], texts, systems)
        return drop_last_turn(context, answers, self._options, self._tally, row.place)

    def _system(self, row: ForeignRow) -> str:
        if self._options.system is not None:
            return self._options.system
        if not row.has("system") and self._options.unnamed is not None:
            self._tally.note_system(self._options.unnamed)
            return self._options.unnamed
        if not row.has("system"):
            raise InputError(
                f"{row.place}: the system that replied is unknown; name its column with --field system=COLUMN, one "
                "column per system with --field response:NAME=COLUMN, or the system itself: "
                f"{suggest_import(row.place, '--system NAME')}"
            )
        name = row.name("system")
        if len(name) > _LONGEST_SYSTEM or "\n" in name:
            column = row.layout.single["system"]
            options = f"--field {shlex.quote('system=')} --system NAME"
            raise InputError(
                f"{row.place}: {column!r} holds {brief(name)}, which is a prompt and not the name of a system; "
                f"name the system with: {suggest_score(row.place, options)}"
            )
        return name
