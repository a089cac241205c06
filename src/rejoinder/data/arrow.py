"""Arrow tables, batch by batch: the only module behind the importers that needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rejoinder.data.header import name_columns
from rejoinder.data.importers._base import File, ImportedRecord
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.schema import RowPlace
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.paths import printable


def import_arrow(purpose: str) -> Any:
    """Return the pyarrow module, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", purpose) from None
    return pyarrow


def arrow_path(path: str | Path) -> str:
    """Return a path for pyarrow, which only accepts UTF-8 names."""
    if printable(path) != str(path):
        raise InputError(
            f"{printable(path)}: its name is not valid UTF-8, as names of Parquet and Arrow files must be; rename it"
        )
    return str(path)


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


def read_valid_batches(
    batches: Iterable[Any], read: Callable[[Any], Any], make_error: Callable[[Exception], InputError]
) -> Iterator[Any]:
    """Yield what ``read`` returns for each batch; Arrow's errors are raised as ``make_error`` words them."""
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
            if batch is None:
                return
            # Arrow trusts the offsets in a file; a damaged one would end in a crash, not in an error.
            batch.validate(full=True)
            value = read(batch)
        except Exception as error:
            raise make_error(error) from None
        yield value


def damaged_file_error(file: File, error: Exception) -> InputError:
    """Return Arrow's message as a one-line error."""
    message = " ".join(str(error).split())[:160]
    return InputError(f"{file.name}: cannot be read as Arrow or Parquet ({message or type(error).__name__})")
