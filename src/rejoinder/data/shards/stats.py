"""What a shard holds: its records by kind and their conversations, counted in one pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rejoinder.data import remote
from rejoinder.data.reader import InputFile, stream
from rejoinder.data.shards import manifest
from rejoinder.data.shards.conversations import (
    Digests,
    find_shared,
    pack_digests,
    save_digests,
    sort_digests,
    unpack_digests,
)
from rejoinder.data.shards.files import Shard, fetch_local, is_sharded, shards_of
from rejoinder.data.shards.manifest import ShardEntry, ShardManifest
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.errors import EmptyError, InputError
from rejoinder.files import atomic_write
from rejoinder.types import Dialogue, Item, Preference, Question, Rating, Record, Response


class ShardStats:
    """Counts records as they come; ids are remembered while the shard is being read."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}
        self._conversation_by_item: dict[str, str] = {}
        self._item_by_response: dict[str, str] = {}
        self._dialogues: set[str] = set()
        self._replies: dict[tuple[str, str], None] = {}  # (system, item), each once

    def add(self, record: Record) -> None:
        """Count a record."""
        kind = type(record).__name__.lower()
        self.records[kind] = self.records.get(kind, 0) + 1
        match record:
            case Item() | Question():
                self._conversation_by_item[record.id] = record.dialogue or record.id
            case Dialogue():
                self._dialogues.add(record.id)
            case Response():
                self._item_by_response[record.id] = record.item
                self._replies[record.system, record.item] = None

    def conversation(self, record: Record) -> str | None:
        """Return the conversation of a record, or None if it refers to a record that has not come yet."""
        match record:
            case Item() | Question():
                return record.dialogue or record.id
            case Dialogue():
                return record.id
            case Response() | Preference():
                return self._conversation_by_item.get(record.item)
            case Rating():
                if record.response is None:
                    return record.dialogue
                return self._conversation_by_item.get(self._item_by_response.get(record.response, ""))

    def conversations(self) -> set[str]:
        """Return the conversations so far."""
        return self._dialogues | set(self._conversation_by_item.values())

    def digests(self) -> Digests:
        """Return the digests of (system, conversation) for all replies."""
        return sort_digests({(system, self._conversation_by_item.get(item, item)) for system, item in self._replies})


def read_shard_stats(path: Path, name: str) -> ShardStats:
    """Return what a file holds; errors call the file ``name``."""
    stats = ShardStats()
    try:
        for record in stream(path, allow_empty=True, name=name):
            stats.add(record)
    except EmptyError:  # an empty shard counts as having no records
        pass
    return stats


class SurveyWorker:
    """Counts what shards hold, on any machine."""

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """Return a shard's entry in the catalogue, and the digests of its conversations as text."""
        shard = Shard(*task)
        with fetch_local(shard) as path:
            sha256, size = InputFile(path).measure()
            stats = read_shard_stats(path, shard.name)
        entry = ShardEntry(shard.name, size, sha256, stats.records, len(stats.conversations()))
        return [list(entry), pack_digests(stats.digests())]

    def close(self) -> None:
        """Nothing to release."""


Progress = Callable[[int, int], None]


def build_shard_manifest(where: str, engine: Engine, progress: Progress | None = None) -> ShardManifest:
    """Return what each shard of a folder holds; raise if two are the same or share a conversation."""
    if not is_sharded(where) or not (remote.is_remote(where) or Path(where).is_dir()):
        raise InputError(f"{where}: is not a folder of shards; name a folder or its address")
    shards = shards_of(where, check=False)
    entries: list[ShardEntry | None] = [None] * len(shards)
    ready, total = 0, sum(shard.size for shard in shards)
    with tempfile.TemporaryDirectory(prefix="rejoinder-survey-") as folder:
        worker = WorkerSpec("rejoinder.data.shards.stats:SurveyWorker")
        for result in engine.compute(worker, (list(shard) for shard in shards)):
            entry, digests = result.value
            entries[result.number] = ShardEntry(*entry)
            save_digests(unpack_digests(digests), Path(folder) / f"{result.number}.npy")
            ready += shards[result.number].size
            if progress is not None:
                progress(ready, total)
        shared = find_shared([Path(folder) / f"{n}.npy" for n in range(len(shards))])
    if shared is not None:
        first, second = shards[shared.first].name, shards[shared.second].name
        raise InputError(
            f"the shards {first} and {second} both have replies of one system in the same conversation; put them into "
            "one shard (with: rejoinder shards write --gather)"
        )
    built = ShardManifest([entry for entry in entries if entry is not None])
    return manifest.decode_manifest(manifest.encode_manifest(built), remote.redact_address(where))


def write_shard_manifest(content: ShardManifest, where: str) -> None:
    """Write a catalogue into the folder of its shards."""
    raw = manifest.encode_manifest(content)
    if remote.is_remote(where):
        remote.RemoteFolder(where).put(manifest.NAME, raw)
        return
    with atomic_write(Path(where) / manifest.NAME) as file:
        file.write(raw)


def check_shards(where: str, engine: Engine, progress: Progress | None = None) -> ShardManifest:
    """Return the catalogue of a folder; raise if anything in it is not true."""
    shards = shards_of(where)
    if any(shard.sha256 is None for shard in shards):
        raise InputError(
            f"{remote.redact_address(where)}: has no catalogue; build one with: rejoinder shards catalogue"
        )
    built = build_shard_manifest(where, engine, progress)
    for shard, entry in zip(shards, built.entries, strict=True):
        if shard.sha256 != entry.sha256:
            raise manifest.changed_shard_error(shard.name, "its sha256 differs")
        if shard.responses != entry.records.get("response", 0):
            raise manifest.changed_shard_error(shard.name, "its counts differ")
    return built
