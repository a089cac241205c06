"""Which column, or key, holds which of our fields: as the user says, or by its name."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rejoinder.data.schema import KEYS, Place
from rejoinder.data.tables.rating_columns import (
    ASPECT_NAMES,
    PLAIN_NAMES,
    RATER_NAMES,
    RATING,
    RatingSource,
    describe_sources,
    find_doubles,
    find_rating_columns,
    fold_name,
    is_general,
)
from rejoinder.errors import InputError, SpecError, brief, nearest

META_FIELDS = frozenset({"documents", "system_prompt"})  # of a reply: they go to its meta, for judges
_SINGLE_FIELDS = (frozenset(key for keys in KEYS.values() for key in keys) | META_FIELDS) - {"context", "references"}
_REPEATABLE_FIELDS = frozenset({"context", "reference", "references", "rating"})
_FIELD_PREFIXES = ("response:", "rating:")
_LONGEST_LIST = 300
_WORDS = {"response": "reply"}  # what a message calls a field
_PATTERN = re.compile(r"[*?,]")  # of several columns
_REPEATED = re.compile(r"\.\d+\Z")  # a second column of one name

# What people call the columns of a field. Case, spaces, hyphens and underscores make no difference.
ALIASES: dict[str, tuple[str, ...]] = {
    "context": (
        *("prompt", "question", "input", "query", "context", "history", "messages", "instruction", "user_input"),
        *("chat_history", "conversation_history", "dialogue_history", "previous_turns", "user_message"),
    ),
    "response": ("response", "answer", "output", "completion", "reply", "prediction", "actual_output"),
    "system": ("model", "system", "bot", "version"),
    "reference": (
        *("reference", "expected", "ground_truth", "ideal", "expected_output", "expected_answer", "expected_response"),
        *("gold", "gold_answer", "gold_response", "golden_answer", "correct_answer", "reference_answer"),
        *("reference_output", "ground_truths", "ideal_answer"),
    ),
    "id": ("id",),
    "dialogue": ("conversation_id", "thread", "ticket", "dialogue"),
    "rating": PLAIN_NAMES,
    "rater": RATER_NAMES,
    "aspect": ASPECT_NAMES,
    "documents": ("documents", "contexts", "retrieved_contexts", "retrieval_context"),
    "system_prompt": ("system_prompt",),
}


_EARLIER_TURNS = frozenset(("history", "chathistory", "conversationhistory", "dialoguehistory", "previousturns"))
_LAST_TURN = frozenset(("input", "question", "query", "prompt", "userinput", "usermessage"))


_FIELD_BY_ALIAS = {fold_name(alias): field for field, aliases in ALIASES.items() for alias in aliases}
_OWN_NAMES = {fold_name(name): name for name in (_SINGLE_FIELDS | {"references"}) - ALIASES.keys()}


def find_aliases(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns that hold each of our fields by their names."""
    columns_by_field: dict[str, list[str]] = {}
    for column in columns:
        name = fold_name(_REPEATED.sub("", str(column)))
        field = _FIELD_BY_ALIAS.get(name) or _OWN_NAMES.get(name)
        if field is not None:
            columns_by_field.setdefault(field, []).append(column)
    return columns_by_field


def holds_replies(columns: Iterable[str]) -> bool:
    """Whether a table has columns for replies, and for what they answer, by their names."""
    fields = find_aliases(columns)
    return bool(fields.keys() & {"response", "text"} and fields.keys() & {"context", "reference", "references"})


@dataclasses.dataclass(frozen=True)
class Layout:
    """What the columns of a row hold; kind "flat" is a reply beside its context, any other a kind of record."""

    kind: str
    single: Mapping[str, str]
    context: tuple[str, ...]
    references: tuple[str, ...]
    # The system (None if a column or an option names it) and the column of its reply.
    replies: tuple[tuple[str | None, str], ...]
    ratings: tuple[RatingSource, ...]
    # Whether the columns of ratings were found by their names; a cell that is not a rating is then left out.
    ratings_by_name: bool = False
    # Whether the names of these columns say nothing about the aspect, so that a column of aspects does.
    aspect_is_open: bool = False
    # Columns that hold no field, and by which replies may be grouped.
    meta: tuple[str, ...] = ()

    @property
    def names_dialogue(self) -> bool:
        """Whether the id of a dialogue in one row comes from the column "dialogue"."""
        return self.kind == "dialogue" and "dialogue" in self.single and "id" not in self.single

    @property
    def has_rater(self) -> bool:
        """Whether a column names who gave the ratings of a row."""
        return "rater" in self.single and any(source.rater is None for source in self.ratings)

    @property
    def has_aspect(self) -> bool:
        """Whether a column names the aspect of the rating in a row."""
        return "aspect" in self.single and self.aspect_is_open

    def fields(self) -> dict[str, tuple[str, ...]]:
        """Return our fields that are made from a row, each with its columns."""
        wide = any(system is not None for system, _ in self.replies)
        if self.kind == "flat":
            # A row without a context only refers to its item.
            names = {"item", "id"} | ({"dialogue", "future"} if self.context else set())
            names |= ({"rater"} if self.has_rater else set()) | ({"aspect"} if self.has_aspect else set())
            names |= (set() if wide else {"system"}) | META_FIELDS
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
        for source in self.ratings:
            name = f"rating:{source.aspect}" + (f":{source.system}" if wide else "")
            name = RATING if self.has_aspect else name
            columns_by_field[name] = (*columns_by_field.get(name, ()), source.column)
        return {name: columns for name, columns in columns_by_field.items() if columns}

    def roles(self) -> dict[str, str]:
        """Return each column that is read, with the field that it holds."""
        roles = {column: field for field, columns in self.fields().items() for column in columns}
        roles |= {one.column: f"{roles[one.column]} by {one.rater}" for one in self.ratings if one.rater is not None}
        return {
            column: {"text": "response", "references": "reference"}.get(role, role) for column, role in roles.items()
        }


class Columns:
    """The columns that a user named; others are found by their names (``ALIASES``), which ``NAME=`` prevents."""

    def __init__(self, fields: tuple[tuple[str, str], ...]) -> None:
        self._columns_by_field: dict[str, list[str]] = {}
        self._patterns: dict[str, list[str]] = {}
        for ours, theirs in fields:
            _check_name(ours)
            columns = self._columns_by_field.setdefault(ours, [])
            if columns and ours not in _REPEATABLE_FIELDS and not ours.startswith("rating:"):
                raise SpecError(f"--field {ours}= is given twice ({columns[0]!r} and {theirs!r}); keep one of the two")
            if theirs:
                columns.append(theirs)
            if ours.startswith(RATING) and _PATTERN.search(theirs):
                self._patterns.setdefault(ours, []).append(theirs)

    def expand(self, known: Iterable[str]) -> None:
        """Replace patterns and lists of columns, as in ``rating:quality=rater_*``, by the columns that they mean."""
        columns = list(known)
        for ours, patterns in self._patterns.items():
            for pattern in [one for one in patterns if one not in columns]:
                matches = _match_columns(pattern, columns)
                if matches:
                    rest = [column for column in self._columns_by_field[ours] if column != pattern]
                    self._columns_by_field[ours] = list(dict.fromkeys([*rest, *matches]))

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
        kind = row.get("kind")
        if isinstance(kind, str) and kind in KEYS:
            return (ours,) if ours in row else ()
        if ours == RATING:
            return ()  # found by ``_find_ratings``
        return tuple(self._find_aliases(row).get(ours, ()))

    def needed(self, columns: Iterable[str]) -> list[str]:
        """Return the columns of a file that may hold one of our fields."""
        named = {part for column in self.user_columns for part in (column, column.partition(".")[0])}
        columns = list(columns)
        by_name = {column for found in find_aliases(columns).values() for column in found}
        rated = {source.column for sources in find_rating_columns(columns) for source in sources}
        if (
            rated
            or "value" in find_aliases(columns)
            or any(ours.startswith("rating") for ours in self._columns_by_field)
        ):
            return columns  # whether a rating is a copy of another is decided by all columns
        return [column for column in columns if column in named | by_name]

    def layout(self, row: Mapping[str, Any], place: Place, columns: Iterable[str]) -> Layout:
        """Return what the columns of a row hold; the file may have more ``columns`` than are read."""
        context = _order_context(self.columns_of("context", row), "context" in self._columns_by_field)
        replies = self._replies(row, place)
        references = self.columns_of("reference", row) + self.columns_of("references", row)
        single = {name: holders[0] for name in sorted(_SINGLE_FIELDS) if (holders := self.columns_of(name, row))}
        parts = {"context": bool(context), "response": bool(replies), "reference": bool(references)}
        kind = _infer_kind(row, single, parts, place, tuple(columns))
        wide = bool(replies) and replies[0][0] is not None
        ratings = self._ratings(row, wide)
        by_name = not ratings and kind == "flat" and not wide and RATING not in self._columns_by_field
        if by_name:
            ratings = self._find_ratings(row, single, place)
        if kind not in KEYS or not isinstance(row.get("kind"), str):
            self._refuse_ambiguity(row, place, columns, bool(ratings))
        for source in ratings:
            if kind != "flat":
                raise InputError(
                    f"{place}: --field rating:{source.aspect} needs a reply; name its column with --field response="
                )
            if wide and source.system not in {name for name, _ in replies}:
                known = " or ".join(f"rating:{source.aspect}:{name}" for name, _ in replies)
                raise SpecError(f"--field rating:{source.aspect} must say whose reply was rated; write {known}")
        unnamed = len(ratings) == 1 and bool(self._columns_by_field.get(RATING))
        is_open = unnamed or (by_name and bool(ratings) and all(map(is_general, ratings)))
        return Layout(kind, single, context, references, replies, tuple(ratings), by_name, is_open)

    def _find_aliases(self, row: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the columns of a row that hold our fields by their names, without those that the user named."""
        named = {part for column in self.user_columns for part in (column, column.partition(".")[0])}
        return find_aliases(column for column in row if column not in named)

    def _refuse_ambiguity(self, row: Mapping[str, Any], place: Place, columns: Iterable[str], rated: bool) -> None:
        """Raise if two columns could hold one field."""
        wide = any(name.startswith("response:") for name in self._columns_by_field)
        settled = {RATING} | (set() if rated else {"rater", "aspect"})
        for field, found in self._find_aliases(row).items():
            named = field in self._columns_by_field or (wide and field in ("response", "text"))
            if len(found) < 2 or named or field in settled or (field == "context" and _holds_history(found)):
                continue
            choice = [_choose(field, found)]
            if field == "context" and fold_name(found[0]) in ("history", "instruction"):
                choice = found[:2]  # what was said or told earlier, and the last turn
            options = " ".join(f"--field {shlex.quote(f'{field}={column}')}" for column in choice)
            raise InputError(
                f"{place.file}: {len(found)} columns could hold the {_WORDS.get(field, field)}: {', '.join(found)} "
                f"(found: {brief(', '.join(map(str, columns)), 120)}); name the right one, for example: "
                f"{suggest_score(place, options)}"
            )

    def _ratings(self, row: Mapping[str, Any], wide: bool) -> list[RatingSource]:
        """Return the ratings whose columns the user named; several columns of one aspect are several raters."""
        ratings = [
            _parse_rating_field(ours, column, wide)
            for ours in self._columns_by_field
            if ours.startswith("rating:")
            for column in self.columns_of(ours, row)
        ]
        unnamed = self._columns_by_field.get(RATING, ())
        ratings += [RatingSource(column, None, column) for column in unnamed if has_column(column, row)]
        number = Counter((source.aspect, source.system) for source in ratings)
        return [
            source._replace(rater=source.column) if number[source.aspect, source.system] > 1 else source
            for source in ratings
        ]

    def _find_ratings(self, row: Mapping[str, Any], single: Mapping[str, str], place: Place) -> list[RatingSource]:
        """Return the ratings whose columns have the usual names."""
        named = {part for column in self.user_columns for part in (column, column.partition(".")[0])}
        used = {column for column in single.values() if column in row}
        columns = [column for column in row if column not in named | used]
        plain, by_rater = find_rating_columns(columns)
        if "value" in single and single.keys() & {"rater", "aspect"} and ("aspect" in single or not plain + by_rater):
            plain.append(RatingSource("value", None, single["value"]))
        both = {one.aspect for one in by_rater} & {RATING if is_general(one) else one.aspect for one in plain}
        if both:
            raise InputError(
                f"{place.file}: has ratings by several raters ({describe_sources(by_rater)}) and one more column of "
                f"ratings ({describe_sources(plain)}), which may be their mean or another rater's; name the columns "
                f"to use: {suggest_score(place, '--field rating:quality=COLUMN,COLUMN')}"
            )
        if "aspect" in single and plain + by_rater:
            _check_beside_aspect(single["aspect"], plain, by_rater, place)
        doubles = find_doubles(plain, by_rater)
        if doubles:
            raise InputError(
                f"{place.file}: {len(doubles)} columns could hold the same ratings: {describe_sources(doubles)}; if "
                f"one does, name it: {suggest_score(place, '--field rating=COLUMN')}; if each holds those of one "
                "rater, name them with --field rating:quality=COLUMN,COLUMN; if each holds an aspect, with "
                "--field rating:ASPECT=COLUMN for each"
            )
        if plain and plain[-1].aspect == "value":
            plain[-1] = plain[-1]._replace(aspect=RATING)
        return plain + by_rater

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


def _check_beside_aspect(
    aspect: str, plain: Sequence[RatingSource], by_rater: Sequence[RatingSource], place: Place
) -> None:
    """Raise if it is unclear which column holds the ratings whose aspect another column names."""
    sources = [*plain, *by_rater]
    if all(map(is_general, sources)) and (len(plain) == 1) != bool(by_rater):
        return
    if len(sources) == 1:
        problem = f"{sources[0].column!r} holds ratings of an aspect of its own"
    else:
        problem = f"{len(sources)} columns could hold its ratings: {describe_sources(sources)}"
    raise InputError(
        f"{place.file}: the column {aspect!r} names an aspect, and {problem}; name the right one: "
        f"{suggest_score(place, '--field rating=COLUMN')}, or leave out the aspect with --field aspect="
    )


def _choose(field: str, columns: list[str]) -> str:
    """Return the column to suggest: the usual name of a field, or of several replies the one of a system."""
    names = [fold_name(alias) for alias in ALIASES.get(field, ())]
    ranks = {column: names.index(fold_name(column)) if fold_name(column) in names else 0 for column in columns}
    return (max if field == "response" else min)(columns, key=ranks.__getitem__)


def suggest_score(place: Place, options: str) -> str:
    """Return the command that reads a file with further options; for a table in memory, the argument."""
    if is_in_memory(place):
        return _write_as_argument(options)
    name = "-" if place.file == "<stdin>" else shlex.quote(place.file)
    return f"rejoinder score {name} {options}"


def suggest_import(place: Place, options: str, name: str = "") -> str:
    """Return the command that converts a file with further options; for a table in memory, the argument."""
    if is_in_memory(place):
        return _write_as_argument(options)
    file = "-" if place.file == "<stdin>" else shlex.quote(place.file)
    return f"rejoinder import {name + ' ' if name else ''}{file} {options}"


def is_in_memory(place: Place) -> bool:
    """Whether a place is in a table in memory and not in a file."""
    return place.file.startswith("<") and place.file != "<stdin>" and place.file != "<pipe>"


def _write_as_argument(options: str) -> str:
    """Return options as they are typed on the command line in Python."""
    arguments: dict[str, Any] = {}
    words = iter(shlex.split(options))
    for flag in words:
        name = flag.removeprefix("--")
        if name == "chain":
            arguments[name] = True
            continue
        value = next(words)
        if name == "field":
            arguments.setdefault("fields", []).append(tuple(value.split("=", 1)))
        elif name == "bot":
            arguments["bots"] = (value,)
        else:
            arguments[name.replace("-", "_")] = value
    inside = ", ".join(
        f"{name}={tuple(value) if isinstance(value, list) else value!r}" for name, value in arguments.items()
    )
    return f"options=rejoinder.data.ImportOptions({inside})"


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


def _parse_rating_field(ours: str, column: str, wide: bool) -> RatingSource:
    aspect = ours.partition(":")[2]
    if not wide:
        return RatingSource(aspect, None, column)
    aspect, _, system = aspect.partition(":")
    return RatingSource(aspect, system or None, column)


def _holds_history(columns: Sequence[str]) -> bool:
    """Whether two columns hold the earlier turns and the last one."""
    names = {fold_name(column) for column in columns}
    return len(columns) == 2 and len(names & _EARLIER_TURNS) == 1 and len(names & _LAST_TURN) == 1


def _order_context(columns: tuple[str, ...], named: bool) -> tuple[str, ...]:
    """Return a column of earlier turns before that of the last one, where a table has both."""
    if named or not _holds_history(columns):
        return columns
    return tuple(sorted(columns, key=lambda column: fold_name(column) not in _EARLIER_TURNS))


def _match_columns(pattern: str, known: Sequence[str]) -> list[str]:
    """Return the columns that a pattern (rater_*) or a list (ann,ben) means."""
    if "," in pattern:
        return [name for part in pattern.split(",") for name in _match_columns(part.strip(), known)]
    return [name for name in known if name == pattern or fnmatch.fnmatchcase(str(name), pattern)]


def _infer_kind(
    row: Mapping[str, Any],
    single: Mapping[str, str],
    parts: Mapping[str, bool],
    place: Place,
    columns: tuple[str, ...],
) -> str:
    kind_value = row.get(single["kind"]) if "kind" in single else None
    if isinstance(kind_value, str) and kind_value in KEYS:
        return kind_value
    if parts["response"] and (parts["context"] or parts["reference"] or "item" in single):
        return "flat"
    for kind, key in (
        ("rating", "value"),
        ("preference", "choice"),
        ("question", "candidates"),
        ("dialogue", "turns"),
    ):
        if key in single:
            return kind
    if parts["context"] and not parts["response"]:
        return "item"
    raise InputError(_explain_missing(parts, place, columns))


def _explain_missing(parts: Mapping[str, bool], place: Place, columns: tuple[str, ...]) -> str:
    """Return what is missing in a table, and how to name the columns that hold it."""
    missing = [field for field in ("context", "response") if not parts[field]]
    words = " or ".join(f"the {_WORDS.get(field, field)}" for field in missing)
    problem = f"{place}: no column holds {words} (found: {brief(', '.join(map(str, columns)) or 'none', 120)})"
    known = {column for found in find_aliases(columns).values() for column in found}
    if sum(column not in known for column in columns) < len(missing):
        name = "prompt" if missing[0] == "context" else "response"
        return f"{problem}; add a column {name!r}; see what can be read with: rejoinder list importers"
    options = " ".join(f"--field {field}=COLUMN" for field in missing)
    return f"{problem}; name it: {suggest_score(place, options)}"
