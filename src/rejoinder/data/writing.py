"""Writing records: JSONL to a file, gzip by its name, or standard output; a file appears whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import orjson

from rejoinder.data.objects import to_object
from rejoinder.errors import InputError
from rejoinder.types import Record


def encode(record: Record) -> bytes:
    """A record as one line, newline included."""
    return orjson.dumps(to_object(record), option=orjson.OPT_APPEND_NEWLINE)


def write(records: Iterable[Record], path: str | Path) -> int:
    """Write records to ``path`` ("-" for standard output, ``*.gz`` for gzip) and say how many."""
    count = 0
    with whole_file(path) as file:
        for record in records:
            file.write(encode(record))
            count += 1
    return count


@contextmanager
def whole_file(path: str | Path, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when the block has ended well; a private one is its owner's alone."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; name a file to write to")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as raw:
            if target.suffix == ".gz":
                # No name and no time in the header: the same records give the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
                    yield file  # type: ignore[misc]
            else:
                yield raw
        os.chmod(name, 0o600 if private else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
