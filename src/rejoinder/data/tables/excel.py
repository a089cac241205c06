"""Rows of a spreadsheet in Excel's format (extra: xlsx)."""

from __future__ import annotations

import contextlib
import datetime
import io
import itertools
import re
import shlex
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from rejoinder.data.tables.columns import find_aliases, holds_replies
from rejoinder.data.tables.header import drop_unnamed, find_header_row, name_columns
from rejoinder.errors import InputError, MissingExtraError, brief, nearest

_MOST_TITLES = 8  # rows above the header
_MOST_ROWS = 1_048_576  # of a sheet in Excel
# Limits of what openpyxl gets to read. A cell in Excel has at most 32,767 characters; openpyxl holds one row, or one
# shared text, at a time, and everything else whole. What is compressed more than 200 times is no table.
_LONGEST_TEXT = 2**20
_LONGEST_RECORD, _MOST_TAGS = 8 * 2**20, 500_000
_BLOCK = 2**16
_LARGE_PART, _LARGEST_RATIO = 64 * 2**20, 200
_TEXT_END = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
_ROW_END = re.compile(rb"</(?:\w+:)?row\s*>|<(?:\w+:)?row\b[^<>]*/>")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([^\"']*)")


class Sheets(NamedTuple):
    """The sheet that is read, and the others."""

    chosen: str | None
    others: list[str]


def find_sheet(path: Path, name: str, sheet: str | None = None, columns: Iterable[str] = ()) -> Sheets:
    """Return the sheet that a user named, else the first one, unless that is no table and exactly one other is.

    A sheet is a table if it has the ``columns`` that the user named, or columns of replies and of what they answer.
    """
    with _open_book(path, name) as book:
        names = list(book.sheetnames)
    first = sheet or (names[0] if names else None)
    if sheet is None and len(names) > 1:
        named = {column.partition(".")[0] for column in columns}

        def is_table(header: list[str]) -> bool:
            return named <= set(header) if named else holds_replies(header)

        headers = (_read_header(_number_rows(path, name, one))[0] for one in names)
        header = next(headers)
        if not is_table(header) and (named or len(find_aliases(header)) < 2):
            tables = [one for one, other in zip(names[1:], headers, strict=True) if is_table(other)]
            if len(tables) > 1:
                raise InputError(
                    f"{name}: the first sheet {brief(names[0])} is no table of replies, and several others are "
                    f"({brief(', '.join(tables), 120)}); choose one with --sheet {shlex.quote(tables[0])}"
                )
            first = tables[0] if tables else first
    return Sheets(first, [one for one in names if one != first])


def _number_rows(path: Path, name: str, sheet: str | None) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet that are not empty, each with its number."""
    cells = enumerate(_read_cells(path, name, sheet), start=1)
    return (
        (number, list(map(_convert_cell, row))) for number, row in cells if any(cell not in (None, "") for cell in row)
    )


def _read_header(rows: Iterator[tuple[int, list[Any]]]) -> tuple[list[str], list[tuple[int, list[Any]]]]:
    """Return the names of the columns, and the rows below them that were read to find them."""
    first = list(itertools.islice(rows, _MOST_TITLES + 1))
    above = find_header_row([values for _, values in first])
    cells_above = list(first[above][1]) if first else []
    while cells_above and not str(cells_above[-1] or "").strip():
        cells_above.pop()
    return name_columns(cells_above), first[above + 1 :]


def read_sheet_rows(path: Path, name: str, sheet: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a sheet (by default the first) by column, each with its number; the first names the columns."""
    rows = _number_rows(path, name, sheet)
    header, below = _read_header(rows)
    for number, values in itertools.chain(below, rows):
        if any(value not in (None, "") for value in values[len(header) :]):
            raise InputError(f"{name} row {number}: has a cell to the right of the header; name that column")
        cells_in_row = itertools.chain(values, itertools.repeat(None))  # a row ends in its last cell that is not empty
        yield number, drop_unnamed(dict(zip(header, cells_in_row, strict=False)))


def read_first_sheet_rows(path: Path, count: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns of the sheet that is read unless the user names another, and its first rows."""
    rows = [row for _, row in itertools.islice(read_sheet_rows(path, path.name), count)]
    if not rows or not holds_replies(rows[0]):
        sheet = find_sheet(path, path.name).chosen
        rows = [row for _, row in itertools.islice(read_sheet_rows(path, path.name, sheet), count)]
    return list(rows[0]) if rows else [], rows


def _read_cells(path: Path, name: str, sheet: str | None) -> Iterator[Sequence[Any]]:
    with _open_book(path, name) as book:
        if sheet is not None and sheet not in book.sheetnames:
            raise InputError(f"{name}: has no sheet {sheet!r}; {nearest(sheet, book.sheetnames)}")
        chosen = book[sheet] if sheet is not None else book.worksheets[0] if book.worksheets else None
        if chosen is None or not hasattr(chosen, "iter_rows"):
            raise InputError(f"{name}: has no sheet with cells; save the table as a sheet")
        chosen.reset_dimensions()  # some programs write wrong ones
        for number, row in enumerate(chosen.iter_rows(values_only=True), start=1):
            if number > _MOST_ROWS:
                raise InputError(f"{name}: has more than {_MOST_ROWS:,} rows, the most of a sheet; save it as CSV")
            yield row


@contextlib.contextmanager
def _open_book(path: Path, name: str) -> Iterator[Any]:
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise InputError(f"{name}: is not a spreadsheet of Excel (.xlsx); save it as one, or as CSV")
        try:
            from openpyxl import reader as openpyxl_reader
        except ImportError:
            raise MissingExtraError("openpyxl", "xlsx", f"{name}: reading a spreadsheet") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and the like
            try:
                reader = openpyxl_reader.excel.ExcelReader(file, read_only=True, data_only=True, keep_links=False)
                reader.archive = archive = _LimitedArchive(file, name)
                reader.read_manifest()
                archive.texts = getattr(reader.package.find(openpyxl_reader.excel.SHARED_STRINGS), "PartName", "")[1:]
                reader.read()
                book = reader.wb
            except InputError:
                raise
            except Exception as error:
                message = " ".join(str(error).split())[:120] or type(error).__name__
                raise InputError(
                    f"{name}: cannot be read as a spreadsheet ({message}); save it as CSV and name that"
                ) from None
            try:
                yield book
            finally:
                book.close()


class _LimitedArchive(zipfile.ZipFile):
    """The parts of a spreadsheet, each with limits: a few kilobytes can unpack to gigabytes."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        super().__init__(file)
        self.texts = ""  # the part with the texts that cells share, until it was opened
        self._name = name

    def open(self, name: Any, *args: Any, **kwargs: Any) -> Any:
        """Open a part to read."""
        part = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        if part.file_size > max(_LARGE_PART, _LARGEST_RATIO * part.compress_size):
            raise InputError(
                f"{self._name}: its part {part.filename} is {part.compress_size:,} bytes that unpack to "
                f"{part.file_size:,}, which is not a table; save it as CSV and name that"
            )
        where = f"{self._name}: its part {part.filename}"
        record_end = _ROW_END
        if part.filename == self.texts:
            record_end, self.texts = _TEXT_END, ""
        return _LimitedPart(super().open(name, *args, **kwargs), where, record_end)


class _LimitedPart(io.RawIOBase):
    """A part of a spreadsheet, read as a stream; one that no spreadsheet program writes is an error."""

    def __init__(self, part: IO[bytes], where: str, record_end: re.Pattern[bytes]) -> None:
        self._part, self._where, self._record_end = part, where, record_end
        self._text = 0  # bytes since the last tag
        self._record = self._tags = 0  # bytes and tags since the last end of a row, or of a shared text
        self._tail: bytes | None = None

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes and check them."""
        block = self._part.read(min(len(buffer), _BLOCK))
        self._check(block)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the part."""
        self._part.close()
        super().close()

    def _check(self, block: bytes) -> None:
        named = _ENCODING.search(block[:200].replace(b"\0", b"")) if self._tail is None else None
        if named and named[1].lower() not in (b"utf-8", b"utf-16", b"us-ascii"):
            raise InputError(f"{self._where} is not in UTF-8; save it as CSV and name that")
        plain = (self._tail or b"") + block.replace(b"\0", b"")  # UTF-16 too
        self._tail = plain[-len(b"<!DOCTYPE") :]
        if b"<!DOCTYPE" in plain:  # entities could refer to each other, or to files
            raise InputError(f"{self._where} declares a document type, which no spreadsheet does; save it as CSV")
        first, last = block.find(b"<"), block.rfind(b"<")
        longest = self._text + (len(block) if first < 0 else first)
        self._text = longest if first < 0 else len(block) - last
        ends = [end.end() for end in self._record_end.finditer(block)]
        begin, before = (ends[-1], (0, 0)) if ends else (0, (self._record, self._tags))
        self._record, self._tags = before[0] + len(block) - begin, before[1] + block.count(b"<", begin)
        if longest > _LONGEST_TEXT:
            raise InputError(
                f"{self._where} has a text of more than {_LONGEST_TEXT:,} bytes (Excel writes cells of at most 32,767 "
                "characters); save it as CSV and name that"
            )
        if self._record > _LONGEST_RECORD or self._tags > _MOST_TAGS:
            raise InputError(
                f"{self._where} has a row, or something else than rows, of more than {_LONGEST_RECORD:,} bytes or "
                f"{_MOST_TAGS:,} tags; save it as CSV and name that"
            )


def _convert_cell(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
