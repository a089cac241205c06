"""The passages of an index on disk: JSONL with the offset of each line, and columns for what searches filter by.

The passages of a dialogue are consecutive, so a dialogue is a range of passages.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.errors import InputError, brief
from rejoinder.indexes.one_field.base import Hit, Passage
from rejoinder.indexes.one_field.folder import index_damage_error

ROLE = "passages"
PASSAGES_FILE = "passages.jsonl"
DIALOGUES_FILE = "dialogues.json"


def record_passages(passages: Iterable[Passage], folder: Path, known: Container[str] = ()) -> Iterator[str]:
    """Write passages and yield what a search compares of each; ``known`` holds dialogues that are already there."""
    dialogues = _DialogueColumns(known)
    offsets = array("q", [0])
    with (folder / PASSAGES_FILE).open("wb") as file:
        for passage in passages:
            offsets.append(offsets[-1] + file.write(_format_line(passage)))
            dialogues.add(passage)
            yield passage.text if passage.key is None else passage.key
    if len(offsets) == 1:
        raise InputError("there is no passage to index; check the name of the split")
    np.save(folder / "offsets.npy", np.asarray(offsets))
    dialogues.save(folder)


class _DialogueColumns:
    """The dialogues of the passages so far."""

    def __init__(self, known: Container[str]) -> None:
        self._known = known
        self._ids: dict[str, None] = {}
        self._splits: dict[str | None, int] = {}
        self._sizes, self._codes = array("i"), array("h")
        self._digests: list[hashlib.blake2b] = []
        self._last: Passage | None = None

    def add(self, passage: Passage) -> None:
        """Add a passage; those of a dialogue must be consecutive and in order."""
        name = passage.dialogue
        if self._last is None or name != self._last.dialogue:
            if name in self._ids or name in self._known:
                raise InputError(f"the dialogue {brief(name)} occurs twice; ids must be unique")
            self._ids[name] = None
            self._sizes.append(0)
            self._codes.append(self._splits.setdefault(passage.split, len(self._splits)))
            self._digests.append(hashlib.blake2b(digest_size=8))
        elif passage.turn <= self._last.turn:
            raise InputError(f"the passage {brief(passage.id)} follows turn {self._last.turn}; turns must be in order")
        self._sizes[-1] += 1
        self._digests[-1].update(f"{len(passage.text)} {passage.text}".encode())
        self._last = passage

    def save(self, folder: Path) -> None:
        """Write the columns."""
        np.save(folder / "sizes.npy", np.asarray(self._sizes))
        np.save(folder / "splits.npy", np.asarray(self._codes))
        digests = b"".join(digest.digest() for digest in self._digests)
        np.save(folder / "digests.npy", np.frombuffer(digests, "<u8"))
        names = {"ids": list(self._ids), "splits": list(self._splits)}
        (folder / DIALOGUES_FILE).write_bytes(orjson.dumps(names))


def _format_line(passage: Passage) -> bytes:
    row = {"dialogue": passage.dialogue, "turn": passage.turn, "speaker": passage.speaker, "text": passage.text}
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise InputError(f"the passage {brief(passage.id)} cannot be written as JSON ({error})") from None


class PassageStore:
    """All passages of an index in order; a text is read only when it becomes a hit."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._lines = [np.memmap(folder / PASSAGES_FILE, mode="r", dtype=np.uint8) for folder in folders]
        self._offsets = [load_array(folder, "offsets") for folder in folders]
        self._firsts = np.cumsum([0, *(len(offsets) - 1 for offsets in self._offsets)])
        self.ids: list[str] = []
        self.split_names: list[str | None] = []
        self.splits = np.concatenate([self._read_dialogues(folder) for folder in folders])
        self.sizes = np.concatenate([load_array(folder, "sizes") for folder in folders])
        self.digests = np.concatenate([load_array(folder, "digests") for folder in folders])
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])
        if (
            not len(self.ids) == len(self.sizes) == len(self.splits) == len(self.digests)
            or len(self) != self.starts[-1]
        ):
            raise index_damage_error(folders[0].parent, "its columns differ in length")

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def _read_dialogues(self, folder: Path) -> NDArray[np.int64]:
        """Add the ids of one part; return the splits of its dialogues as numbers."""
        try:
            dialogues = orjson.loads((folder / DIALOGUES_FILE).read_bytes())
            self.ids += dialogues["ids"]
            self.split_names += [name for name in dialogues["splits"] if name not in self.split_names]
            codes = np.array([self.split_names.index(name) for name in dialogues["splits"]], np.int64)
            return codes.take(load_array(folder, "splits"))
        except (ValueError, KeyError, TypeError, IndexError):
            raise index_damage_error(folder / DIALOGUES_FILE, "it cannot be read") from None

    @cached_property
    def dialogue_of(self) -> NDArray[np.int64]:
        """The number of each passage's dialogue."""
        return np.repeat(np.arange(len(self.ids)), self.sizes)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each dialogue by its id."""
        return {name: number for number, name in enumerate(self.ids)}

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each dialogue when sorted by id."""
        ranks = np.empty(len(self.ids), np.int64)
        ranks[sorted(range(len(self.ids)), key=self.ids.__getitem__)] = np.arange(len(self.ids))
        return ranks

    @cached_property
    def by_digest(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Dialogues sorted by the digests of their texts, and these digests."""
        order = np.argsort(self.digests, kind="stable")
        return order, self.digests[order]

    def best(self, numbers: NDArray[np.int32] | NDArray[np.int64], scores: NDArray[np.float64], k: int) -> list[Hit]:
        """Return the k best of some passages, best first, ties by dialogue and turn."""
        return [self.hit(number, score) for number, score in self.order(numbers, scores, k)]

    def order(
        self, numbers: NDArray[np.int32] | NDArray[np.int64], scores: NDArray[np.float64], k: int
    ) -> list[tuple[int, float]]:
        """Return the numbers and scores of the k best of some passages, best first, ties by dialogue and turn."""
        order = np.lexsort((numbers, self.ranks[self.dialogue_of[numbers]], -scores))[:k]
        return [(int(numbers[i]), float(scores[i])) for i in order]

    def text(self, number: int) -> str:
        """Return the text of a passage."""
        return self.hit(number, 0.0).text

    def hit(self, number: int, score: float) -> Hit:
        """Return a passage as a hit."""
        part = int(np.searchsorted(self._firsts, number, side="right")) - 1
        begin, end = self._offsets[part][number - self._firsts[part] :][:2]
        passage = read_passage(self._folders[part], self._lines[part], begin, end)
        split = self.split_names[self.splits[self.dialogue_of[number]]]
        return Hit(passage.id, passage.dialogue, passage.turn, passage.text, score, passage.speaker, split)


def read_passage(folder: Path, lines: NDArray[np.uint8], begin: int, end: int) -> Passage:
    """Return the passage whose line goes from ``begin`` to ``end``."""
    try:
        row = orjson.loads(lines[begin:end].tobytes())
        return Passage(row["dialogue"], row["turn"], row["text"], row["speaker"])
    except (ValueError, KeyError, TypeError):
        raise index_damage_error(folder / PASSAGES_FILE, f"the line at byte {begin:,} cannot be read") from None


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Return an array of a part, memory-mapped."""
    path = folder / f"{name}.npy"
    try:
        loaded: NDArray[Any] = np.asarray(
            np.load(path, mmap_mode="r", allow_pickle=False)
        )  # its slices are cheaper than those of a memmap
    except (OSError, ValueError, SyntaxError, EOFError, TokenError) as error:  # also from its header
        raise index_damage_error(path, str(error)) from None
    return loaded
