"""What a shard holds: its records by kind and the conversations that they are of, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rejoinder.data.catalogue import Entry
from rejoinder.data.conversations import Digests, digests, packed
from rejoinder.data.reading import EmptyError, Source, stream
from rejoinder.data.shards import Shard, local
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
