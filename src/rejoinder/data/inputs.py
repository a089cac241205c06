"""The inputs of a run: files in our schema, OpenAI-style chat logs, standard input, published sets by name."""

from __future__ import annotations

import itertools
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.data import parquet
from rejoinder.data.collection import Collection, refuse_table
from rejoinder.data.importers import ImportTally
from rejoinder.data.importers._files import stem_of
from rejoinder.data.parquet import is_parquet
from rejoinder.data.reader import InputFile, decode_json_line
from rejoinder.data.schema import Place, from_object
from rejoinder.data.spool import has_pipe_name, is_pipe, remove_spool, spool_input
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.paths import printable
from rejoinder.types import Dialogue, Item, Record, Response

DATASET = "dataset:"
_FIRST_ITEMS = 1000
_BEGINNING = 2**16
_MESSAGES = re.compile(rb'\A[\s\[\xef\xbb\xbf]*\{.{0,20000}?("messages"|"conversations")\s*:\s*\[', re.DOTALL)
_KIND = re.compile(rb'"(?:kind|context|turns|item|rater|candidates)"\s*:')


class Input:
    """One input of a run; its digest is known before any record is read, so a finished run is found at once."""

    def __init__(self, source: str | Path, without: frozenset[str] = frozenset(), called: str | None = None) -> None:
        """Of a Parquet file, the columns in ``without`` are skipped as if empty; errors name the input ``called``."""
        if not isinstance(source, str | os.PathLike):
            refuse_table(source)
            raise InputError(f"an input must be a string or a path, not a {type(source).__name__}")
        self._source = str(source)
        self._without = without
        self.name = self._name()
        self.called = called or (self.name if self._source == "-" else printable(self._source))
        self._spool = spool_input(self._source) if self._source == "-" or is_pipe(self._source) else None
        if self._spool is not None:
            self._source = str(self._spool)
        self.digest, self.size = self._measure()
        self.imported_as: str | None = None
        self._tally = ImportTally()

    @property
    def stem(self) -> str:
        """A short name for what is made from this input."""
        name = self.name.removeprefix(DATASET).replace("/", "-").strip("<>")
        return name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".parquet") or "run"

    def records(self, allow_empty: bool = False) -> Iterator[tuple[Record, Place]]:
        """Yield the records with their places."""
        self._tally = ImportTally()
        converted = self._convert()
        if converted is not None:
            for record, place in converted:
                if not allow_empty and isinstance(record, Response) and not record.text.strip():
                    raise InputError(
                        f"{place}: the reply {record.id!r} is empty; remove it, or keep it as a NaN (empty=nan)"
                    )
                yield record, place
            if self.imported_as is not None:
                self._check_digest(self._measure()[0])
            return
        if is_parquet(self._source):
            yield from parquet.read_parquet_records(self._source, self.called, self._without, allow_empty)
            self._check_digest(self._measure()[0])
            return
        source = InputFile(self._source, self.called)
        for line in source.lines():
            yield from_object(decode_json_line(line), line.place, allow_empty), line.place
        self._check_digest(source.sha256)

    def _check_digest(self, sha256: str) -> None:
        if sha256 != self.digest:
            raise InputError(
                f"{self.called}: changed while it was being read; run the command again when it no longer changes"
            )

    def _convert(self) -> Iterator[tuple[Record, Place]] | None:
        """The records of an input that is not a file in our schema, with their places; None for one that is."""
        if self._source.startswith(DATASET):
            from rejoinder.data.datasets import read_dataset

            records = read_dataset(self._source.removeprefix(DATASET))
            return ((record, Place(self.called, number)) for number, record in enumerate(records, start=1))
        if self._is_chat_log():
            from rejoinder.data.importers import File, ImportOptions, import_places

            self.imported_as = "openai"
            file = File(Path(self._source), self.called, stem_of(self.name.strip("<>")))
            return import_places("openai", file.path, ImportOptions(unnamed="assistant", file=file), self._tally)
        return None

    @property
    def left_out(self) -> dict[str, int]:
        """What an import on the fly left out, with counts; known once the records have been read."""
        return dict(sorted(self._tally.left_out.items()))

    def first_items(self) -> Iterator[Item]:
        """The first items, to see which fields they have."""
        records = (record for record, _ in self.records(allow_empty=True))
        return itertools.islice((record for record in records if isinstance(record, Item)), _FIRST_ITEMS)

    def close(self) -> None:
        """Delete the file that standard input or a pipe was copied to."""
        if self._spool is not None:
            remove_spool(self._spool)

    def _name(self) -> str:
        """The name a run uses, wherever the file is."""
        if self._source.startswith(DATASET):
            return self._source
        if self._source in ("-", "/dev/stdin"):
            return "<stdin>"
        return (
            "<pipe>"
            if is_pipe(self._source) and not has_pipe_name(self._source)
            else printable(Path(self._source).name)
        )

    def _measure(self) -> tuple[str, int]:
        if not self._source.startswith(DATASET):
            return InputFile(self._source, self.called).measure()
        from rejoinder.data.datasets import dataset

        name = self._source.removeprefix(DATASET)
        files = dataset(name).files
        description = "\n".join([name, *(f"{f.path} {f.sha256}" for f in files)])
        return sha256_of_bytes(description.encode()), sum(f.size for f in files)

    def _is_chat_log(self) -> bool:
        """Whether the file begins like a log of conversations with messages, as chat APIs write them."""
        with InputFile(self._source, self.called).open() as raw:
            beginning = raw.read(_BEGINNING)
        if beginning[:2] == b"\x1f\x8b":
            try:
                beginning = zlib.decompressobj(wbits=31).decompress(beginning, _BEGINNING)
            except zlib.error:  # reading it will raise the error
                return False
        match = _MESSAGES.search(beginning)
        return match is not None and not _KIND.search(beginning, 0, match.start(1))


def read(*given: str | Path, allow_empty: bool = False) -> Collection:
    """Read files (or ``dataset:NAME``), check the records, and return them as one collection.

    - ``given``: files in our schema (JSONL or Parquet), chat logs, ``-`` for standard input, or ``dataset:NAME``.
    - ``allow_empty``: whether an empty reply is allowed; it is an error otherwise.

    >>> import rejoinder
    >>> data = rejoinder.read("chats.jsonl")
    >>> sorted({response.system for response in data.responses.values()})
    ['attentive', 'drifter', 'parrot', 'plain']
    """
    checker, collection = IdChecker(), Collection()
    for name in given:
        source = Input(name)
        try:
            for record, place in source.records(allow_empty):
                if checker.add(record, place):
                    collection.add(record)
        finally:
            source.close()
    checker.close()
    return collection


DEFAULT_CORPORA = ("dataset:corpus/dialogues", "dataset:corpus/assistant")


def read_dialogues(names: Sequence[str]) -> Iterator[Dialogue]:
    """Yield the dialogues of files; one without a corpus gets the name of its file as corpus."""
    checker = IdChecker()
    for name in names:
        source = Input(name)
        try:
            for record, place in source.records(allow_empty=True):
                if isinstance(record, Dialogue) and checker.add(record, place):
                    yield record if record.corpus else replace(record, corpus=source.stem)
        finally:
            source.close()
