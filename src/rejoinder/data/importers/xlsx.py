"""Spreadsheets in Excel's format, read like CSV (extra: xlsx)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._files import files
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.schema import RowPlace
from rejoinder.data.tables.detection import Sample
from rejoinder.data.tables.excel import list_sheets, read_sheet_rows
from rejoinder.errors import InputError

IS_GENERAL = True
SUMMARY = 'a sheet of a spreadsheet; --field says which column holds what (needs "rejoinder[xlsx]")'
TAKES = _table.TAKES | {"sheet"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a sheet, or of the sheets of all files in a folder."""
    if str(path) == "-" and not options.file:
        raise InputError("a spreadsheet cannot be read from standard input; name a file")
    table = RowConverter(options, tally)
    for file in [options.file] if options.file else files(path, (".xlsx", ".xlsm"), tally):
        others = len(list_sheets(file.path, file.name)) - 1
        if others and options.sheet is None:
            tally.left_out["sheets after the first"] += others
        expected = False
        for number, row in read_sheet_rows(file.path, file.name, options.sheet):
            if not expected:
                table.expect(row, file.name)
                expected = True
            yield from table.records(row, RowPlace(file.name, number), file.stem)
    yield from table.close()


def recognise(sample: Sample) -> bool:
    """Whether a file is a spreadsheet."""
    return sample.container == "xlsx"
