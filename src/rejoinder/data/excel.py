"""Rows of a spreadsheet in Excel's format (extra: xlsx)."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rejoinder.data.header import find_header_row, name_columns
from rejoinder.errors import InputError, MissingExtraError, nearest

_MOST_TITLES = 8  # rows above the header


def read_sheet_rows(path: Path, name: str, sheet: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a sheet (by default the first) by column, each with its number; the first names the columns."""
    cells = enumerate(_read_cells(path, name, sheet), start=1)
    rows = (
        (number, list(map(_convert_cell, row))) for number, row in cells if any(cell not in (None, "") for cell in row)
    )
    first = list(itertools.islice(rows, _MOST_TITLES + 1))
    above = find_header_row([values for _, values in first])
    header = name_columns(first[above][1]) if first else []
    while header and not header[-1]:
        header.pop()
    for number, values in itertools.chain(first[above + 1 :], rows):
        if any(value not in (None, "") for value in values[len(header) :]):
            raise InputError(f"{name} row {number}: has a cell to the right of the header; name that column")
        yield number, {column: value for column, value in zip(header, values, strict=False) if column}


def read_first_sheet_rows(path: Path, count: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns of the first sheet and its first rows."""
    rows = [row for _, row in itertools.islice(read_sheet_rows(path, path.name), count)]
    return list(rows[0]) if rows else [], rows


def list_sheets(path: Path, name: str) -> list[str]:
    """Return the names of the sheets."""
    with _open_book(path, name) as book:
        return list(book.sheetnames)


def _read_cells(path: Path, name: str, sheet: str | None) -> Iterator[Sequence[Any]]:
    with _open_book(path, name) as book:
        if sheet is not None and sheet not in book.sheetnames:
            raise InputError(f"{name}: has no sheet {sheet!r}; {nearest(sheet, book.sheetnames)}")
        chosen = book[sheet] if sheet is not None else book.worksheets[0] if book.worksheets else None
        if chosen is None or not hasattr(chosen, "iter_rows"):
            raise InputError(f"{name}: has no sheet with cells; save the table as a sheet")
        chosen.reset_dimensions()  # some programs write wrong ones
        yield from chosen.iter_rows(values_only=True)


@contextlib.contextmanager
def _open_book(path: Path, name: str) -> Iterator[Any]:
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise InputError(f"{name}: is not a spreadsheet of Excel (.xlsx); save it as one, or as CSV")
        try:
            import openpyxl
        except ImportError:
            raise MissingExtraError("openpyxl", "xlsx", f"{name}: reading a spreadsheet") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and the like
            try:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            except Exception as error:
                message = " ".join(str(error).split())[:120] or type(error).__name__
                raise InputError(
                    f"{name}: cannot be read as a spreadsheet ({message}); save it as CSV and name that"
                ) from None
            try:
                yield book
            finally:
                book.close()


def _convert_cell(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
