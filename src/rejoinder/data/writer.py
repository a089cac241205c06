"""Writing records as JSONL to a file (compressed if its name ends in .gz) or standard output, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from rejoinder.data.objects import to_object
from rejoinder.files import atomic_write
from rejoinder.types import Record


def encode_record(record: Record) -> bytes:
    """Return a record as one line, newline included."""
    return orjson.dumps(to_object(record), option=orjson.OPT_APPEND_NEWLINE)


def write(records: Iterable[Record], path: str | Path) -> int:
    """Write records to a file and return how many there were.

    - ``records``: any records, or a collection.
    - ``path``: the file; ``-`` for standard output, ``*.gz`` is compressed.

    >>> import rejoinder
    >>> rejoinder.write(rejoinder.read("testset.jsonl"), "copy.jsonl.gz")
    12
    """
    count = 0
    with atomic_write(path) as file:
        for record in records:
            file.write(encode_record(record))
            count += 1
    return count
