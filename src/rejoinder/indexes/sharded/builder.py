"""Building an index of shards: each data file becomes one or more shards, once, and then all are merged.

The result of a data file is noted under its address, the digest of its content and of the settings, so that an
interrupted build resumes with what is missing. The manifest is written last, and the notes are then deleted.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson

from rejoinder.data.reader import InputFile, stream
from rejoinder.data.shards.files import Shard, check_shard, fetch_local
from rejoinder.data.writer import encode_record
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.errors import InputError
from rejoinder.files import atomic_write, sha256_of_bytes
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field.base import Passage, passages
from rejoinder.indexes.sharded.shard import SHARD_TURNS, split_into_index_shards
from rejoinder.types import Dialogue

BUILD_FOLDER = "building"
_SPLIT_FOLDER = "cut"
_ROLES = frozenset({"passages", "dialogues", "postings", "vocabulary", "weights", "vectors", "graph"})
_LAYOUT = 1  # of a shard; notes of another layout are ignored
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class IndexShard:
    """One shard of an index: its parts and their counts."""

    parts: tuple[_folder.IndexPart, ...]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> IndexShard:
        """Return an entry from its note."""
        return cls(tuple(_folder.IndexPart(p["role"], p["name"], p["files"]) for p in plain["parts"]), plain["counts"])


class IndexShardWriter(ABC):
    """Writes shards of one kind of index from data files."""

    address: ClassVar[str]  # names the notes of unfinished builds; must not change if the class is renamed

    def __init__(self, folder: str, settings: Mapping[str, Any], split: str | None, turns: int = SHARD_TURNS) -> None:
        self.folder = Path(folder)
        self.settings = settings
        self._split, self._turns = split, turns

    @abstractmethod
    def write(self, passages: Iterator[Passage]) -> IndexShard:
        """Write the passages of one shard."""

    def entries(self, passages: Iterator[Passage]) -> list[IndexShard]:
        """Write passages as one or more shards."""
        return [self.write(some) for some in split_into_index_shards(passages, self._turns)]

    def compute(self, task: Sequence[Any]) -> dict[str, Any]:
        """Return the entries of a data file, and whether they were written now."""
        shard = Shard(*task)
        with fetch_local(shard) as path:
            sha256 = InputFile(path).measure()[0]
            check_shard(shard, sha256)
            note = self.folder / BUILD_FOLDER / f"{self._address(sha256)}.json"
            if note.is_file() and self._is_whole(noted := orjson.loads(note.read_bytes())):
                return {"fresh": False, "entries": noted}
            entries = (
                [asdict(one) for one in self.entries(_read_turns(path, shard.name, self._split))]
                if path.stat().st_size
                else []
            )
        with atomic_write(note) as file:
            file.write(orjson.dumps(entries))
        return {"fresh": True, "entries": entries}

    def close(self) -> None:  # noqa: B027
        """Nothing to release."""

    def _is_whole(self, entries: Sequence[Mapping[str, Any]]) -> bool:
        return all(
            _folder.is_complete_part(self.folder, part) for entry in entries for part in IndexShard.of(entry).parts
        )

    def _address(self, sha256: str) -> str:
        key = [_LAYOUT, self.address, self.settings, self._split, self._turns, sha256]
        return sha256_of_bytes(orjson.dumps(key, option=orjson.OPT_SORT_KEYS))[:32]


def _read_turns(path: Path, name: str, split: str | None) -> Iterator[Passage]:
    """Return the turns of a data file's dialogues."""

    def dialogues() -> Iterator[Dialogue]:
        for record in stream(path, name=name):
            if not isinstance(record, Dialogue):
                kind = type(record).__name__.lower()
                raise InputError(f"{name}: found a record of kind {kind!r}; an index is built from dialogues only")
            yield record

    return passages(dialogues(), split)


def create_index_folder(folder: Path) -> None:
    """Create the folder of an index, or accept that of an interrupted build."""
    if (folder / _folder.MANIFEST).exists() or (
        folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / BUILD_FOLDER).is_dir()))
    ):
        raise InputError(f"{folder}: already exists; name another folder, or add to an index with: rejoinder index add")
    try:
        (folder / BUILD_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None


def write_index_shards(
    shards: Sequence[Shard], work: WorkerSpec, engine: Engine, progress: Progress | None = None
) -> list[IndexShard]:
    """Write the shards of data files, and return them in the order of the files."""
    done: list[list[Any]] = [[] for _ in shards]
    ready, total = 0, sum(shard.size for shard in shards)
    for result in engine.compute(work, [list(shard) for shard in shards]):
        done[result.number] = result.value["entries"]
        ready += shards[result.number].size
        if progress is not None:
            progress(ready, total)
    all_entries = [IndexShard.of(plain) for entries in done for plain in entries]
    if not all_entries:
        raise InputError("there is no passage to index; check the name of the split")
    return all_entries


def finish_index(folder: Path, manifest: _folder.IndexManifest, before: _folder.IndexManifest | None = None) -> None:
    """Write the manifest of the index, and delete what no longer belongs to it."""
    _folder.write_index_manifest(folder, manifest, before)
    named = {part.name for part in manifest.parts}
    for path in folder.iterdir():
        role = path.name.lstrip(".").replace(".", "-").partition("-")[0]
        if path.is_dir() and path.name not in named and role in _ROLES:
            shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(folder / BUILD_FOLDER, ignore_errors=True)


def split_dialogues(dialogues: Iterator[Dialogue], pieces: int, folder: Path) -> list[Shard]:
    """Distribute dialogues over data files in the folder of an index that is being built."""
    place = folder / BUILD_FOLDER / _SPLIT_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"{number:05}.jsonl" for number in range(pieces)]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for number, dialogue in enumerate(dialogues):
            files[number % pieces].write(encode_record(dialogue))
    return [Shard(path.name, str(path.resolve()), path.stat().st_size) for path in paths]
