"""Tab-separated values with a header, read like CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._delimited import read_delimited
from rejoinder.data.tables.columns import holds_replies
from rejoinder.data.tables.detection import Sample

IS_GENERAL = True
SUMMARY = "tab-separated values with a header; --field says which column holds what"
TAKES = _table.TAKES | {"quotes"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a TSV file, or of all in a folder."""
    return read_delimited(path, options, tally, ".tsv", "\t")


def recognise(sample: Sample) -> bool:
    """Whether a file is a table of tabs with columns of replies and of what they answer."""
    return sample.delimiter == "\t" and holds_replies(sample.header) and sample.container == "text"
