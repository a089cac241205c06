"""Writing records: JSONL to a file, gzip by its name, or standard output; a file appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from rejoinder.data.objects import to_object
from rejoinder.files import atomic_write
from rejoinder.types import Record


def encode(record: Record) -> bytes:
    """A record as one line, newline included."""
    return orjson.dumps(to_object(record), option=orjson.OPT_APPEND_NEWLINE)


def write(records: Iterable[Record], path: str | Path) -> int:
    """How many records were written to a file.

    - ``records``: any records, or a collection.
    - ``path``: the file; ``-`` for standard output, ``*.gz`` is packed.

    >>> import rejoinder
    >>> rejoinder.write(rejoinder.read("testset.jsonl"), "copy.jsonl.gz")
    12
    """
    count = 0
    with atomic_write(path) as file:
        for record in records:
            file.write(encode(record))
            count += 1
    return count
