"""Rows that repeat a reply: the same row again, another person's rating, or another reply with the same words.

An id or a rater's name tells these apart. Where a table has neither, the user must: the readings give different
numbers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._rows import ForeignRow
from rejoinder.data.schema import Place, from_object
from rejoinder.data.tables.columns import suggest_score
from rejoinder.data.tables.header import is_row_number
from rejoinder.data.tables.rating_cells import RatingColumn, describe_kinds
from rejoinder.errors import InputError
from rejoinder.table import format_count
from rejoinder.types import UNNAMED, Record

_SAME, _APART = "--repeats same", "--repeats apart"
REPEATED_ROWS = "rows that repeat another"


class RepeatedReplies:
    """Rows with the context, system and reply of an earlier row, in a table whose rows have no ids."""

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self._mode = options.repeats
        self._tally = tally
        self._first: Place | None = None
        self._unclear = self._rated = 0

    def are_apart(self, row: ForeignRow) -> bool:
        """Whether such rows are replies of their own; in a table in memory they are, as its rows get scores."""
        return self._mode == "apart" or (self._mode is None and self._tally.rows is not None and not row.has("rater"))

    def add(self, row: ForeignRow, has_name: bool) -> None:
        """Count a row that repeats a reply."""
        if row.layout.ratings:
            self._rated += 1
        else:
            self._tally.left_out[REPEATED_ROWS] += 1
        if self._mode is None and not has_name and not (row.layout.ratings and row.has("rater")):
            self._unclear += 1
            self._first = self._first or row.place

    def count_unrated(self) -> None:
        """Count rows that seemed to repeat a reply for another rating, in a table whose ratings are none."""
        if self._rated:
            self._tally.left_out[REPEATED_ROWS] += self._rated

    def close(self, apart: int) -> None:
        """Raise if nobody said what such rows are; ``apart`` of them were read as replies of their own."""
        if self._first is not None:
            rows = "1 row repeats" if self._unclear == 1 else f"{self._unclear:,} rows repeat"
            raise InputError(
                f"{self._first}: {rows} the context, system and reply of an earlier one, and no column has an id or a "
                f"rater's name; if they are one reply, read them with: {suggest_score(self._first, _SAME)}; if each is "
                f"a reply of its own, with: {suggest_score(self._first, _APART)}"
            )
        if apart:
            rows = "1 row has" if apart == 1 else f"{apart:,} rows have"
            self._tally.remarks.append(
                f"{rows} the context, system and reply of an earlier one and count as replies of their own "
                "(--repeats same counts them once)"
            )


class _Later(NamedTuple):
    """Ratings without a rater's name of a reply that has some already."""

    response: str
    aspect: str
    values: list[float]
    place: Place
    is_copy: bool  # of an earlier row, in every column
    has_name: bool  # of the reply, or of its item


class RatingCollector:
    """The ratings of a table; those of people without names are ``unnamed:1``, ``unnamed:2``, ... of each reply.

    Such a name says nothing across replies: nobody is made up. Copies of a row are no further evidence. Whether equal
    rows are copies, or people who agree, is clear where no row differs; else the user must say.
    """

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self._options = options
        self._tally = tally
        self._columns: dict[str, RatingColumn] = {}
        self.names_raters = False  # whether the column of raters named one of any rating
        self._by_name = False
        self._place: Place | None = None
        self._digests: set[bytes] = set()
        self._values: dict[tuple[str, str, str], float] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._later: list[_Later] = []
        self._copies: set[Place] = set()

    @property
    def has_ratings(self) -> bool:
        """Whether any column holds a rating."""
        return any(column.has_ratings for column in self._columns.values())

    @property
    def unused(self) -> list[str]:
        """The columns that have the name of ratings and hold none."""
        return [name for name, column in self._columns.items() if not column.has_ratings] if self._by_name else []

    def read(self, row: ForeignRow, system: str | None, response: str, has_name: bool) -> Iterator[Record]:
        """Yield the ratings of one reply in a row; ``has_name`` says whether an id tells which reply it is."""
        if not row.layout.ratings:
            return
        self._by_name, self._place = row.layout.ratings_by_name, row.place
        is_copy: bool | None = None
        for aspect, rater, column_rater, values in row.ratings(system, self._columns):
            if self._tally.rows is not None:
                self._tally.rows[row.place.line].ratings.setdefault(aspect, []).extend(values)
            if is_copy is None:
                digest = _digest(row, system)
                is_copy = digest in self._digests
                self._digests.add(digest)
            self.names_raters |= rater is not None
            # Several ratings in one cell are several people's, of whom at most one has the name that the row gives.
            name = None if len(values) > 1 else rater or self._options.rater or column_rater
            if name is None:
                yield from self._add_unnamed(_Later(response, aspect, values, row.place, is_copy, has_name))
                continue
            for value in values:
                if self._is_new(row, (response, aspect, name), value, is_copy, has_name):
                    yield _make_rating(response, name, aspect, value, row.place)

    def skip(self, row: ForeignRow, system: str | None) -> None:
        """Count the ratings of a reply that is left out."""
        number = sum(len(ratings.values) for ratings in row.ratings(system, self._columns, with_names=False))
        if number:
            self._by_name, self._place = row.layout.ratings_by_name, row.place
            self._tally.left_out["ratings of empty replies"] += number

    def _is_new(self, row: ForeignRow, key: tuple[str, str, str], value: float, is_copy: bool, has_name: bool) -> bool:
        """Whether a person with a name rates a reply for the first time; raise where that is unclear."""
        if key not in self._values:
            self._values[key] = value
            return True
        if self._values[key] == value and (is_copy or self._options.repeats == "same"):
            self._copies.add(row.place)
            return False
        if self._values[key] == value and has_name and self._options.repeats is None:
            raise InputError(
                f"{row.place}: {key[2]!r} gave this reply the same rating ({key[1]}) before, in a row that differs in "
                f"other columns; if it is one rating, read them with: {suggest_score(row.place, _SAME)}; if a column "
                "says what was rated, name it with --field aspect=COLUMN"
            )
        if has_name or self._options.repeats is not None or self._options.rater is not None:
            return True  # two ratings by one person, which is an error that names both lines
        raise InputError(
            f"{row.place}: {key[2]!r} rated a reply with this context, system and text before, and no column has an "
            f"id; if each row is a reply of its own, read them with: {suggest_score(row.place, _APART)}; if it is one "
            f"reply, keep one of the ratings, or where they are equal read them with: {suggest_score(row.place, _SAME)}"
        )

    def _add_unnamed(self, ratings: _Later) -> Iterator[Record]:
        if self._counts[ratings.response, ratings.aspect]:
            self._later.append(ratings)
        else:
            yield from self._number(ratings)

    def _number(self, ratings: _Later) -> Iterator[Record]:
        for value in ratings.values:
            self._counts[ratings.response, ratings.aspect] += 1
            number = self._counts[ratings.response, ratings.aspect]
            yield _make_rating(ratings.response, f"{UNNAMED}{number}", ratings.aspect, value, ratings.place)

    def close(self) -> Iterator[ImportedRecord]:
        """Yield the further ratings of people without names; raise if anything about the ratings is unclear."""
        self._check_columns()
        copies = [one for one in self._later if one.is_copy]
        different = len(self._later) > len(copies)
        if copies and different and self._options.repeats is None and copies[0].has_name:
            place = copies[0].place
            raise InputError(
                f"{place}: {format_count(len({one.place for one in copies}), 'row')} with ratings repeat another in "
                "every column, others repeat a reply with another rating, and no column has a rater's name; if equal "
                f"rows are copies, read them with: {suggest_score(place, _SAME)}; if they are ratings of people who "
                f"agree, with: {suggest_score(place, _APART)}"
            )
        for ratings in self._later:
            # Without ids, rows that are equal to one of several different ones are people who agree.
            is_copy = ratings.is_copy and self._options.repeats != "apart" and (ratings.has_name or not different)
            if is_copy:
                self._copies.add(ratings.place)
                continue
            for record in self._number(ratings):
                yield ImportedRecord(record, ratings.place)
        self._report()

    def _check_columns(self) -> None:
        for name, column in self._columns.items():
            if not column.has_ratings and self._by_name:
                continue
            place = self._place or Place("", 0)
            advice = f"leave out the ratings with: {suggest_score(place, '--field rating=')}"
            column.check(advice if self._by_name else "leave this one out")
            if column.blank:
                self._tally.left_out["empty ratings"] += column.blank
            self._tally.columns.setdefault(name, "rating")

    def _report(self) -> None:
        self._tally.notes += describe_kinds(self._columns)
        if self._copies:
            self._tally.left_out["rows that repeat another with the same rating"] += len(self._copies)
        several = len({key[0] for key, number in self._counts.items() if number > 1})
        if several:
            self._tally.remarks.append(
                f"{several:,} {'reply has' if several == 1 else 'replies have'} several ratings without a rater's "
                "name: they are different people's, and nobody is taken for the same person on another reply"
            )


def _make_rating(response: str, rater: str, aspect: str, value: float, place: Place) -> Record:
    return from_object(
        {"kind": "rating", "response": response, "rater": rater, "aspect": aspect, "value": value}, place
    )


def _digest(row: ForeignRow, system: str | None) -> bytes:
    """Return what tells rows apart that differ in any column but one of row numbers."""
    option = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    values = {name: value for name, value in row.values.items() if not is_row_number(name)}
    content = orjson.dumps([values, system], default=str, option=option)
    return hashlib.blake2b(content, digest_size=16).digest()
