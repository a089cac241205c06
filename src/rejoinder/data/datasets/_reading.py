"""Reading the formats that sets are published in; every error names the file and the row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import orjson

from rejoinder.data.datasets._row import Row
from rejoinder.data.reading import Source, decode
from rejoinder.errors import InputError, brief
from rejoinder.types import Turn


def json_list(path: Path) -> Iterator[Row]:
    """The objects of a file that is one JSON list; they are counted from 1."""
    try:
        found = orjson.loads(_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path.name}: not valid JSON ({error.msg} at line {error.lineno})") from None
    if not isinstance(found, list):
        raise InputError(f"{path.name}: must be a JSON list of objects")
    for number, value in enumerate(found, start=1):
        yield _row(value, f"{path.name} row {number}")


def json_lines(path: Path) -> Iterator[Row]:
    """The objects of a file that has one a line."""
    for line in Source(path).lines():
        yield _row(decode(line), str(line.place))


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text file that are not blank, each with its place."""
    text = _text(path)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path.name} line {number}", line.rstrip("\r")


def csv_rows(path: Path, width: int) -> Iterator[tuple[str, list[str]]]:
    """The rows of a CSV file without a header, each with its place; all must have ``width`` cells."""
    reader = csv.reader(io.StringIO(_text(path), newline=""))
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


def decimal(text: str, place: str) -> float:
    """The finite number in a cell."""
    return Row({"cell": text}, place).number("cell")


def alternate(texts: Iterable[str]) -> tuple[Turn, ...]:
    """Turns of two speakers, A and B, who take turns."""
    return tuple(Turn(text.strip(), "AB"[i % 2]) for i, text in enumerate(texts))


def at(values: Sequence[str], index: int, row: Row, key: str) -> str:
    """One of ``values`` by an index that came from a file."""
    if not 0 <= index < len(values):
        raise row.wrong(key, f"below {len(values)}")
    return values[index]


def _row(value: object, place: str) -> Row:
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be a JSON object, found {brief(value)}")
    return Row(value, place)


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: not UTF-8 at byte {error.start + 1}; get it again") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
