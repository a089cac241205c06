"""JSON objects with other keys than ours: one per line, one list of them, or an object around such a list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._containers import read_json_rows
from rejoinder.data.importers._files import files
from rejoinder.data.importers._table import RowConverter
from rejoinder.data.schema import is_record
from rejoinder.data.tables.columns import holds_replies
from rejoinder.data.tables.detection import Sample

IS_GENERAL = True
SUMMARY = "JSON objects, one per line or in one list; --field says which key holds what (a.b for nested ones)"
TAKES = _table.TAKES | {"sheet"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a JSON or JSONL file, or of all in a folder."""
    table = RowConverter(options, tally)
    for file in [options.file] if options.file else files(path, (".jsonl", ".json", ".ndjson"), tally):
        for place, value in read_json_rows(file, options):
            yield from table.records(value, place, file.stem)
    yield from table.close()


def recognise(sample: Sample) -> bool:
    """Whether a file holds JSON objects with keys of replies and of what they answer, or a list of our records."""
    is_list_of_records = sample.is_document and bool(sample.values) and is_record(sample.values[0])
    return sample.container == "json" and (is_list_of_records or holds_replies(sample.keys))
