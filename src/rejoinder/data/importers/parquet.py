"""Parquet files, read in batches, and only the columns that are needed (extra: arrow)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.arrow import arrow_path, import_arrow
from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._containers import damaged_file_error, read_table_records
from rejoinder.data.importers._files import files
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.tables.detection import Sample
from rejoinder.data.tables.header import name_columns
from rejoinder.errors import InputError

IS_GENERAL = True
SUMMARY = 'Parquet; --field says which column holds what (needs "rejoinder[arrow]")'
TAKES = _table.TAKES
_BATCH = 1024


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a Parquet file, or of all in a folder."""
    import_arrow("reading Parquet")
    from pyarrow.parquet import ParquetFile
    from pyarrow.types import is_nested

    if str(path) == "-":
        raise InputError("Parquet cannot be read from standard input; name a file")
    table = RowConverter(options, tally)
    for file in [options.file] if options.file else files(path, (".parquet",), tally):
        where = arrow_path(file.path)
        try:
            stored = ParquetFile(where)
            columns = name_columns(stored.schema_arrow.names)
        except Exception as error:
            raise damaged_file_error(file, error) from None
        with stored:
            table.expect(columns, file.name)
            cells = [field.name for field in stored.schema_arrow if not is_nested(field.type)]
            needed = table.needed_columns(columns, cells) if columns == stored.schema_arrow.names else None
            batches = stored.iter_batches(batch_size=_BATCH, columns=needed)
            yield from read_table_records(table, file, batches, {})
    yield from table.close()


def recognise(sample: Sample) -> bool:
    """Whether a file is Parquet."""
    return sample.container == "parquet"
