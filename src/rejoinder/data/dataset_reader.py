"""Reading the formats that sets are published in; every error names the file and the row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.reader import InputFile, decode_json_line
from rejoinder.errors import InputError, brief
from rejoinder.types import Turn


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One object of a published file and its place; each method returns a field of one type, or raises."""

    fields: Mapping[str, Any]
    place: str

    def text(self, key: str) -> str:
        """A string that is not blank, unchanged."""
        value = self.fields.get(key)
        if not isinstance(value, str) or not value or value.isspace():
            raise self.wrong(key, "a non-empty string")
        return value

    def string(self, key: str) -> str:
        """A string that may be empty."""
        value = self.fields.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def whole(self, key: str) -> int:
        """A whole number, not negative."""
        value = self.fields.get(key)
        if type(value) is not int or value < 0:
            raise self.wrong(key, "a whole number")
        return value

    def number(self, key: str) -> float:
        """A finite number, or one written as a string."""
        raw = self.fields.get(key)
        try:
            if isinstance(raw, bool) or not isinstance(raw, int | float | str):
                raise ValueError
            value = float(raw)
        except ValueError:
            raise self.wrong(key, "a number") from None
        if not math.isfinite(value):
            raise self.wrong(key, "a number")
        return value

    def values(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self.fields.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of strings that are not blank, at least one."""
        values = self.strings(key)
        if not values or any(not s or s.isspace() for s in values):
            raise self.wrong(key, "a list of non-empty strings")
        return values

    def strings(self, key: str) -> list[str]:
        """A list of strings, some of which may be blank."""
        values = self.values(key)
        if not all(isinstance(s, str) for s in values):
            raise self.wrong(key, "a list of strings")
        return values

    def wholes(self, key: str) -> list[int]:
        """A list of whole numbers."""
        values = self.values(key)
        if not all(type(n) is int for n in values):
            raise self.wrong(key, "a list of whole numbers")
        return values

    def row(self, key: str) -> DatasetRow:
        """An object inside this one."""
        value = self.fields.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return DatasetRow(value, self.place)

    def rows(self, key: str) -> list[DatasetRow]:
        """A list of objects inside this one."""
        values = self.values(key)
        if not all(isinstance(o, dict) for o in values):
            raise self.wrong(key, "a list of objects")
        return [DatasetRow(o, self.place) for o in values]

    def wrong(self, key: str, expected: str) -> InputError:
        """Return the error that says what a field must be and what it holds."""
        actual = f"found {brief(self.fields[key])}" if key in self.fields else "it is missing"
        return InputError(f"{self.place}: {brief(key)} must be {expected}, {actual}")


def read_json_list(path: Path) -> Iterator[DatasetRow]:
    """Yield the objects of a file that is one JSON list; rows are counted from 1."""
    try:
        values = orjson.loads(_read_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path.name}: not valid JSON ({error.msg} at line {error.lineno})") from None
    if not isinstance(values, list):
        raise InputError(f"{path.name}: must be a JSON list of objects")
    for number, value in enumerate(values, start=1):
        yield _make_row(value, f"{path.name} row {number}")


def read_json_lines(path: Path) -> Iterator[DatasetRow]:
    """Yield the objects of a file with one per line."""
    for line in InputFile(path).lines():
        yield _make_row(decode_json_line(line), str(line.place))


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the non-blank lines of a text file, each after its place."""
    text = _read_text(path)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path.name} line {number}", line.rstrip("\r")


def read_csv_rows(path: Path, width: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a CSV file without a header, each after its place; all must have ``width`` cells."""
    reader = csv.reader(io.StringIO(_read_text(path), newline=""))
    try:
        for cells in reader:
            if not cells:
                continue
            place = f"{path.name} line {reader.line_num}"
            if len(cells) != width:
                raise InputError(f"{place}: has {len(cells)} cells instead of {width}")
            yield place, cells
    except csv.Error as error:
        raise InputError(f"{path.name} line {reader.line_num}: not valid CSV ({error})") from None


def parse_decimal(text: str, place: str) -> float:
    """Return the finite number in a cell."""
    return DatasetRow({"cell": text}, place).number("cell")


def alternate_speakers(texts: Iterable[str]) -> tuple[Turn, ...]:
    """Return the turns of two speakers, A and B, who alternate."""
    return tuple(Turn(text.strip(), "AB"[i % 2]) for i, text in enumerate(texts))


def pick_by_index(values: Sequence[str], index: int, row: DatasetRow, key: str) -> str:
    """Return one of ``values`` by an index that was read from a file."""
    if not 0 <= index < len(values):
        raise row.wrong(key, f"below {len(values)}")
    return values[index]


def _make_row(value: object, place: str) -> DatasetRow:
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be a JSON object, found {brief(value)}")
    return DatasetRow(value, place)


def _read_text(path: Path) -> str:
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: not UTF-8 at byte {error.start + 1}; get it again") from None


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
