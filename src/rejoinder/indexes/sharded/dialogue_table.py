"""The dialogues of all shards, by the hash of their id and by the digest of their texts (exact copies).

Two sorted columns of numbers and two of positions, memory-mapped. They are merged one range of hashes at a time: hashes
are uniform, so memory does not grow with the number of dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, brief
from rejoinder.indexes.one_field.column import open_column
from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.indexes.sharded.shard import ShardPassages, hash_dialogue_id

ROLE = "dialogues"
_AT_A_TIME = 2**22  # dialogues sorted at once


def merge_dialogues(passages: Sequence[Path], folder: Path) -> int:
    """Write the columns for the dialogues of all shards, whose ids must be unique; return how many there are."""
    sizes = [len(load_array(path, "ranks")) for path in passages]
    firsts = np.cumsum([0, *sizes])

    def name(number: int) -> str:
        shard = int(np.searchsorted(firsts, number, side="right")) - 1
        return ShardPassages(passages[shard]).name(number - int(firsts[shard]))

    total = int(firsts[-1])
    for column, keys, places in (("hashes", "hashes", "named"), ("digests", "digests", "saying")):
        with open_column(folder, keys, np.uint64) as sorted_keys, open_column(folder, places, np.int64) as numbers:
            for hashes, order in _sorted_ranges(passages, column, firsts, total):
                if column == "hashes":
                    _check_names(hashes, order, name)
                sorted_keys.add(hashes)
                numbers.add(order)
    np.save(folder / "firsts.npy", firsts)
    return total


def _sorted_ranges(
    passages: Sequence[Path], column: str, firsts: NDArray[np.int64], total: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield the sorted hashes of all shards with the numbers of their dialogues, one range of hashes at a time."""
    ranges = total // _AT_A_TIME + 1
    edges = [2**64 * step // ranges for step in range(ranges + 1)]
    for low, high in pairwise(edges):
        keys, places = [], []
        for first, path in zip(firsts, passages, strict=False):
            values = load_array(path, column)
            inside = np.flatnonzero((values >= np.uint64(low)) & (values <= np.uint64(high - 1)))
            keys.append(values[inside])
            places.append(inside + first)
        hashes, numbers = np.concatenate(keys), np.concatenate(places)
        order = np.argsort(hashes, kind="stable")
        yield hashes[order], numbers[order]


def _check_names(hashes: NDArray[np.uint64], numbers: NDArray[np.int64], name: Callable[[int], str]) -> None:
    for place in np.flatnonzero(hashes[1:] == hashes[:-1]):
        begin, end = np.searchsorted(hashes, hashes[place], "left"), np.searchsorted(hashes, hashes[place], "right")
        names = [name(int(number)) for number in numbers[begin:end]]
        if len(set(names)) < len(names):
            raise InputError(f"the dialogue {brief(names[0])} occurs twice; ids must be unique")


class DialogueTable:
    """The dialogues of an index by number; those of a shard follow those of the shard before."""

    def __init__(self, folder: Path, shard: Callable[[int], ShardPassages]) -> None:
        self._hashes, self._numbers_by_hash = load_array(folder, "hashes"), load_array(folder, "named")
        self._digests, self._numbers_by_digest = load_array(folder, "digests"), load_array(folder, "saying")
        self.firsts: NDArray[np.int64] = load_array(folder, "firsts")
        self._shard = shard
        if (
            not len(self._hashes)
            == len(self._numbers_by_hash)
            == len(self._digests)
            == len(self._numbers_by_digest)
            == self.firsts[-1]
        ):
            raise index_damage_error(folder, "its columns differ in length")

    def find(self, names: Collection[str]) -> list[int]:
        """Return the numbers of the dialogues with some ids; unknown ids are ignored."""
        numbers = []
        for name in names:
            for number in _find_equal(self._hashes, self._numbers_by_hash, hash_dialogue_id(name)):
                shard, own = self.place(number)
                if self._shard(shard).name(own) == name:
                    numbers.append(number)
        return numbers

    def copies(self, names: Collection[str]) -> list[tuple[int, int]]:
        """Return the shard and number of the dialogues with some ids, and of all dialogues with the same texts."""
        digests = {int(self._shard(shard).digests[own]) for shard, own in map(self.place, self.find(names))}
        return [
            self.place(number)
            for digest in digests
            for number in _find_equal(self._digests, self._numbers_by_digest, digest)
        ]

    def place(self, number: int) -> tuple[int, int]:
        """Return the shard of a dialogue, and its number there."""
        shard = int(np.searchsorted(self.firsts, number, side="right")) - 1
        return shard, number - int(self.firsts[shard])


def _find_equal(keys: NDArray[np.uint64], places: NDArray[np.int64], key: int) -> list[int]:
    wanted = np.uint64(key)
    begin, end = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    return [int(number) for number in places[begin:end]]
