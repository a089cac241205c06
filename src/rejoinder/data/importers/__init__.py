"""One file per foreign format: the file's name is what a user types after ``rejoinder import``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import (
    File,
    ImportedRecord,
    Importer,
    ImportOptions,
    ImportTally,
    importer,
    importer_names,
)
from rejoinder.data.importers._repeated_texts import RepeatedTexts
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError
from rejoinder.paths import printable
from rejoinder.types import Item, Response

__all__ = ["File", "ImportOptions", "ImportTally", "Importer", "import_places", "importer", "importer_names"]


def import_places(
    name: str,
    path: str | Path,
    options: ImportOptions | None = None,
    tally: ImportTally | None = None,
    check_ids: bool = True,
) -> Iterator[ImportedRecord]:
    """Yield the records of ``import_``, each with its place; a caller may check the ids itself."""
    options = options or ImportOptions()
    format_importer = importer(name)
    options.check(name, format_importer.TAKES)
    place = Path(path)
    if str(path) != "-" and not place.exists() and not str(path).startswith("text:"):
        raise InputError(f"{printable(path)}: no such file or folder")
    checker = IdChecker() if check_ids else None
    return _check_records(format_importer, place, options, tally if tally is not None else ImportTally(), checker)


def _check_records(
    format_importer: Importer, path: Path, options: ImportOptions, tally: ImportTally, checker: IdChecker | None
) -> Iterator[ImportedRecord]:
    replies = RepeatedTexts()
    for record, place in format_importer.read(path, options, tally):
        if checker is not None and not checker.add(record, place):
            continue
        if isinstance(record, Item) and options.max_turns is not None:
            record = _shorten_context(record, options.max_turns)
        tally.add(record)
        if isinstance(record, Response):
            replies.add(record)
        yield ImportedRecord(record, place)
    if not tally.records:
        why = f" (left out: {tally.left_out_as_text()})" if tally.left_out else ""
        name = options.file.name if options.file else printable(path)
        raise InputError(
            f"{name}: nothing in it could be imported{why}; see the formats with: rejoinder list importers"
        )
    tally.remarks += replies.describe()
    # A file of only responses or ratings is read together with the file of their items.
    if tally.records["item"] and checker is not None:
        checker.close()


def _shorten_context(item: Item, max_turns: int) -> Item:
    if len(item.context) <= max_turns:
        return item
    return dataclasses.replace(item, context=item.context[-max_turns:], truncated=True)
