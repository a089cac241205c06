"""The rows of a table, whatever file holds it: a text table, JSON, Parquet or a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rejoinder.data.arrow import arrow_path, import_arrow, read_valid_batches
from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._delimited import read_delimited_rows
from rejoinder.data.importers._files import read_beginning, read_json_values
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.schema import Place, RowPlace
from rejoinder.data.spool import spool_input
from rejoinder.data.tables.detection import BEGINNING, take_sample
from rejoinder.data.tables.excel import Sheets, find_sheet, read_sheet_rows
from rejoinder.data.tables.header import name_columns
from rejoinder.data.tables.json_rows import read_row_list
from rejoinder.errors import InputError, brief

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".ndjson", ".parquet", ".xlsx")


def choose_sheet(file: File, options: ImportOptions, tally: ImportTally) -> Sheets:
    """Return the sheet to read, and say which one it is if there are several."""
    sheets = _find_sheet(file, options)
    if sheets.others and options.sheet is None:
        tally.notes.append(f"sheet = {sheets.chosen}")
        tally.left_out[f"other sheets: {brief(', '.join(sheets.others), 120)}"] += len(sheets.others)
    return sheets


def _find_sheet(file: File, options: ImportOptions) -> Sheets:
    named = [column for _, column in options.fields if column and not set("*?,") & set(column)]
    return find_sheet(file.path, file.name, options.sheet, named)


def read_rows(file: File, options: ImportOptions) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the rows of a table by column, each with its place."""
    if str(file.path) == "-":
        file = file._replace(path=spool_input(file.path))
    container = take_sample(read_beginning(file, BEGINNING), file.name).container
    if container == "parquet":
        yield from read_parquet_rows(file)
    elif container == "xlsx":
        for number, row in read_sheet_rows(file.path, file.name, _find_sheet(file, options).chosen):
            yield RowPlace(file.name, number), row
    elif container == "json":
        yield from read_json_rows(file, options)
    else:
        yield from read_delimited_rows(file, None)


def read_json_rows(file: File, options: ImportOptions) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a JSON file: one per line, in a list, or in an object around a list."""
    if str(file.path) == "-":
        file = file._replace(path=spool_input(file.path))
    around = None
    if options.file is None:  # else the caller has looked for it
        sample = take_sample(read_beginning(file, BEGINNING), file.name)
        around = read_row_list(file.path, file.name, sample, options)
    if around is not None:
        yield from ((RowPlace(file.name, number), row) for number, row in enumerate(around.rows, start=1))
        return
    for place, value in read_json_values(file):
        if not isinstance(value, dict):
            raise InputError(f"{place}: expected a JSON object, found {brief(value)}")
        yield place, value


def read_table_records(
    table: RowConverter, file: File, batches: Iterable[Any], labels: Mapping[str, list[str]]
) -> Iterator[ImportedRecord]:
    """Yield the records of a file's batches; ``labels`` holds the class names for columns of class numbers."""
    number = 0
    for rows in _read_rows(file, batches):
        for row in rows:
            number += 1
            for column in labels.keys() & row.keys():
                names, value = labels[column], row[column]
                row[column] = names[value] if isinstance(value, int) and 0 <= value < len(names) else None
            yield from table.records(row, RowPlace(file.name, number), file.stem)


def read_parquet_rows(file: File) -> Iterator[tuple[RowPlace, dict[str, Any]]]:
    """Yield the rows of a Parquet file by column, each with its place."""
    import_arrow("reading Parquet")
    from pyarrow.parquet import ParquetFile

    where = arrow_path(file.path)
    try:
        stored = ParquetFile(where)
    except Exception as error:
        raise damaged_file_error(file, error) from None
    number = 0
    with stored:
        for rows in _read_rows(file, stored.iter_batches(batch_size=1024)):
            for row in rows:
                number += 1
                yield RowPlace(file.name, number), row


def _read_rows(file: File, batches: Iterable[Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each batch; Arrow's errors about a damaged file become one line."""
    return read_valid_batches(batches, batch_to_rows, lambda error: damaged_file_error(file, error))


def batch_to_rows(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch; of several columns with one name, none is lost."""
    names = batch.schema.names
    if len(set(names)) < len(names):
        batch = batch.rename_columns(name_columns(names))
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows


def damaged_file_error(file: File, error: Exception) -> InputError:
    """Return Arrow's message as a one-line error."""
    message = " ".join(str(error).split())[:160]
    return InputError(f"{file.name}: cannot be read as Arrow or Parquet ({message or type(error).__name__})")
