"""The rows of a table, whatever file holds it: a text table, JSON, Parquet or a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rejoinder.data import arrow
from rejoinder.data.detection import BEGINNING, take_sample
from rejoinder.data.excel import read_sheet_rows
from rejoinder.data.importers._base import File, ImportOptions
from rejoinder.data.importers._delimited import read_delimited_rows
from rejoinder.data.importers._files import read_beginning, read_json_values
from rejoinder.data.json_rows import read_row_list
from rejoinder.data.schema import Place, RowPlace
from rejoinder.data.spool import spool_input
from rejoinder.errors import InputError, brief

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".ndjson", ".parquet", ".xlsx")


def read_rows(file: File, options: ImportOptions) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the rows of a table by column, each with its place."""
    if str(file.path) == "-":
        file = file._replace(path=spool_input(file.path))
    container = take_sample(read_beginning(file, BEGINNING), file.name).container
    if container == "parquet":
        yield from arrow.read_parquet_rows(file)
    elif container == "xlsx":
        for number, row in read_sheet_rows(file.path, file.name, options.sheet):
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
