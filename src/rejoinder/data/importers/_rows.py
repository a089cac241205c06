"""The fields of ours in one row of a foreign table; its cells as text, numbers, names and turns."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from rejoinder.data.importer import ImportTally
from rejoinder.data.importers._authors import EVENTS, find_author, is_event_text
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.schema import KEYS, Place
from rejoinder.data.tables.columns import Layout
from rejoinder.data.tables.rating_cells import RatingColumn
from rejoinder.data.validation import tidy_name
from rejoinder.errors import InputError, brief

_TURN_KEYS = (("speaker", "text"), ("role", "content"), ("from", "value"), ("type", "content"))
# What LangChain and others call the speakers of a turn that is written as a pair: ("human", "Hello").
_PAIR_ROLES = frozenset(("human", "ai", "user", "assistant", "system", "developer", "bot", "customer"))


def look_up(row: Mapping[str, Any], column: str) -> Any:
    """Return the value in a column, or under a path such as ``choices.0.message``; None if there is none."""
    if column in row:
        return row[column]
    value: Any = row
    for part in column.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def parse_text(value: Any, column: str, place: Place) -> str | None:
    """Return a cell as text, or None if it is missing or blank. Numbers become their digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return None if not value or value.isspace() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{place}: {column!r} holds {_type_name(value)} ({brief(value)}); it must be text")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parse_number(value: Any, column: str, place: Place) -> float | None:
    """Return a cell as a number, or None if it is missing or blank."""
    if isinstance(value, str):
        if not value or value.isspace():
            return None
        try:
            value = float(value)
        except ValueError:
            raise InputError(f"{place}: {column!r} holds {brief(value)}; it must be a number or empty") from None
        if not math.isfinite(value):
            raise InputError(f"{place}: {column!r} holds {value}; it must be a finite number or empty")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{place}: {column!r} holds {brief(value)}; it must be a number or empty")
    return float(value)


def parse_texts(value: Any, column: str, place: Place) -> list[str]:
    """Return the texts of a cell that holds one or a list of them, without blank ones."""
    values = value if isinstance(value, list) else [value]
    return [text for one in values if (text := parse_text(one, column, place)) is not None]


def parse_turns(value: Any, column: str, place: Place, separator: str | None) -> list[dict[str, str]]:
    """Return the turns of a cell: one text (split at the separator, if any) or a list of texts or messages."""
    if isinstance(value, str):
        messages = _parse_history(value) if value.lstrip().startswith("[") else None
        if messages is None and separator is None:
            return [{"text": value.strip("\r\n")}] if value and not value.isspace() else []
        value = messages if messages is not None else value.split(separator)
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, Mapping) and value and all(isinstance(v, list) for v in value.values()):
        # A list of structures may be stored as one structure of lists.
        value = [dict(zip(value, row, strict=False)) for row in zip(*value.values(), strict=False)]
    values = value if isinstance(value, list) else [value]
    values = [list(entry) if isinstance(entry, tuple) else entry for entry in values]  # as Python writes a pair
    # A history may be a list of exchanges, each a list of two texts.
    if values and all(_is_pair(entry) for entry in values):
        values = [{"speaker": entry[0], "text": entry[1]} for entry in values]
    flat = [one for entry in values for one in (entry if isinstance(entry, list) else [entry])]
    return [turn for one in flat if (turn := _parse_turn(one, column, place)) is not None]


def _is_pair(entry: Any) -> bool:
    """Whether an entry of a history is a speaker and a text."""
    return isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and entry[0] in _PAIR_ROLES


def parse_list(text: str) -> list[Any] | None:
    """Return the texts or objects that a cell holds as a list; a plain text is one, and a blank cell is None."""
    value = _parse_literal(text) if text.lstrip().startswith("[") else None
    is_list = isinstance(value, list) and all(isinstance(one, str | dict) for one in value)
    return value if is_list else [text] if text.strip() else None


def _parse_literal(text: str) -> Any:
    """Return the value that a text holds as JSON, or as Python writes it; None if it is neither."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None


def _parse_history(text: str) -> list[Any] | None:
    """Return the turns that a cell of a text table holds as JSON, or as Python writes a list; None if it is text."""
    value = _parse_literal(text)
    return value if isinstance(value, list) and all(map(_is_turn, value)) else None


def _is_turn(value: Any) -> bool:
    """Whether an entry of a list in a cell is a message, a text, or an exchange of two texts."""
    if isinstance(value, dict):
        return "content" in value or "text" in value or "value" in value or "data" in value
    is_exchange = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(one, str) for one in value)
    return isinstance(value, str) or is_exchange


def _parse_turn(value: Any, column: str, place: Place) -> dict[str, str] | None:
    speaker = None
    if isinstance(value, Mapping):
        for speaker_key, text_key in _TURN_KEYS:
            if text_key in value:
                speaker = parse_text(value.get(speaker_key), f"{column}.{speaker_key}", place)
                value = value[text_key]
                break
        data = value.get("data") if isinstance(value, Mapping) else None
        if isinstance(data, Mapping) and "content" in data:  # a message as LangChain stores it
            speaker, value = parse_text(value.get("type"), f"{column}.type", place), data["content"]
        if isinstance(value, list):  # a message in parts
            parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
            value = "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    text = parse_text(value, column, place)
    if text is None:
        return None
    text = text.strip("\r\n")
    return {"text": text} if speaker is None else {"speaker": speaker, "text": text}


def is_prompt(turn: Mapping[str, str]) -> bool:
    """Whether a turn is an instruction to the system and not part of the dialogue."""
    return turn.get("speaker", "").lower() in ("system", "developer")


def drop_events(turns: list[dict[str, str]], tally: ImportTally) -> list[dict[str, str]]:
    """Return turns without those that only say what happened; they are counted."""
    spoken = [turn for turn in turns if not _is_event(turn)]
    if len(spoken) < len(turns):
        tally.left_out[EVENTS] += len(turns) - len(spoken)
    return spoken


def _is_event(turn: Mapping[str, str]) -> bool:
    is_event = "speaker" in turn and find_author(turn["speaker"]) == "event"
    return is_event and (not is_prompt(turn) or is_event_text(turn["text"]))


def _type_name(value: Any) -> str:
    names = {bool: "true or false", list: "a list", dict: "an object"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


_NAMES = frozenset(("system", "aspect", "rater"))
# Fields that are not text and are passed on unchanged; the schema checks them.
_STRUCTURES = ("situation", "candidates", "meta", "truncated")


class RatingValues(NamedTuple):
    """The ratings of a reply in one aspect and row; a list holds those of several people without names."""

    aspect: str
    rater: str | None
    column_rater: str | None
    values: list[float]


@dataclasses.dataclass(slots=True)
class ForeignRow:
    """The values of a row, and what its columns hold."""

    values: Mapping[str, Any]
    layout: Layout
    place: Place
    separator: str | None
    tally: ImportTally
    stripper: MarkupStripper
    # Cells that were parsed already: their markup is counted once.
    parsed: dict[tuple[str, str], Any] = dataclasses.field(default_factory=dict)

    def text(self, column: str) -> str | None:
        """Return a cell as text, or None if it is blank."""
        return parse_text(look_up(self.values, column), column, self.place)

    def has(self, field: str) -> bool:
        """Whether a column holds the field."""
        return field in self.layout.single

    @property
    def is_own(self) -> bool:
        """Whether the row is a record of our schema, whose texts are what they are."""
        kind = look_up(self.values, self.layout.single["kind"]) if self.has("kind") else None
        return isinstance(kind, str) and kind in KEYS

    def name(self, field: str) -> str:
        """Return an id, or another field that must not be blank."""
        column = self.layout.single[field]
        text = self.text(column)
        if text is None:
            raise InputError(f"{self.place}: {column!r} is empty; it must hold the {field}")
        return self._tidy(text) if field in _NAMES else text

    def _tidy(self, name: str) -> str:
        """Return a name in the form in which it looks; what looks alike is one system, rater or aspect."""
        tidy = tidy_name(name)
        if tidy != name:
            self.tally.changes["names with other spaces or Unicode forms"] += 1
        return tidy

    def dialogue(self) -> str | None:
        """Return the id of the conversation that a row belongs to; None if it is blank."""
        text = self.text(self.layout.single["dialogue"])
        return None if text is None else self._tidy(text)

    def turns(self, column: str) -> list[dict[str, str]]:
        """Return the turns in a column, without markup."""
        key = ("turns", column)
        if key not in self.parsed:
            turns = parse_turns(look_up(self.values, column), column, self.place, self.separator)
            replies = (text for _, holder in self.layout.replies if (text := self.text(holder)))
            stripped = turns if self.is_own else drop_events(self.stripper.turns(turns, replies), self.tally)
            self.parsed[key] = stripped
            # Whether the speakers stood in the text, as in a transcript.
            self.parsed["in text", column] = "speaker" in {key for turn in stripped for key in turn} - {
                key for turn in turns for key in turn
            }
        return self.parsed[key]  # type: ignore[no-any-return]

    def reply(self, column: str) -> str | None:
        """Return a reply without markup, or None if nothing is left."""
        key = ("reply", column)
        if key not in self.parsed:
            text = self.text(column)
            context = [turn for name in self.layout.context for turn in self.turns(name)] if text else []
            in_transcript = bool(context) and all(self.parsed["in text", name] for name in self.layout.context)
            self.parsed[key] = text and (self.stripper.reply(text, context, in_transcript) or None)
        return self.parsed[key]  # type: ignore[no-any-return]

    def context(self) -> list[dict[str, str]]:
        """Return the turns of all context columns, in the order in which the columns were named."""
        turns = [turn for column in self.layout.context for turn in self.turns(column) if not is_prompt(turn)]
        if not turns:
            columns = " and ".join(map(repr, self.layout.context))
            raise InputError(f"{self.place}: the context in {columns} is empty; fill it or remove the row")
        return turns

    def prompt(self) -> str:
        """Return the system prompt among the messages of a context."""
        turns = [turn for column in self.layout.context for turn in self.turns(column)]
        return "\n".join(turn["text"] for turn in turns if is_prompt(turn))

    def reply_meta(self) -> dict[str, Any]:
        """Return what judges may see of a reply: the documents it is based on, and the system prompt."""
        meta: dict[str, Any] = {}
        if self.has("documents"):
            value = look_up(self.values, self.layout.single["documents"])
            documents = parse_list(value) if isinstance(value, str) else value if isinstance(value, list) else None
            meta |= {"documents": documents} if documents else {}
        if self.has("system_prompt") and (prompt := self.text(self.layout.single["system_prompt"])):
            meta["system_prompt"] = self.stripper.prompt(prompt)
        return meta

    def references(self) -> list[Any]:
        """Return the references of all reference columns; blank ones are counted."""
        all_references: list[Any] = []
        for column in self.layout.references:
            value = look_up(self.values, column)
            if isinstance(value, str) and value.lstrip().startswith("[") and not self.is_own:
                value = parse_list(value)
            values = value if isinstance(value, list) else [value]
            if any(isinstance(one, dict) for one in values):
                all_references += values
                continue
            texts = parse_texts(values, column, self.place)
            if len(texts) < len(values):
                self.tally.left_out["empty references"] += len(values) - len(texts)
            all_references += (
                texts if self.is_own else [plain for text in texts if (plain := self.stripper.reply(text))]
            )
        return all_references

    def ratings(
        self, system: str | None, columns: dict[str, RatingColumn], with_names: bool = True
    ) -> Iterator[RatingValues]:
        """Yield the ratings of one reply; ``columns`` remembers how each column is written.

        Without names, it does not matter whether the row says who rated and what.
        """
        for aspect, rated_system, column, column_rater in self.layout.ratings:
            if rated_system != system:
                continue
            cell = look_up(self.values, column)
            reader = columns.setdefault(column, RatingColumn(column))
            entries = cell if isinstance(cell, list) else [cell]
            values = [value for one in entries if (value := reader.read(one, self.place)) is not None]
            if not values:
                if not self.layout.ratings_by_name and not reader.has_ratings:
                    reader.check("leave it out")
                continue
            if self.layout.has_aspect and with_names:
                aspect = self.name("aspect")
            rater = self._rater() if column_rater is None and self.has("rater") and with_names else None
            yield RatingValues(aspect, rater, column_rater, values)

    def _rater(self) -> str:
        column = self.layout.single["rater"]
        name = self.text(column)
        if name is None:
            raise InputError(
                f"{self.place}: has a rating, but {column!r}, which names the raters, is empty; fill it, or read all "
                "ratings as those of people without names with --field rater="
            )
        return self._tidy(name)

    def object(self) -> dict[str, Any]:
        """Return the row as an object of our schema, with the fields that it has."""
        kind = self.layout.kind
        record: dict[str, Any] = {"kind": kind}
        for field in (KEYS[kind] & self.layout.single.keys()) - {"kind"}:
            column = self.layout.single[field]
            value = look_up(self.values, column)
            if field in ("turns", "future"):
                value = self.turns(column)
            elif field == "value":
                value = parse_number(value, column, self.place)
            elif field not in _STRUCTURES:
                value = self.text(column)
            record[field] = value
        if self.layout.context:
            record["context"] = self.context()
        if self.layout.references:
            record["references"] = self.references()
        if kind == "response" and self.layout.replies:
            record["text"] = self.text(self.layout.replies[0][1]) or ""
        return record
