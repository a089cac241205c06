"""CSV that people edit in a spreadsheet: written so that no cell is a formula, read with errors that name a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from rejoinder.errors import InputError, brief
from rejoinder.escape import escape_cell


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
