"""Which column, or key, holds which of our fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from rejoinder.data.schema import KEYS, Place
from rejoinder.errors import InputError, SpecError, brief, nearest

_SINGLE_FIELDS = frozenset(key for keys in KEYS.values() for key in keys) - {"context", "references"}
_REPEATABLE_FIELDS = frozenset({"context", "reference", "references"})
_FIELD_PREFIXES = ("response:", "rating:")
_LONGEST_LIST = 300


@dataclasses.dataclass(frozen=True)
class Layout:
    """What the columns of a row hold; kind "flat" is a reply beside its context, any other a kind of record."""

    kind: str
    single: Mapping[str, str]
    context: tuple[str, ...]
    references: tuple[str, ...]
    # The system (None if a column or an option names it) and the column of its reply.
    replies: tuple[tuple[str | None, str], ...]
    # The aspect, the system (None if there is one reply per row) and the column of the value.
    ratings: tuple[tuple[str, str | None, str], ...]

    @property
    def names_dialogue(self) -> bool:
        """Whether the id of a dialogue in one row comes from the column "dialogue"."""
        return self.kind == "dialogue" and "dialogue" in self.single and "id" not in self.single

    def fields(self) -> dict[str, tuple[str, ...]]:
        """Return our fields that are made from a row, each with its columns."""
        wide = any(system is not None for system, _ in self.replies)
        if self.kind == "flat":
            # A row without a context only refers to its item.
            names = {"item", "id"} | ({"dialogue", "future"} if self.context else set())
            names |= ({"rater"} if self.ratings else set()) | (set() if wide else {"system"})
            names -= {"id"} if wide and "item" in self.single else set()
        else:
            names = set(KEYS[self.kind]) | ({"item"} if self.kind == "item" else set())
            names |= {"dialogue"} if self.names_dialogue else set()
        columns_by_field: dict[str, tuple[str, ...]] = {
            name: (self.single[name],) for name in names - {"text"} if name in self.single
        }
        if self.context:
            columns_by_field |= {"context": self.context, "reference": self.references, "references": self.references}
        if self.kind in ("flat", "response"):
            columns_by_field |= {
                f"response:{system}": (column,) for system, column in self.replies if system is not None
            }
            unnamed = tuple(column for system, column in self.replies if system is None)
            columns_by_field |= {"response": unnamed, "text": unnamed}
        for aspect, system, column in self.ratings:
            name = f"rating:{aspect}" + (f":{system}" if wide else "")
            columns_by_field[name] = (*columns_by_field.get(name, ()), column)
        return {name: columns for name, columns in columns_by_field.items() if columns}


class Columns:
    """The columns that a user named; columns with our own names are used by default, which ``NAME=`` prevents."""

    def __init__(self, fields: tuple[tuple[str, str], ...]) -> None:
        self._columns_by_field: dict[str, list[str]] = {}
        for ours, theirs in fields:
            _check_name(ours)
            columns = self._columns_by_field.setdefault(ours, [])
            if columns and ours not in _REPEATABLE_FIELDS and not ours.startswith("rating:"):
                raise SpecError(f"--field {ours}= is given twice ({columns[0]!r} and {theirs!r}); keep one of the two")
            if theirs:
                columns.append(theirs)

    @property
    def user_columns(self) -> list[str]:
        """All columns that the user named."""
        return [column for columns in self._columns_by_field.values() for column in columns]

    @property
    def fields(self) -> dict[str, str]:
        """Each field of ours for which the user named a column, with its first column."""
        return {ours: columns[0] for ours, columns in self._columns_by_field.items() if columns}

    def columns_of(self, ours: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns that hold one of our fields in a row."""
        columns = self._columns_by_field.get(ours)
        if columns is not None:
            return tuple(column for column in columns if has_column(column, row))
        return (ours,) if ours in row else ()

    def layout(self, row: Mapping[str, Any], place: Place, columns: Iterable[str]) -> Layout:
        """Return what the columns of a row hold; the file may have more ``columns`` than are read."""
        context = self.columns_of("context", row)
        replies = self._replies(row, place)
        single = {name: holders[0] for name in sorted(_SINGLE_FIELDS) if (holders := self.columns_of(name, row))}
        kind = _infer_kind(row, single, bool(context), bool(replies), place, columns)
        wide = bool(replies) and replies[0][0] is not None
        ratings = [
            _parse_rating_field(ours, column, wide)
            for ours in self._columns_by_field
            if ours.startswith("rating:")
            for column in self.columns_of(ours, row)
        ]
        for aspect, system, _ in ratings:
            if kind != "flat":
                raise InputError(
                    f"{place}: --field rating:{aspect} needs a reply; name its column with --field response="
                )
            if wide and system not in {name for name, _ in replies}:
                known = " or ".join(f"rating:{aspect}:{name}" for name, _ in replies)
                raise SpecError(f"--field rating:{aspect} must say whose reply was rated; write {known}")
        references = self.columns_of("reference", row) + self.columns_of("references", row)
        return Layout(kind, single, context, references, replies, tuple(ratings))

    def _replies(self, row: Mapping[str, Any], place: Place) -> tuple[tuple[str | None, str], ...]:
        wide = [name for name in self._columns_by_field if name.startswith("response:")]
        if wide:
            return tuple((name.partition(":")[2], column) for name in wide for column in self.columns_of(name, row))
        holders = self.columns_of("response", row) + self.columns_of("text", row)
        user_fields = [name for name in ("response", "text") if self._columns_by_field.get(name)]
        if len(holders) > 1 and len(user_fields) == 2:
            raise InputError(f"{place}: both {holders[0]!r} and {holders[1]!r} are named as the reply; name one")
        # A column that the user named goes before one that only has our name.
        columns = self.columns_of(user_fields[0], row) if user_fields else holders
        return ((None, columns[0]),) if columns else ()


def has_column(column: str, row: Mapping[str, Any]) -> bool:
    """Whether a row has the column, or the first part of a path into it."""
    return column in row or column.partition(".")[0] in row


def nearest_column(column: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the columns most like one, limited in length."""
    hint = nearest(column, [" ".join(name.split())[:60] for name in known])
    return hint if len(hint) <= _LONGEST_LIST else hint[: _LONGEST_LIST - 1] + "…"


def _check_name(ours: str) -> None:
    if (
        ours in _SINGLE_FIELDS
        or ours in _REPEATABLE_FIELDS
        or (ours.startswith(_FIELD_PREFIXES) and ours.partition(":")[2].strip())
    ):
        return
    known = (_SINGLE_FIELDS | _REPEATABLE_FIELDS | {"response:SYSTEM", "rating:ASPECT"}) - {
        "kind",
        "references",
        "meta",
    }
    raise SpecError(f"--field {ours}= is not one of our fields; {nearest(ours, known)}")


def _parse_rating_field(ours: str, column: str, wide: bool) -> tuple[str, str | None, str]:
    aspect = ours.partition(":")[2]
    if not wide:
        return aspect, None, column
    aspect, _, system = aspect.partition(":")
    return aspect, system or None, column


def _infer_kind(
    row: Mapping[str, Any],
    single: Mapping[str, str],
    context: bool,
    reply: bool,
    place: Place,
    columns: Iterable[str],
) -> str:
    kind_value = row.get(single["kind"]) if "kind" in single else None
    if isinstance(kind_value, str) and kind_value in KEYS:
        return kind_value
    if reply and (context or "item" in single):
        return "flat"
    for kind, key in (
        ("rating", "value"),
        ("preference", "choice"),
        ("question", "candidates"),
        ("dialogue", "turns"),
    ):
        if key in single:
            return kind
    listing = f"found: {brief(', '.join(map(str, columns)) or 'none', 120)}"
    if reply:
        raise InputError(f"{place}: no column holds the context ({listing}); name it with --field context=COLUMN")
    if context:
        return "item"
    raise InputError(
        f"{place}: no column holds the context or the reply ({listing}); "
        "name them with --field context=COLUMN and --field response=COLUMN"
    )
