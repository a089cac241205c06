"""One file per foreign format: the file's name is what a user types after ``rejoinder import``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importers._base import File, ImportedRecord, Importer, Options, Tally, importer
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError
from rejoinder.paths import printable
from rejoinder.types import Item, Record

__all__ = ["File", "Importer", "Options", "Tally", "import_places", "import_records", "importer"]


def import_records(
    name: str, path: str | Path, options: Options | None = None, tally: Tally | None = None
) -> Iterator[Record]:
    """The records of a foreign file or folder, one at a time, checked as a file of our own would be.

    ``tally`` is filled on the way: what came out, what was left out and why. Options that the importer does not take,
    and a path that is not there, are told before the first record is asked for.
    """
    found = import_places(name, path, options, tally)
    return (record for record, _ in found)


def import_places(
    name: str, path: str | Path, options: Options | None = None, tally: Tally | None = None
) -> Iterator[ImportedRecord]:
    """The records as ``import_records`` gives them, each with where it was read."""
    options = options or Options()
    found = importer(name)
    options.check(name, found.TAKES)
    place = Path(path)
    if str(path) != "-" and not place.exists():
        raise InputError(f"{printable(path)}: no such file or folder")
    return _check_records(found, place, options, tally if tally is not None else Tally())


def _check_records(found: Importer, path: Path, options: Options, tally: Tally) -> Iterator[ImportedRecord]:
    ledger = IdChecker()
    for record, place in found.read(path, options, tally):
        if not ledger.add(record, place):
            continue
        if isinstance(record, Item) and options.max_turns is not None:
            record = _shorten_context(record, options.max_turns)
        tally.add(record)
        yield ImportedRecord(record, place)
    if not tally.records:
        why = f" (left out: {tally.left_out_as_text()})" if tally.left_out else ""
        name = options.file.name if options.file else printable(path)
        raise InputError(f"{name}: nothing in it could be imported{why}; is it the right file and importer?")
    # A file of responses or ratings alone is read together with the file of their items.
    if tally.records["item"]:
        ledger.close()


def _shorten_context(item: Item, max_turns: int) -> Item:
    if len(item.context) <= max_turns:
        return item
    return dataclasses.replace(item, context=item.context[-max_turns:], truncated=True)
