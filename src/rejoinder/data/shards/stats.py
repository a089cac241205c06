"""What a shard holds: its records by kind and the conversations that they are of, in one pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rejoinder.data import remote
from rejoinder.data.reader import EmptyError, Source, stream
from rejoinder.data.shards import manifest
from rejoinder.data.shards.conversations import Digests, digests, first_shared, packed, save, unpacked
from rejoinder.data.shards.files import Shard, is_sharded, local, shards_of
from rejoinder.data.shards.manifest import Catalogue, Entry
from rejoinder.engines.base import Engine, Work
from rejoinder.errors import InputError
from rejoinder.files import whole_file
from rejoinder.types import Dialogue, Item, Preference, Question, Rating, Record, Response


class Survey:
    """Counts records as they come; ids are remembered as long as the shard is looked at."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}
        self._of_item: dict[str, str] = {}
        self._of_response: dict[str, str] = {}
        self._dialogues: set[str] = set()
        self._replies: dict[tuple[str, str], None] = {}  # (system, item), each once

    def add(self, record: Record) -> None:
        """Enter a record."""
        kind = type(record).__name__.lower()
        self.records[kind] = self.records.get(kind, 0) + 1
        match record:
            case Item() | Question():
                self._of_item[record.id] = record.dialogue or record.id
            case Dialogue():
                self._dialogues.add(record.id)
            case Response():
                self._of_response[record.id] = record.item
                self._replies[record.system, record.item] = None

    def conversation(self, record: Record) -> str | None:
        """The conversation that a record is of; None where it points at what has not come."""
        match record:
            case Item() | Question():
                return record.dialogue or record.id
            case Dialogue():
                return record.id
            case Response() | Preference():
                return self._of_item.get(record.item)
            case Rating():
                if record.response is None:
                    return record.dialogue
                return self._of_item.get(self._of_response.get(record.response, ""))

    def conversations(self) -> set[str]:
        """The conversations so far."""
        return self._dialogues | set(self._of_item.values())

    def digests(self) -> Digests:
        """The digests of whose replies are of which conversation."""
        return digests({(system, self._of_item.get(item, item)) for system, item in self._replies})


def survey(path: Path, name: str) -> Survey:
    """What a file holds; errors call it by its name."""
    found = Survey()
    try:
        for record in stream(path, allow_empty=True, name=name):
            found.add(record)
    except EmptyError:  # a shard of nothing is counted as such
        pass
    return found


class SurveyWorker:
    """Surveys shards, on whatever machine."""

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """A shard's entry in the catalogue, and the digests of its conversations as text."""
        shard = Shard(*task)
        with local(shard) as path:
            sha256, size = Source(path).measure()
            found = survey(path, shard.name)
        entry = Entry(shard.name, size, sha256, found.records, len(found.conversations()))
        return [list(entry), packed(found.digests())]

    def close(self) -> None:
        """There is nothing to let go of."""


Progress = Callable[[int, int], None]


def list_shards(where: str, engine: Engine, progress: Progress | None = None) -> Catalogue:
    """What every shard of a folder holds; raises where two hold the same, or share a conversation."""
    if not is_sharded(where) or not (remote.is_remote(where) or Path(where).is_dir()):
        raise InputError(f"{where}: is no folder of shards; a catalogue is of a folder or its address")
    shards = shards_of(where, listed=False)
    entries: list[Entry | None] = [None] * len(shards)
    ready, total = 0, sum(shard.size for shard in shards)
    with tempfile.TemporaryDirectory(prefix="rejoinder-survey-") as folder:
        work = Work("rejoinder.data.shards.stats:SurveyWorker")
        for outcome in engine.compute(work, (list(shard) for shard in shards)):
            entry, digests = outcome.value
            entries[outcome.number] = Entry(*entry)
            save(unpacked(digests), Path(folder) / f"{outcome.number}.npy")
            ready += shards[outcome.number].size
            if progress is not None:
                progress(ready, total)
        shared = first_shared([Path(folder) / f"{n}.npy" for n in range(len(shards))])
    if shared is not None:
        first, second = shards[shared.first].name, shards[shared.second].name
        raise InputError(
            f"the shards {first} and {second} both have replies of one system in one conversation; put it into one of "
            "them (rejoinder shards write --gather does)"
        )
    found = Catalogue([entry for entry in entries if entry is not None])
    return manifest.decode(manifest.encode(found), remote.shown(where))


def write_catalogue(found: Catalogue, where: str) -> None:
    """Write a catalogue beside its shards."""
    raw = manifest.encode(found)
    if remote.is_remote(where):
        remote.RemoteFolder(where).put(manifest.NAME, raw)
        return
    with whole_file(Path(where) / manifest.NAME) as file:
        file.write(raw)


def check_shards(where: str, engine: Engine, progress: Progress | None = None) -> Catalogue:
    """The catalogue of a folder, when all that it says is true."""
    shards = shards_of(where)
    if any(shard.sha256 is None for shard in shards):
        raise InputError(f"{remote.shown(where)}: has no catalogue; make one with: rejoinder shards catalogue")
    found = list_shards(where, engine, progress)
    for shard, entry in zip(shards, found.entries, strict=True):
        if shard.sha256 != entry.sha256:
            raise manifest.changed(shard.name, "its sha256 is another")
        if shard.responses != entry.records.get("response", 0):
            raise manifest.changed(shard.name, "its counts are others")
    return found
