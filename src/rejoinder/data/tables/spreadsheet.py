"""CSV that people edit in a spreadsheet: written so that no cell is a formula, read with errors that name a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rejoinder.data.objects import LONGEST_LINE
from rejoinder.data.reader import InputFile
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.escape import escape_cell

BOM = b"\xef\xbb\xbf"  # without this mark, spreadsheets do not read a file as UTF-8


def encode_spreadsheet(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV in UTF-8, with texts that no spreadsheet takes for a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_escape_cell(cell) for cell in row] for row in rows)
    return out.getvalue().encode()


def _escape_cell(cell: object) -> object:
    if cell is None:
        return ""
    return escape_cell(cell) if isinstance(cell, str) else cell


def decode_spreadsheet(content: bytes, required: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file by column, with their line numbers; an error names a missing column."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the table is not valid UTF-8 at byte {error.start + 1}; save it as UTF-8") from None
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = reader.fieldnames or []
        if missing := [name for name in required if name not in columns]:
            raise InputError(f"the table has no column {missing[0]!r}; found: {brief(', '.join(columns), 120)}")
        for row in reader:
            yield reader.line_num, {name: value or "" for name, value in row.items() if isinstance(name, str)}
    except csv.Error as error:
        raise InputError(f"the table could not be read as CSV ({error})") from None


def read_sheet(
    path: str | Path, required: Sequence[str], what: str, numbered: str | None = None
) -> Iterator[tuple[Place, list[tuple[str, str]]]]:
    """Yield the rows of a sheet that people filled in, without blank ones: the first line, and each column's cell.

    ``what`` is what rejoinder wrote, such as "review file". The ``required`` columns are there once, and those that
    begin with ``numbered`` at least once. Separators may be commas, semicolons or tabs, which spreadsheets choose.
    """
    source = InputFile(path)
    with source.open() as raw:
        try:
            text = raw.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{source.name}: not UTF-8 at byte {error.start + 1}; save it as CSV UTF-8") from None
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    first = 1
    try:
        for cells in reader:
            place, first = Place(source.name, first), reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
                missing = [name for name in required if header.count(name) != 1]
                if numbered is not None and not any(name.startswith(numbered) for name in header):
                    missing.append(f"{numbered} 1")
                if missing:
                    raise InputError(
                        f"{place}: the header must have the column {missing[0]!r} once "
                        f"(found: {brief(', '.join(header), 120)}); use a {what} that rejoinder wrote"
                    )
            elif len(cells) != len(header):
                raise InputError(
                    f"{place}: has {len(cells)} cells, but the header has {len(header)}; put its texts in quotes"
                )
            else:
                yield place, list(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"{source.name} line {first}: cannot be read as a row ({error}); close the quote") from None
    if not header:
        raise InputError(f"{source.name}: is empty; write a new {what}")
