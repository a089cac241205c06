"""Text tables with a header and any delimiter (RFC 4180 quoting)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from rejoinder.data.importers._base import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._files import files, read_text_lines
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.reader import LONGEST_LINE
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief


def read_delimited(
    path: Path, options: ImportOptions, tally: ImportTally, ending: str, delimiter: str
) -> Iterator[ImportedRecord]:
    """Yield the records of one text table, or of all in a folder that have the ending."""
    table = RowConverter(options, tally)
    for file in files(path, (ending,), tally):
        rows = _read_rows(file, delimiter, options.quotes)
        place, names = next(rows)
        header = [name.strip() for name in names]
        _check_header(header, place, delimiter)
        table.expect(header, file.name)
        for place, row in rows:
            if len(row) != len(header):
                raise InputError(
                    f"{place}: has {len(row)} cells but the header has {len(header)}; "
                    "quote cells that hold the delimiter, or check --delimiter"
                )
            yield from table.records(dict(zip(header, row, strict=True)), place, file.stem)
    table.close()


def _read_rows(file: File, delimiter: str, quotes: bool) -> Iterator[tuple[Place, list[str]]]:
    """Yield the non-blank rows, each with the line on which it begins."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    lines = (line for _, line in read_text_lines(file))
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    first, has_rows = 1, False
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            hint = "close the quote, or use --no-quotes if quotes are part of the text" if quotes else "check the file"
            raise InputError(f"{Place(file.name, first)}: cannot be read as a row ({error}); {hint}") from None
        if row is None:
            break
        if any(cell.strip() for cell in row):
            has_rows = True
            yield Place(file.name, first), row
        first = reader.line_num + 1
    if not has_rows:
        raise InputError(f"{file.name}: has no rows; the first must name the columns")


def _check_header(header: list[str], place: Place, delimiter: str) -> None:
    repeated = {name for name in header if name and header.count(name) > 1}
    if repeated:
        raise InputError(f"{place}: the header names the column {brief(min(repeated))} twice; rename one of the two")
    if len(header) == 1:
        for other, label in ((",", ","), (";", ";"), ("\t", "\\t"), ("|", "|")):
            if other != delimiter and other in header[0]:
                raise InputError(
                    f"{place}: the header has only one column ({brief(header[0])}); try --delimiter '{label}'"
                )
