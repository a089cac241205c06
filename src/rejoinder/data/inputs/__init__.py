"""The inputs of a run: files in our schema or another format, tables in memory, standard input, published sets."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

from rejoinder.data import parquet
from rejoinder.data.collection import Collection
from rejoinder.data.importer import FLAGS
from rejoinder.data.importers import File, ImportOptions, ImportTally, import_places, importer
from rejoinder.data.importers._files import stem_of
from rejoinder.data.importers.text import PREFIX, is_text_input, split_names
from rejoinder.data.inputs.folder import find_input_folder
from rejoinder.data.inputs.formats import choose_format, is_own, reads_any_table
from rejoinder.data.inputs.merger import RecordMerger
from rejoinder.data.inputs.options import input_options
from rejoinder.data.parquet import is_parquet
from rejoinder.data.reader import InputFile, decode_json_line
from rejoinder.data.schema import Place, RowPlace, from_object
from rejoinder.data.spool import has_pipe_name, is_pipe, remove_spool, spool_as_utf8, spool_input
from rejoinder.data.tables.columns import suggest_score
from rejoinder.data.tables.detection import Sample, sample_file
from rejoinder.data.tables.frames import is_table, name_table, write_rows
from rejoinder.data.tables.json_rows import read_row_list
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError, InputWarning
from rejoinder.files import sha256_of_bytes
from rejoinder.paths import printable
from rejoinder.table import list_names
from rejoinder.types import Dialogue, Item, Preference, Rating, Record, Response

DATASET = "dataset:"
_FIRST_ITEMS = 1000
_MOST_SYSTEMS = 5
_ENDINGS = (".jsonl", ".json", ".ndjson", ".parquet", ".csv", ".tsv", ".xlsx", ".txt")
_LOG = logging.getLogger(__name__)


class Input:
    """One input of a run; its digest is known before any record is read, so a finished run is found at once."""

    def __init__(
        self,
        source: Any,
        without: frozenset[str] = frozenset(),
        called: str | None = None,
        options: ImportOptions | None = None,
        name: str | None = None,
    ) -> None:
        """Of a Parquet file, the columns in ``without`` are skipped as if empty; errors name the input ``called``.

        A run calls it ``name``, by default the name of the file.

        The source is a file, ``NAME=FILE`` where NAME is the system that replied, ``text:CONTEXTS,REPLIES``, ``-``,
        ``dataset:NAME`` or a table in memory; ``options`` say how to read one in another format than ours.
        """
        self._without = without
        self._options = options or (ImportOptions() if is_table(source) else input_options(source))
        self._place: type[Place] = Place
        self._is_table = is_table(source)
        self._spool: Path | None = None
        self._copy: Path | None = None  # what is read instead: rows as JSONL, or a text in UTF-8
        self._notes: list[str] = []
        if self._is_table:
            self.name, self._place = name_table(source), RowPlace
            self._spool = write_rows(source)
            self.called = called or self.name
        elif isinstance(source, str | os.PathLike):
            system, self._source = split_system(str(source))
            self._options = replace(self._options, system=system) if system else self._options
            self.name = name or self._name()
            self.called = called or (self.name if self._source == "-" else printable(self._source))
            if self._source == "-" or is_pipe(self._source):
                self._spool = spool_input(self._source)
        else:
            raise InputError(
                f"an input must be a string or a path, or a table such as a DataFrame, not a {type(source).__name__}"
            )
        if self._spool is not None:
            self._source = str(self._spool)
        self.digest, self.size = self._measure()
        self.imported_as: str | None = None
        self._format: str | None = None
        self._is_known = self._is_announced = self._has_list = False
        self.tally = ImportTally()

    @property
    def stem(self) -> str:
        """A short name for what is made from this input."""
        name = self.name.removeprefix(DATASET).replace("/", "-").strip("<>")
        if self.name.startswith(PREFIX):
            name = split_names(self.name)[1]
        return stem_of(name) if name.removesuffix(".gz").endswith(_ENDINGS) else name or "run"

    @property
    def settings(self) -> str:
        """What the user said about how to read this input, as text; it decides the records as the file does."""
        fields = {f.name: getattr(self._options, f.name) for f in dataclasses.fields(self._options) if f.name in FLAGS}
        changed = {name: value for name, value in fields.items() if value != getattr(ImportOptions(), name)}
        return orjson.dumps(changed).decode() if changed else ""

    @property
    def columns(self) -> str:
        """Which column was taken for what, in one line; known once the records have been read."""
        return self.tally.describe_columns() if self.imported_as is not None else ""

    @property
    def report(self) -> str:
        """What was taken for what, not used and left out, as one line; known once the records have been read."""
        return describe_tally(self.called, self.imported_as or "", self.tally)

    @property
    def left_out(self) -> dict[str, int]:
        """What an import on the fly left out, with counts; known once the records have been read."""
        return dict(sorted(self.tally.left_out.items()))

    def records(self, allow_empty: bool = False) -> Iterator[tuple[Record, Place]]:
        """Yield the records with their places."""
        self.tally = ImportTally(rows={} if self._is_table else None)
        converted = self._convert()
        self.tally.notes[:] = self._notes
        if converted is not None:
            for record, place in converted:
                if not allow_empty and isinstance(record, Response) and not record.text.strip():
                    keep = suggest_score(place._replace(file=self.called), "--empty nan")
                    if self._is_table:
                        keep = "rejoinder.score(rejoinder.read(DATA, allow_empty=True))"
                    raise InputError(
                        f"{place}: the reply {record.id!r} is empty; remove it, or keep it as a NaN (empty=nan) with: "
                        f"{keep}"
                    )
                yield record, place
            if self.imported_as is not None:
                self._check_digest(self._measure()[0])
                self._announce()
            return
        records = self._read_own(allow_empty)
        yield from records if self._options.system is None else self._rename_system(records)

    def _read_own(self, allow_empty: bool) -> Iterator[tuple[Record, Place]]:
        """Yield the records of a file in our schema."""
        if is_parquet(self._source):
            yield from parquet.read_parquet_records(self._source, self.called, self._without, allow_empty)
            self._check_digest(self._measure()[0])
            return
        source = InputFile(self._copy or self._source, self.called, self._place)
        for line in source.lines():
            yield from_object(decode_json_line(line), line.place, allow_empty), line.place
        self._check_digest(source.sha256 if self._copy is None else self._measure()[0])

    def _rename_system(self, records: Iterator[tuple[Record, Place]]) -> Iterator[tuple[Record, Place]]:
        """Yield the records with another name for their one system; ids that are made from it follow."""
        own = self._read_own(allow_empty=True)
        before = next((record.system for record, _ in own if isinstance(record, Response)), "")
        system = self._options.system or before

        def rename(name: str) -> str:
            return f"{name.removesuffix(f'/{before}')}/{system}" if system != before else name

        for record, place in records:
            if isinstance(record, Response):
                if record.system != before:
                    raise InputError(
                        f"{place}: has replies of several systems ({before!r}, {record.system!r}), which cannot all "
                        f"be called {system!r}; leave the name out: rejoinder score {shlex.quote(self.called)}"
                    )
                record = replace(record, id=rename(record.id), system=system)
            elif isinstance(record, Rating) and record.response is not None:
                record = replace(record, response=rename(record.response))
            elif isinstance(record, Preference):
                record = replace(record, first=rename(record.first), second=rename(record.second))
            yield record, place

    def _check_digest(self, sha256: str) -> None:
        if sha256 != self.digest:
            raise InputError(
                f"{self.called}: changed while it was being read; run the command again when it no longer changes"
            )

    def _announce(self) -> None:
        """Say once what was taken for what, what was not used, and what was left out."""
        if self._is_announced:
            return
        self._is_announced = True
        if self.imported_as is not None:
            announce_import(self.called, self.imported_as, self.tally)

    def _convert(self) -> Iterator[tuple[Record, Place]] | None:
        """The records of an input that is not a file in our schema, with their places; None for one that is."""
        if self._source.startswith(DATASET):
            from rejoinder.data.datasets import read_dataset

            records = read_dataset(self._source.removeprefix(DATASET))
            places = ((record, Place(self.called, number)) for number, record in enumerate(records, start=1))
            return places if self._options.system is None else self._rename_system(places)
        if not self._is_known:
            self._format, self._is_known = self._find_format(), True
        if self._format is None:
            return None
        self.imported_as = self._format
        reader = importer(self._format)
        is_general = getattr(reader, "IS_GENERAL", False)
        stem = stem_of(self.name.strip("<>")) if self._place is Place else "system"
        file = File(self._copy or Path(self._source), self.called, stem, self._place)
        options = replace(
            self._options,
            sheet=self._options.sheet if not self._has_list else None,
            unnamed=stem if is_general else None if self._format == "text" else "assistant",
            file=file,
            empty="keep" if "empty" in reader.TAKES and self._options.empty == "error" else self._options.empty,
        )
        return import_places(self._format, file.path, options, self.tally, check_ids=not is_general)

    def _find_format(self) -> str | None:
        """Return the name of the importer that reads this input; None for our own schema."""
        if is_text_input(self._source):
            return "text"
        with InputFile(self._source, self.called).open():  # an error if there is no such file
            pass
        sample = self._copy_rows(sample_file(Path(self._source), self.name))
        name = choose_format(sample, self.called, self._options)
        if name is not None and sample.container in ("parquet", "xlsx") and not reads_any_table(name):
            from rejoinder.data.importers._containers import read_rows

            file = File(Path(self._source), self.called, self.stem)
            self._copy, self._place = write_rows([row for _, row in read_rows(file, self._options)]), RowPlace
        return name

    def _copy_rows(self, sample: Sample) -> Sample:
        """Copy JSON that is not in UTF-8, or whose rows are in an object, to JSONL; return the sample of the copy."""
        path = Path(self._source)
        if sample.container != "json":
            return sample
        if not sample.encoding.startswith("utf-8") and not (sample.encoding == "cp1252" and is_own(sample)):
            self._copy = path = spool_as_utf8(path, sample.encoding)
            self._notes.append(f"encoding {sample.encoding}")
            sample = sample_file(path, self.name)
        around = read_row_list(path, self.called, sample, self._options)
        if around is None:
            return sample
        self._remove_copy()
        self._copy, self._place, self._has_list = write_rows(around.rows), RowPlace, True
        self._notes.append(f"rows = {around.where}")
        return sample_file(self._copy, self.name)

    def suggest_replies(self) -> str:
        """Return what to type about a table without replies: its other columns may be systems; empty if it has none."""
        in_meta = {column for column, field in self.tally.columns.items() if field == f"meta.{column}"}
        columns = list_names(sorted(self.tally.unused | in_meta), _MOST_SYSTEMS)
        if self.imported_as is None or not columns:
            return ""
        return (
            f"name the columns that hold replies (no field of ours: {columns}): "
            f"{suggest_score(Place(self.called, 1), '--field response:NAME=COLUMN')}"
        )

    def first_items(self) -> Iterator[Item]:
        """The first items, to see which fields they have."""
        records = (record for record, _ in self.records(allow_empty=True))
        return itertools.islice((record for record in records if isinstance(record, Item)), _FIRST_ITEMS)

    def close(self) -> None:
        """Delete the file that standard input, a pipe or a table was copied to."""
        self._remove_copy()
        if self._spool is not None:
            remove_spool(self._spool)

    def _remove_copy(self) -> None:
        if self._copy is not None:
            remove_spool(self._copy)

    def _name(self) -> str:
        """The name a run uses, wherever the file is."""
        if self._source.startswith(DATASET):
            return self._source
        if is_text_input(self._source):
            return PREFIX + ",".join(printable(Path(name).name) for name in split_names(self._source))
        if self._source in ("-", "/dev/stdin"):
            return "<stdin>"
        return (
            "<pipe>"
            if is_pipe(self._source) and not has_pipe_name(self._source)
            else printable(Path(self._source).name)
        )

    def _measure(self) -> tuple[str, int]:
        if is_text_input(self._source):
            parts = [InputFile(name).measure() for name in split_names(self._source)]
            return sha256_of_bytes("\n".join(digest for digest, _ in parts).encode()), sum(size for _, size in parts)
        if not self._source.startswith(DATASET):
            return InputFile(self._source, self.called).measure()
        from rejoinder.data.datasets import dataset

        name = self._source.removeprefix(DATASET)
        files = dataset(name).files
        description = "\n".join([name, *(f"{f.path} {f.sha256}" for f in files)])
        return sha256_of_bytes(description.encode()), sum(f.size for f in files)


def describe_import(name: str, form: str, columns: str, rest: Sequence[str]) -> str:
    """Return one line about a file in another format: what was taken for what, not used, left out."""
    return "; ".join([f"{name}: read as {form}", *([columns] if columns else []), *rest])


def describe_tally(name: str, form: str, tally: ImportTally) -> str:
    """Return the same line from what was counted while the file was read."""
    return describe_import(name, form, tally.describe_columns(), tally.describe_rest())


def announce_import(name: str, form: str, tally: ImportTally) -> None:
    """Say what was taken for what: on the terminal always, in Python as a warning where something was not used."""
    if _LOG.isEnabledFor(logging.INFO):
        _LOG.info("%s", describe_tally(name, form, tally))
    elif not tally.is_clean:
        warnings.warn(describe_tally(name, form, tally), InputWarning, stacklevel=_count_own_frames() + 1)


def _count_own_frames() -> int:
    """Return how many calls are ours: a warning names the line of the user's that asked for the file."""
    frame: FrameType | None = sys._getframe(1)
    number = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rejoinder":
        frame, number = frame.f_back, number + 1
    return number


def split_system(source: str) -> tuple[str | None, str]:
    """Return the system and the file of ``NAME=FILE``; a file whose own name has a "=" is a file."""
    name, equals, file = source.partition("=")
    if not equals or not name.strip() or not file or "/" in name or os.path.lexists(source) or ":" in name:
        return None, source
    return name.strip(), file


def open_inputs(sources: Sequence[Any], options: ImportOptions | None = None) -> list[Input]:
    """Return the inputs, and those of the files of a folder or pattern of tables in its place."""
    inputs: list[Input] = []
    for source in sources:
        if isinstance(source, Input):
            inputs.append(source)
            continue
        system, place = split_system(str(source)) if isinstance(source, str | os.PathLike) else (None, "")
        folder = find_input_folder(place) if place else None
        if folder is None:
            inputs.append(Input(source, options=options))
            continue
        chosen = replace(options or ImportOptions(), system=system) if system else options
        _LOG.info("%s", folder.describe())
        inputs += [Input(path, options=chosen, name=name) for name, path in folder.files.items()]
    return inputs


def read(*inputs: Any, allow_empty: bool = False, options: ImportOptions | None = None) -> Collection:
    """Read files or tables (or ``dataset:NAME``), check the records, and return them as one collection.

    - ``inputs``: files in our schema, tables and chat logs in other formats, folders of these, ``NAME=FILE`` to name
      the system that replied, ``text:CONTEXTS,REPLIES``, ``-`` for standard input, ``dataset:NAME``, or tables in
      memory: DataFrames, Arrow tables, datasets, lists of dictionaries.
    - ``allow_empty``: whether an empty reply is allowed; it is an error otherwise.
    - ``options``: how to read files in other formats: columns, system, sheet.

    The collection's ``imported`` says what was taken for what.

    >>> import rejoinder
    >>> data = rejoinder.read("chats.jsonl")
    >>> sorted({response.system for response in data.responses.values()})
    ['attentive', 'drifter', 'parrot', 'plain']
    >>> rejoinder.read([{"question": "How are you?", "answer": "Fine.", "model": "plain"}]).imported
    ['<list>: read as jsonl; question -> context, answer -> response, model -> system; left out: nothing']
    """
    collection, sources = Collection(), open_inputs(inputs, options)
    try:
        for record in merge_records(sources, allow_empty):
            collection.add(record)
        for source in sources:
            if source.imported_as is not None:
                collection.imported.append(source.report)
                collection.rows = source.tally.rows if len(inputs) == 1 else None
    finally:
        for source in sources:
            source.close()
    return collection


def merge_records(sources: Sequence[Input], allow_empty: bool) -> Iterator[Record]:
    """Yield the records of several inputs as those of one; an item that several of them have comes once."""
    merger = RecordMerger()
    for source in sources:
        merger.begin(source.stem)
        for record, place in source.records(allow_empty):
            merged = merger.add(record, place, source.tally if source.imported_as is not None else None)
            if merged is not None:
                yield merged
    merger.close()


def import_(
    name: str | None, path: str | Path, options: ImportOptions | None = None, tally: ImportTally | None = None
) -> Iterator[Record]:
    """Yield the records of a foreign file or folder, one at a time, checked like those of our own files.

    - ``name``: the format, one of ``list_("importers")``; None to find it from the file.
    - ``path``: the file or folder.
    - ``options``: how to read it; an option that the importer does not take is an error.
    - ``tally``: filled in while reading: how many records came out, what was left out and why.

    >>> import rejoinder
    >>> tally = rejoinder.data.ImportTally()
    >>> rejoinder.write(rejoinder.import_("openai", "logs.jsonl", tally=tally), "imported.jsonl")
    24
    >>> tally.records["response"]
    12
    """
    if name is None:
        return _import_any(path, options, tally if tally is not None else ImportTally())
    records = import_places(name, path, options, tally)
    return (record for record, _ in records)


def _import_any(path: str | Path, options: ImportOptions | None, tally: ImportTally) -> Iterator[Record]:
    """Yield the records of a file whose format is found from its content."""
    source, checker = Input(path, options=options), IdChecker()
    try:
        for record, place in source.records(allow_empty=options is not None and options.empty == "keep"):
            if checker.add(record, place):
                if source.imported_as is None:
                    source.tally.add(record)
                yield record
        vars(tally).update(vars(source.tally))
    finally:
        source.close()


DEFAULT_CORPORA = ("dataset:corpus/dialogues", "dataset:corpus/assistant")
# Those that have corpora whose licences allow commercial use.
PERMISSIVE_CORPORA = (*DEFAULT_CORPORA, "dataset:corpus/permissive", "dataset:corpus/icsi")


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
