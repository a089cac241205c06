"""Text tables with a header and any delimiter (RFC 4180 quoting)."""

from __future__ import annotations

import csv
import itertools
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._files import files, read_beginning, read_decoded_lines
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.objects import LONGEST_LINE
from rejoinder.data.schema import Place
from rejoinder.data.spool import spool_input
from rejoinder.data.tables.detection import BEGINNING, find_encoding, find_header
from rejoinder.data.tables.header import drop_unnamed, find_header_row, name_columns
from rejoinder.errors import InputError

_MOST_TITLES = 8  # rows above the header
_RULE = re.compile(r":?-{3,}:?")


def read_delimited(
    path: Path, options: ImportOptions, tally: ImportTally, ending: str, delimiter: str | None
) -> Iterator[ImportedRecord]:
    """Yield the records of one text table, or of all in a folder that have the ending."""
    table = RowConverter(options, tally)
    for file in [options.file] if options.file else files(path, (ending,), tally):
        rows = read_delimited_rows(file, delimiter, options.quotes, table.expect)
        for place, row in rows:
            yield from table.records(row, place, file.stem)
    yield from table.close()


def read_delimited_rows(
    file: File,
    delimiter: str | None,
    quotes: bool = True,
    expect: Callable[[list[str], str], None] = lambda header, name: None,
) -> Iterator[tuple[Place, dict[str, str]]]:
    """Yield the rows of a text table by column; ``expect`` is called with its header and its name.

    Without a delimiter, the one that fits the first rows is used.
    """
    if str(file.path) == "-":
        file = file._replace(path=spool_input(file.path))
    if delimiter is None:
        beginning = read_beginning(file, BEGINNING)
        delimiter, _ = find_header(beginning.decode(find_encoding(beginning), "replace"))
    rows = _read_rows(file, delimiter, quotes)
    place, names = next(rows)
    if len(names) <= 2 and names[0].lower().startswith("sep="):  # Excel's way of naming the delimiter
        place, names = next(rows, (place, names))
    first = [(place, names), *itertools.islice(rows, _MOST_TITLES)]
    above = find_header_row([cells for _, cells in first])
    header = name_columns(first[above][1])
    expect([name for name, cell in zip(header, first[above][1], strict=True) if cell.strip()], file.name)
    has_unnamed = not all(cell.strip() for cell in first[above][1])
    for place, row in itertools.chain(first[above + 1 :], rows):
        if len(row) > len(header) and not any(cell.strip() for cell in row[len(header) :]):
            row = row[: len(header)]  # empty columns at the right edge of a spreadsheet
        if len(row) != len(header):
            raise InputError(
                f"{place}: has {len(row)} cells but the header has {len(header)}; quote cells that hold the "
                f"delimiter ({delimiter!r}); see the line with: sed -n {place.line}p {shlex.quote(file.name)}"
            )
        values = dict(zip(header, row, strict=True))
        yield place, drop_unnamed(values) if has_unnamed else values


def _read_rows(file: File, delimiter: str, quotes: bool) -> Iterator[tuple[Place, list[str]]]:
    """Yield the non-blank rows, each with the line on which it begins."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    lines = read_decoded_lines(file)
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    first, has_rows = 1, False
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            name = shlex.quote(file.name)
            hint = (
                "close the quote, or if quotes are part of the text convert it with: rejoinder import "
                f"{name} --no-quotes -o {shlex.quote(f'{file.stem}.jsonl')}"
                if quotes
                else "check the file"
            )
            raise InputError(f"{Place(file.name, first)}: cannot be read as a row ({error}); {hint}") from None
        if row is None:
            break
        if delimiter == "|":
            row = [cell.strip() for cell in row]
        if any(cell.strip() for cell in row) and not (delimiter == "|" and _is_rule(row)):
            has_rows = True
            yield Place(file.name, first), row
        first = reader.line_num + 1
    if not has_rows:
        raise InputError(f"{file.name}: has no rows; the first must name the columns")


def _is_rule(row: list[str]) -> bool:
    """Whether a row is the line under the header of a table in Markdown."""
    return all(_RULE.fullmatch(cell) for cell in row if cell)
