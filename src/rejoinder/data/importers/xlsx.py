"""Spreadsheets in Excel's format, read like CSV (extra: xlsx)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._containers import choose_sheet
from rejoinder.data.importers._files import files
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.schema import RowPlace
from rejoinder.data.tables.detection import Sample
from rejoinder.data.tables.excel import read_sheet_rows
from rejoinder.errors import InputError, brief

IS_GENERAL = True
SUMMARY = 'a sheet of a spreadsheet; --field says which column holds what (needs "rejoinder[xlsx]")'
TAKES = _table.TAKES | {"sheet"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a sheet, or of the sheets of all files in a folder."""
    if str(path) == "-" and not options.file:
        raise InputError("a spreadsheet cannot be read from standard input; name a file")
    table = RowConverter(options, tally)
    for file in [options.file] if options.file else files(path, (".xlsx", ".xlsm"), tally):
        sheets = choose_sheet(file, options, tally)
        expected = False
        for number, row in read_sheet_rows(file.path, file.name, sheets.chosen):
            try:
                if not expected:
                    table.expect(row, file.name)
                records = list(table.records(row, RowPlace(file.name, number), file.stem))
            except InputError as error:
                if expected or not sheets.others:
                    raise
                others = brief(", ".join(sheets.others), 120)
                raise InputError(
                    f"{error}; this is the sheet {sheets.chosen!r}, --sheet reads another: {others}"
                ) from None
            expected = True
            yield from records
    yield from table.close()


def recognise(sample: Sample) -> bool:
    """Whether a file is a spreadsheet."""
    return sample.container == "xlsx"
