"""Ratings in CSV by the ids of the replies, as ``next --for estimate`` writes them and people fill them in.

The rules are those of all tables of ratings: one way of writing per column, nobody is made up, copies of a row count
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rejoinder.data.importers import ImportTally
from rejoinder.data.inputs import announce_import
from rejoinder.data.schema import Place
from rejoinder.data.tables.rating_cells import RatingColumn
from rejoinder.data.tables.rating_columns import ASPECT_NAMES, PLAIN_NAMES, RATER_NAMES, fold_name
from rejoinder.data.tables.spreadsheet import decode_spreadsheet
from rejoinder.errors import InputError
from rejoinder.paths import printable
from rejoinder.types import UNNAMED, Rating

PROBABILITY, DRAWN = "probability", "drawn"
_SHOWN = ("reply", "context", "question", "system", "item", "dialogue", "strata", "why", "priority")  # for the raters
_COPIES = "rows that repeat another"


def read_rating_table(path: Path) -> list[Rating]:
    """Return the ratings of a CSV file with the columns ``response`` and ``rating``; what was not used is said."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a file with ratings") from None
    tally = ImportTally()
    try:
        ratings = list(_read_rows(content, printable(path), tally))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    announce_import(printable(path), "csv", tally)
    return ratings


def _read_rows(content: bytes, name: str, tally: ImportTally) -> Iterator[Rating]:
    rows = list(decode_spreadsheet(content, ("response",)))
    columns = {fold_name(column): column for column in rows[0][1]} if rows else {}
    value, rater, aspect = (_find(columns, names) for names in ((*PLAIN_NAMES, "value"), RATER_NAMES, ASPECT_NAMES))
    if rows and value is None:
        raise InputError(f"the table has no column 'rating'; found: {', '.join(rows[0][1])}")
    used = {"response", value, rater, aspect, PROBABILITY, DRAWN}
    tally.unused = {column for column in columns.values() if column not in used and fold_name(column) not in _SHOWN}
    tally.note_columns({c: f for c, f in ((value, "rating"), (rater, "rater"), (aspect, "aspect")) if c is not None})
    cells = RatingColumn(value or "rating")
    first: dict[tuple[str, ...], tuple[float, int]] = {}
    copies: set[tuple[str, ...]] = set()
    unnamed: Counter[tuple[str, str]] = Counter()
    unnamed_copy: int | None = None
    for line, row in rows:
        number = cells.read(row[value or ""], Place(name, line))
        if number is None:
            continue
        what = row["response"], (row.get(aspect or "") or "rating").strip()
        person = (row.get(rater or "") or "").strip()
        content_of_row = tuple(row.values())
        if content_of_row in copies:
            tally.left_out[_COPIES] += 1
            unnamed_copy = unnamed_copy or (None if person else line)
            continue
        copies.add(content_of_row)
        if person:
            before = first.setdefault((*what, person), (number, line))
            if before[1] != line:
                raise InputError(
                    f"line {line}: {person!r} already rated {what[0]!r} in line {before[1]}; keep one of the two"
                )
        else:
            unnamed[what] += 1
            person = f"{UNNAMED}{unnamed[what]}"
        yield Rating(person, what[1], number, what[0], meta=_read_meta(row, line))
    cells.check("leave it empty")
    if unnamed_copy is not None and max(unnamed.values()) > 1:
        raise InputError(
            f"line {unnamed_copy}: repeats another row in every column, while other rows rate a reply again in another "
            "way, so it may be a copy or a person who agrees; add a column 'rater', or remove the copies"
        )
    if cells.blank:
        tally.left_out["empty ratings"] += cells.blank


def _find(columns: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((columns[fold_name(name)] for name in names if fold_name(name) in columns), None)


def _read_meta(row: Mapping[str, str], line: int) -> dict[str, Any]:
    meta: dict[str, Any] = {DRAWN: row[DRAWN]} if row.get(DRAWN) else {}
    if row.get(PROBABILITY):
        try:
            meta[PROBABILITY] = float(row[PROBABILITY].replace(",", "."))
        except ValueError:
            raise InputError(f"line {line}: the probability {row[PROBABILITY]!r} is not a number") from None
    return meta
