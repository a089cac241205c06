"""The passages of one shard: as in an unsharded index, but all columns are memory-mapped and no id is in memory.

In addition to what an index stores, a dialogue has the hash of its id (by which ``dialogue_table`` finds it among all
shards) and its rank when sorted by id (by which ties are broken).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.indexes.one_field.base import Hit, Passage
from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import DIALOGUES_FILE, PASSAGES_FILE, load_array, read_passage

SHARD_TURNS = 2**18  # per shard; the memory of a worker grows with it
_SHARD_LETTERS = 2**26
_SPLITS = "splits.json"


def split_into_index_shards(passages: Iterator[Passage], turns: int = SHARD_TURNS) -> Iterator[Iterator[Passage]]:
    """Yield passages in shards of whole dialogues; each shard must be consumed before the next."""
    ahead = next(passages, None)

    def next_shard() -> Iterator[Passage]:
        nonlocal ahead
        count, letters, last = 0, 0, None
        while ahead is not None:
            passage = ahead
            if passage.dialogue != last and (count >= turns or letters >= _SHARD_LETTERS):
                return
            ahead = next(passages, None)
            count, letters, last = count + 1, letters + len(passage.text), passage.dialogue
            yield passage

    while ahead is not None:
        yield next_shard()


def hash_dialogue_id(dialogue: str) -> int:
    """Return the hash of a dialogue's id."""
    return int.from_bytes(hashlib.blake2b(dialogue.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def map_dialogues(folder: Path) -> int:
    """Turn the ids of recorded passages into columns; return the number of dialogues."""
    path = folder / DIALOGUES_FILE
    dialogues = orjson.loads(path.read_bytes())
    ids: list[str] = dialogues["ids"]
    ranks = np.empty(len(ids), np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    np.save(folder / "ranks.npy", ranks)
    np.save(folder / "hashes.npy", np.array([hash_dialogue_id(name) for name in ids], np.uint64))
    sizes = folder / "sizes.npy"
    np.save(folder / "starts.npy", np.concatenate([[0], np.cumsum(np.load(sizes), dtype=np.int64)]))
    (folder / _SPLITS).write_bytes(orjson.dumps(dialogues["splits"]))
    path.unlink()
    sizes.unlink()
    return len(ids)


class ShardPassages:
    """All passages of a shard in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: NDArray[np.uint8] = np.asarray(np.memmap(folder / PASSAGES_FILE, mode="r", dtype=np.uint8))
        self._offsets: NDArray[np.int64] = load_array(folder, "offsets")
        self.starts: NDArray[np.int64] = load_array(folder, "starts")
        self._ranks: NDArray[np.int32] = load_array(folder, "ranks")
        if len(self._ranks) + 1 != len(self.starts) or len(self) != self.starts[-1]:
            raise index_damage_error(folder, "its columns differ in length")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def dialogues(self) -> int:
        """The number of dialogues."""
        return len(self.starts) - 1

    @cached_property
    def split_names(self) -> list[str | None]:
        """The splits of the shard's dialogues."""
        return shard_split_names(self._folder)

    @cached_property
    def splits(self) -> NDArray[np.int16]:
        """The number of each dialogue's split among these names."""
        codes: NDArray[np.int16] = load_array(self._folder, "splits")
        return codes

    @cached_property
    def digests(self) -> NDArray[np.uint64]:
        """The digest of each dialogue's texts."""
        values: NDArray[np.uint64] = load_array(self._folder, "digests")
        return values

    def name(self, dialogue: int) -> str:
        """Return the id of a dialogue."""
        return self._passage(int(self.starts[dialogue])).dialogue

    def order(
        self, numbers: NDArray[np.int32] | NDArray[np.int64], scores: NDArray[np.float64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the numbers and scores of the k best of some passages, best first, ties by dialogue and turn."""
        dialogues = np.searchsorted(self.starts, numbers, side="right") - 1
        order = np.lexsort((numbers, self._ranks[dialogues], -scores))[:k]
        return numbers[order].astype(np.int64), scores[order]

    def hit(self, number: int, score: float) -> Hit:
        """Return a passage as a hit."""
        passage = self._passage(number)
        dialogue = int(np.searchsorted(self.starts, number, side="right")) - 1
        split = self.split_names[int(self.splits[dialogue])]
        return Hit(passage.id, passage.dialogue, passage.turn, passage.text, score, passage.speaker, split)

    def _passage(self, number: int) -> Passage:
        begin, end = self._offsets[number : number + 2]
        return read_passage(self._folder, self._lines, begin, end)


def shard_split_names(folder: Path) -> list[str | None]:
    """Return the splits of a shard's dialogues."""
    try:
        return list(orjson.loads((folder / _SPLITS).read_bytes()))
    except (OSError, ValueError, TypeError):
        raise index_damage_error(folder / _SPLITS, "it cannot be read") from None
