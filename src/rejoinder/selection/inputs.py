"""The inputs of a test set, by the names that users type: files of dialogues, plain utterances, published sets.

A name may end in ``@SPLIT`` or ``@SPLIT+SPLIT``: then only these splits are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rejoinder.data.inputs import DATASET, Input
from rejoinder.data.reader import InputFile
from rejoinder.data.spool import is_pipe
from rejoinder.errors import InputError
from rejoinder.paths import printable
from rejoinder.selection.leakage import TrainingTexts
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question, Record, Response, Turn

UNKNOWN_LICENCE = "not known"


@dataclass(frozen=True)
class BuildInput:
    """A file or a published set, and which of its splits to use (empty for all)."""

    name: str
    splits: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> BuildInput:
        """Return the input that a user typed."""
        if text == "-" or is_pipe(text):
            what = "standard input," if text == "-" else f"{printable(text)}, a pipe,"
            raise InputError(f"a test set cannot be built from {what} which can be read only once; name a file")
        name, at, splits = text.rpartition("@")
        if not at or not name or "/" in splits or (not text.startswith(DATASET) and Path(text).exists()):
            return cls(text)
        return cls(name, frozenset(split for split in splits.split("+") if split))

    @property
    def is_plain(self) -> bool:
        """Whether it is a text file with one utterance per line."""
        if self.name.startswith(DATASET):
            return False
        return self.name.lower().removesuffix(".gz").endswith(".txt")

    def records(self) -> Iterator[Record]:
        """Yield the records of its splits; each line of a plain text becomes a dialogue of one turn."""
        has_records = False
        for record in _read_plain_text(self.name) if self.is_plain else _read_records(self.name):
            split = getattr(record, "split", None)
            if self.splits and isinstance(record, Dialogue | Question) and split not in self.splits:
                continue
            has_records = True
            yield record
        if not has_records:
            wanted = f" of the split {' or '.join(sorted(self.splits))}" if self.splits else ""
            raise InputError(f"{self.name}: has no records{wanted}")

    def facts(self, role: str) -> dict[str, Any]:
        """Return its entry in a card's list of inputs."""
        if self.is_plain:
            sha256 = InputFile(self.name).measure()[0]
        else:
            source = Input(self.name)
            sha256 = source.digest
            source.close()
        name = self.name if self.name.startswith(DATASET) else Path(self.name).name
        splits = f"@{'+'.join(sorted(self.splits))}" if self.splits else ""
        return {"role": role, "name": name + splits, "sha256": sha256, "licence": self._licence()}

    def _licence(self) -> str:
        if not self.name.startswith(DATASET):
            return UNKNOWN_LICENCE
        from rejoinder.data.datasets import dataset

        return dataset(self.name.removeprefix(DATASET)).licence


def _read_records(name: str) -> Iterator[Record]:
    source = Input(name)
    try:
        yield from (record for record, _ in source.records(allow_empty=True))
    finally:
        source.close()


def _read_plain_text(name: str) -> Iterator[Record]:
    for line in InputFile(name).lines():
        text = line.text.decode("utf-8", "replace").strip()
        yield Dialogue(f"{Path(name).name}:{line.place.line}", (Turn(text),))


class OpenedBuildInputs(NamedTuple):
    """The records that a test set is built from, and the card's entries for their files."""

    contexts: Iterable[Dialogue | Item | Question]
    repository: Iterable[Dialogue] | Corpus
    training: Iterable[Record] | TrainingTexts
    facts: list[Mapping[str, Any]]


Files: TypeAlias = str | Path | Sequence[str | Path]


def open_build_inputs(
    contexts: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    training: Iterable[Record] | TrainingTexts | Files,
    facts: Sequence[Mapping[str, Any]] = (),
) -> OpenedBuildInputs:
    """Open the inputs: records are passed through, files are read and get an entry for the card."""
    file_lists = [_list_files(one) for one in (contexts, repository, training)]
    file_facts = [
        one.facts(role)
        for role, files in zip(("dialogues", "repository", "training"), file_lists, strict=True)
        for one in files
    ]
    records: tuple[Any, Any, Any] = contexts, repository, training
    readers: tuple[Any, Any, Any] = read_context_records, read_repository, read_training_records
    parts = [read(files) if files else value for value, read, files in zip(records, readers, file_lists, strict=True)]
    return OpenedBuildInputs(parts[0], parts[1], parts[2], [*facts, *file_facts])


def _list_files(value: object) -> list[BuildInput]:
    """Return the named files; none if the value holds records."""
    if isinstance(value, str | Path):
        value = [value]
    if not isinstance(value, list | tuple):
        return []
    return [BuildInput.parse(str(one)) for one in value if isinstance(one, str | Path)]


def read_context_records(sources: Sequence[BuildInput]) -> Iterator[Dialogue | Item | Question]:
    """Yield what questions can be made from: dialogues, items with a reference, questions."""
    for source in sources:
        if source.is_plain:
            raise InputError(f"{source.name}: is a text of single utterances; questions need a file of dialogues")
        yield from (record for record in source.records() if isinstance(record, Dialogue | Item | Question))


def read_repository(sources: Sequence[BuildInput]) -> Iterator[Dialogue]:
    """Yield what candidates are searched in: dialogues, and each response as a dialogue of one turn."""
    for source in sources:
        for record in source.records():
            if isinstance(record, Dialogue):
                yield record
            elif isinstance(record, Response) and record.text.strip():
                yield Dialogue(record.id, (Turn(record.text),))


def read_training_records(sources: Sequence[BuildInput]) -> Iterator[Record]:
    """Yield what systems were trained on, records of any kind."""
    for source in sources:
        yield from source.records()
