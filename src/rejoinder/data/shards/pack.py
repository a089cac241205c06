"""Records packed into shards of a fixed size, each conversation in one shard, each file named after its content.

Records are packed in input order, and only one shard is open at a time: the records of a conversation must be together,
an item before its responses (``grouping`` sorts records that are not).
"""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, TypeAlias, get_args

from rejoinder.data import remote
from rejoinder.data.grouping import group_by_conversation
from rejoinder.data.inputs import Input
from rejoinder.data.parquet import RecordWriter, write_parquet
from rejoinder.data.reader import InputFile
from rejoinder.data.schema import Place
from rejoinder.data.shards.conversations import find_shared, save_digests, sort_digests
from rejoinder.data.shards.files import fetch_local, is_shard, is_sharded, list_data_files
from rejoinder.data.shards.manifest import ShardEntry, ShardManifest
from rejoinder.data.shards.stats import ShardStats, write_shard_manifest
from rejoinder.data.writer import encode_record, write
from rejoinder.errors import EmptyError, InputError
from rejoinder.files import put_in_place
from rejoinder.types import Record


class ShardWriter:
    """Writes shards to a folder or an address; files that are already there are not sent again."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._remote = remote.RemoteFolder(where) if remote.is_remote(where) else None
        self._folder = Path(where)
        self._new: list[Path] = []
        self._created = self._remote is None and not self._folder.exists()
        if self._remote is not None:
            self._remote.check()
            self._sizes = {one.name: one.size for one in self._remote.files(allow_missing=True)}
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{where}: cannot be created as a folder of shards ({error.strerror})") from None

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Provide a temporary folder, beside the shards if they are local."""
        beside = None if self._remote is not None else self._folder
        with tempfile.TemporaryDirectory(prefix=".packing-", dir=beside) as folder:
            yield Path(folder)

    def put(self, source: Path, name: str) -> None:
        """Move a file there, unless it is already there."""
        if self._remote is None:
            os.chmod(source, 0o644)
            if not (self._folder / name).exists():
                self._new.append(self._folder / name)
            put_in_place(source, self._folder / name)
        elif self._sizes.get(name) != source.stat().st_size:
            self._remote.send(source, name)

    def undo(self) -> None:
        """Delete what was written to a local folder, and the folder itself if it is new and empty."""
        for path in self._new:
            path.unlink(missing_ok=True)
        if self._created:
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def close(self, manifest: ShardManifest) -> None:
        """Write the catalogue; raise if there are other shards too."""
        others = self._names() - {entry.name for entry in manifest.entries}
        if others:
            raise InputError(
                f"{remote.redact_address(self._where)}: also holds other shards ({min(others)}); choose another output"
            )
        write_shard_manifest(manifest, self._where)

    def _names(self) -> set[str]:
        if self._remote is not None:
            return {one.name for one in self._remote.files() if is_shard(one.name)}
        return {path.name for path in self._folder.iterdir() if is_shard(path.name)}


Form: TypeAlias = Literal["parquet", "jsonl", "jsonl.gz"]
FORMS: tuple[str, ...] = get_args(Form)
RECORDS_PER_SHARD = 100_000
_GATHER_HINT = "bring the records of each conversation together first (gather)"


class JsonlWriter:
    """Writes a JSONL file; the same records give the same bytes."""

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
        self._file.write(encode_record(record))

    def __enter__(self) -> JsonlWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._raw.close()


def open_record_writer(path: Path, form: Form) -> RecordWriter | JsonlWriter:
    """Open a file of records for writing."""
    return RecordWriter(path) if form == "parquet" else JsonlWriter(path, form == "jsonl.gz")


def shards(
    files: Sequence[str | Path] | str | Path,
    output: str | Path,
    *,
    form: Form = "parquet",
    records: int = RECORDS_PER_SHARD,
    gather: bool = False,
) -> ShardManifest:
    """Write the records of files as shards, and return their catalogue, which is written last.

    - ``files``: files in our schema, folders, patterns or addresses of an object store.
    - ``output``: the folder or the address to write to.
    - ``form``: ``parquet``, ``jsonl`` or ``jsonl.gz``.
    - ``records``: about how many records per shard; no conversation is split between shards.
    - ``gather``: bring the records of each conversation together first.

    >>> import rejoinder
    >>> len(rejoinder.shards("dialogues.jsonl", "packed", form="jsonl", records=20).entries)
    3
    """
    names = [str(files)] if isinstance(files, str | Path) else [str(one) for one in files]
    placed_records = read_placed_records(names)
    return pack_records(group_by_conversation(placed_records) if gather else placed_records, str(output), form, records)


def read_placed_records(files: Sequence[str]) -> Iterator[tuple[Record, Place]]:
    """Yield the records of files, folders, patterns and addresses, each with its place."""
    for one in files:
        if not is_sharded(one):
            yield from _read_input(Input(one))
            continue
        for shard in list_data_files(one):
            with fetch_local(shard) as path:
                try:
                    yield from _read_input(Input(path, called=shard.name))
                except EmptyError:  # an empty shard adds nothing
                    continue


def _read_input(source: Input) -> Iterator[tuple[Record, Place]]:
    try:
        yield from source.records(allow_empty=True)
    finally:
        source.close()


def pack_records(
    records: Iterable[tuple[Record, Place]], where: str, form: Form = "parquet", size: int = RECORDS_PER_SHARD
) -> ShardManifest:
    """Write records as shards of about ``size`` records, and their catalogue last."""
    writer = ShardWriter(where)
    try:
        with writer.temporary_folder() as folder:
            packer = _ShardPacker(writer, folder, form, size)
            try:
                for record, place in records:
                    packer.add(record, place)
            finally:
                packer.stop()
            manifest = packer.end()
        writer.close(manifest)
    except InputError:  # this cannot be resumed: leave nothing behind
        writer.undo()
        raise
    return manifest


def write_record_file(records: Iterable[Record], path: str) -> int:
    """Write records to one file, in the format of its name, and return how many there were."""
    if not path.endswith(".parquet"):
        return write(records, path)
    with tempfile.TemporaryDirectory(prefix=".packing-", dir=Path(path).absolute().parent) as folder:
        count = write_parquet(records, Path(folder) / "part")
        put_in_place(Path(folder) / "part", path)
    return count


class _ShardPacker:
    """Packs records: the shard being written, and the entries of those before it."""

    def __init__(self, writer: ShardWriter, folder: Path, form: Form, size: int) -> None:
        self._writer, self._folder, self._form, self._size = writer, folder, form, size
        self._entries: list[ShardEntry] = []
        self._begin()

    def add(self, record: Record, place: Place) -> None:
        conversation = self._stats.conversation(record)
        if conversation is None:
            raise InputError(f"{place}: the record that this one refers to is not shortly before it; {_GATHER_HINT}")
        if self._n >= self._size and conversation not in self._conversations:
            self._close()
            self._begin()
        self._conversations.add(conversation)
        self._stats.add(record)
        self._file.add(record)
        self._n += 1

    def stop(self) -> None:
        self._file.__exit__(None, None, None)

    def end(self) -> ShardManifest:
        """Close the last shard; raise if any conversation is in two shards."""
        if self._n:
            self._close()
        if not self._entries:
            raise InputError("there are no records to write")
        shared = find_shared([self._digests(n) for n in range(len(self._entries))])
        if shared is not None:
            raise InputError(f"the records of a conversation are too far apart to be in one shard; {_GATHER_HINT}")
        return ShardManifest(self._entries)

    def _begin(self) -> None:
        self._stats, self._n = ShardStats(), 0
        self._conversations: set[str] = set()
        self._file = open_record_writer(self._folder / "part", self._form)

    def _close(self) -> None:
        self.stop()
        path, number = self._folder / "part", len(self._entries)
        save_digests(sort_digests((name,) for name in self._conversations), self._digests(number))
        sha256, size = InputFile(path).measure()
        name = f"{number:05}-{sha256[:12]}.{self._form}"
        self._writer.put(path, name)
        self._entries.append(ShardEntry(name, size, sha256, self._stats.records, len(self._conversations)))

    def _digests(self, number: int) -> Path:
        return self._folder / f"{number}.npy"
