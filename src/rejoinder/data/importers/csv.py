"""CSV with a header: one row per reply, or one row per context with a column for each system's reply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._delimited import read_delimited
from rejoinder.data.tables.columns import holds_replies
from rejoinder.data.tables.detection import Sample
from rejoinder.errors import SpecError

IS_GENERAL = True
SUMMARY = "CSV with a header; --field says which column holds what"
TAKES = _table.TAKES | {"delimiter", "quotes"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a CSV file, or of all in a folder."""
    delimiter = "\t" if options.delimiter == "\\t" else options.delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise SpecError(f"--delimiter must be one character, not {options.delimiter!r}")
    return read_delimited(path, options, tally, ".csv", delimiter)


def recognise(sample: Sample) -> bool:
    """Whether a file is a text table, not of tabs, with columns of replies and of what they answer."""
    return sample.delimiter != "\t" and holds_replies(sample.header) and sample.container == "text"
