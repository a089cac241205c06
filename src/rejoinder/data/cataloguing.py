"""Making a catalogue of shards that are there, and comparing one with them, by an engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from rejoinder.data import catalogue, remote
from rejoinder.data.catalogue import Catalogue, Entry
from rejoinder.data.conversations import first_shared, save, unpacked
from rejoinder.data.shards import is_sharded, shards_of
from rejoinder.engines.contract import Engine, Work
from rejoinder.errors import InputError
from rejoinder.files import whole_file

Progress = Callable[[int, int], None]


def list_shards(where: str, engine: Engine, progress: Progress | None = None) -> Catalogue:
    """What every shard of a folder holds; raises where two hold the same, or share a conversation."""
    if not is_sharded(where) or not (remote.is_remote(where) or Path(where).is_dir()):
        raise InputError(f"{where}: is no folder of shards; a catalogue is of a folder or its address")
    shards = shards_of(where, listed=False)
    entries: list[Entry | None] = [None] * len(shards)
    ready, total = 0, sum(shard.size for shard in shards)
    with tempfile.TemporaryDirectory(prefix="rejoinder-survey-") as folder:
        work = Work("rejoinder.data.survey:SurveyWorker")
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
    return catalogue.decode(catalogue.encode(found), remote.shown(where))


def write_catalogue(found: Catalogue, where: str) -> None:
    """Write a catalogue beside its shards."""
    raw = catalogue.encode(found)
    if remote.is_remote(where):
        remote.RemoteFolder(where).put(catalogue.NAME, raw)
        return
    with whole_file(Path(where) / catalogue.NAME) as file:
        file.write(raw)


def check_shards(where: str, engine: Engine, progress: Progress | None = None) -> Catalogue:
    """The catalogue of a folder, when all that it says is true."""
    shards = shards_of(where)
    if any(shard.sha256 is None for shard in shards):
        raise InputError(f"{remote.shown(where)}: has no catalogue; make one with: rejoinder shards catalogue")
    found = list_shards(where, engine, progress)
    for shard, entry in zip(shards, found.entries, strict=True):
        if shard.sha256 != entry.sha256:
            raise catalogue.changed(shard.name, "its sha256 is another")
        if shard.responses != entry.records.get("response", 0):
            raise catalogue.changed(shard.name, "its counts are others")
    return found
