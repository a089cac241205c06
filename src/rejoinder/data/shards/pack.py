"""Records packed into shards: so many records a file, a conversation never in two, each file named by its content.

Records are taken as they come, and no more than one shard is held: the records of a conversation must lie together, an
item before its responses (``gathering`` sees to that where they do not).
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, TypeAlias, get_args

from rejoinder.data.parquet import Writer
from rejoinder.data.parquet import write as write_parquet
from rejoinder.data.reader import Source
from rejoinder.data.schema import Place
from rejoinder.data.shards.conversations import digests, first_shared, save
from rejoinder.data.shards.manifest import Catalogue, Entry
from rejoinder.data.shards.stats import Survey
from rejoinder.data.shards.writer import Shelf
from rejoinder.data.writer import encode, write
from rejoinder.errors import InputError
from rejoinder.types import Record

Form: TypeAlias = Literal["parquet", "jsonl", "jsonl.gz"]
FORMS: tuple[str, ...] = get_args(Form)
RECORDS = 100_000
_GATHER = "put conversations together with --gather"


class Lines:
    """A JSONL file that is being written; the same records give the same bytes."""

    def __init__(self, path: Path, packed: bool) -> None:
        self._raw = path.open("wb")
        # Level 6 is twice as fast as the usual 9 and hardly larger.
        self._file: IO[bytes] = (
            gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0, compresslevel=6)  # type: ignore[assignment]
            if packed
            else self._raw
        )

    def add(self, record: Record) -> None:
        """Write a record."""
        self._file.write(encode(record))

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._raw.close()


def opened(path: Path, form: Form) -> Writer | Lines:
    """A file of records, to be written."""
    return Writer(path) if form == "parquet" else Lines(path, form == "jsonl.gz")


def pack(records: Iterable[tuple[Record, Place]], where: str, form: Form = "parquet", size: int = RECORDS) -> Catalogue:
    """Write records as shards of about so many, and their catalogue last."""
    shelf = Shelf(where)
    try:
        with shelf.workplace() as workplace:
            packing = _Packing(shelf, workplace, form, size)
            try:
                for record, place in records:
                    packing.add(record, place)
            finally:
                packing.stop()
            found = packing.end()
        shelf.close(found)
    except InputError:  # nothing can go on from here: leave no trace
        shelf.undo()
        raise
    return found


def write_one(records: Iterable[Record], path: str) -> int:
    """Write records to one file, of the form that its name tells, and say how many."""
    if not path.endswith(".parquet"):
        return write(records, path)
    with tempfile.TemporaryDirectory(prefix=".packing-", dir=Path(path).absolute().parent) as folder:
        count = write_parquet(records, Path(folder) / "part")
        os.replace(Path(folder) / "part", path)
    return count


class _Packing:
    """The shard that is being written, and those that were."""

    def __init__(self, shelf: Shelf, workplace: Path, form: Form, size: int) -> None:
        self._shelf, self._workplace, self._form, self._size = shelf, workplace, form, size
        self._entries: list[Entry] = []
        self._begin()

    def add(self, record: Record, place: Place) -> None:
        conversation = self._survey.conversation(record)
        if conversation is None:
            raise InputError(f"{place}: what this record is about does not lie before it, nearby; {_GATHER}")
        if self._n >= self._size and conversation not in self._here:
            self._close()
            self._begin()
        self._here.add(conversation)
        self._survey.add(record)
        self._file.add(record)
        self._n += 1

    def stop(self) -> None:
        self._file.__exit__(None, None, None)

    def end(self) -> Catalogue:
        """Close the last shard; raises where two share a conversation."""
        if self._n:
            self._close()
        if not self._entries:
            raise InputError("there are no records to write")
        shared = first_shared([self._digests(n) for n in range(len(self._entries))])
        if shared is not None:
            raise InputError(f"a conversation is not all in one place, but in two that lie far apart; {_GATHER}")
        return Catalogue(self._entries)

    def _begin(self) -> None:
        self._survey, self._n = Survey(), 0
        self._here: set[str] = set()
        self._file = opened(self._workplace / "part", self._form)

    def _close(self) -> None:
        self.stop()
        path, number = self._workplace / "part", len(self._entries)
        save(digests((name,) for name in self._here), self._digests(number))
        sha256, size = Source(path).measure()
        name = f"{number:05}-{sha256[:12]}.{self._form}"
        self._shelf.put(path, name)
        self._entries.append(Entry(name, size, sha256, self._survey.records, len(self._here)))

    def _digests(self, number: int) -> Path:
        return self._workplace / f"{number}.npy"
