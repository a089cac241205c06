"""One row of a foreign table, asked for our fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rejoinder.data.importers import _cells as cells
from rejoinder.data.importers._base import Tally
from rejoinder.data.importers._columns import Layout
from rejoinder.data.schema import KEYS, Place
from rejoinder.errors import InputError

# Fields that are not text, and so are handed on as they are; the schema checks them.
_STRUCTURES = ("situation", "candidates", "meta", "truncated")


class Value(NamedTuple):
    """What was given to a reply in one aspect; the rater is None where the row does not say it."""

    aspect: str
    rater: str | None
    value: float
    column: str


@dataclasses.dataclass(frozen=True)
class Row:
    """The values of a row, and what its columns hold."""

    values: Mapping[str, Any]
    layout: Layout
    place: Place
    separator: str | None
    tally: Tally

    def text(self, column: str) -> str | None:
        """A cell as text; None where it is blank."""
        return cells.text(cells.lookup(self.values, column), column, self.place)

    def has(self, field: str) -> bool:
        """Whether a column holds the field."""
        return field in self.layout.single

    def name(self, field: str) -> str:
        """An id, or another field that must not be blank."""
        column = self.layout.single[field]
        found = self.text(column)
        if found is None:
            raise InputError(f"{self.place}: {column!r} is empty; it must hold the {field}")
        return found

    def turns(self, column: str) -> list[dict[str, str]]:
        """The turns in a column."""
        return cells.turns(cells.lookup(self.values, column), column, self.place, self.separator)

    def context(self) -> list[dict[str, str]]:
        """The turns of all columns that hold the context, in the order in which the columns were named."""
        found = [turn for column in self.layout.context for turn in self.turns(column)]
        if not found:
            columns = " and ".join(map(repr, self.layout.context))
            raise InputError(f"{self.place}: the context in {columns} is empty; fill it or take the row out")
        return found

    def references(self) -> list[Any]:
        """The references of all columns that hold some; blank ones are counted."""
        found: list[Any] = []
        for column in self.layout.references:
            value = cells.lookup(self.values, column)
            values = value if isinstance(value, list) else [value]
            if any(isinstance(one, dict) for one in values):
                found += values
                continue
            kept = cells.texts(values, column, self.place)
            if len(kept) < len(values):
                self.tally.left_out["empty references"] += len(values) - len(kept)
            found += kept
        return found

    def ratings(self, system: str | None) -> Iterator[Value]:
        """What was given to one reply; a list holds one value a rater."""
        for aspect, of, column in self.layout.ratings:
            if of != system:
                continue
            found = cells.lookup(self.values, column)
            several = found if isinstance(found, list) else None
            for number, one in enumerate([found] if several is None else several, start=1):
                value = cells.number(one, column, self.place)
                if value is None:
                    self.tally.left_out["empty ratings"] += 1
                    continue
                rater = self.name("rater") if several is None and self.has("rater") else None
                yield Value(aspect, f"rater-{number}" if several is not None else rater, value, column)

    def object(self) -> dict[str, Any]:
        """The row as an object of our schema, less what it does not say."""
        kind = self.layout.kind
        found: dict[str, Any] = {"kind": kind}
        for field in (KEYS[kind] & self.layout.single.keys()) - {"kind"}:
            column = self.layout.single[field]
            value = cells.lookup(self.values, column)
            if field in ("turns", "future"):
                value = self.turns(column)
            elif field == "value":
                value = cells.number(value, column, self.place)
            elif field not in _STRUCTURES:
                value = self.text(column)
            found[field] = value
        if self.layout.context:
            found["context"] = self.context()
        if self.layout.references:
            found["references"] = self.references()
        if kind == "response" and self.layout.replies:
            found["text"] = self.text(self.layout.replies[0][1]) or ""
        return found
