"""Words on disk sorted by their bytes, one per line: merged as streams, found by binary search.

The vocabularies of any number of shards are merged in one pass with one block of each in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.one_field.column import DiskColumn, open_column
from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import load_array

ROLE = "vocabulary"
WORDS_FILE = "words.txt"
_BLOCK = 2**16  # bytes of each shard's words in memory
_ENTRIES = 2**13  # numbers in memory before they are written


def save_words(folder: Path, words: Iterable[str]) -> None:
    """Write sorted words."""
    with (folder / WORDS_FILE).open("wb") as file:
        for word in words:
            file.write(word.encode() + b"\n")


def merge_words(postings: Sequence[Path], folder: Path, numbers: Path) -> int:
    """Write the words of all shards with the number of passages that contain each; return how many words there are.

    For each shard, the numbers of its words in the whole index are written as a column into ``numbers``.
    """
    count, offset = 0, 0
    with ExitStack() as stack, (folder / WORDS_FILE).open("wb") as file:
        enter = stack.enter_context
        places = _NumberBuffer(enter(open_column(folder, "offsets", np.int64)))
        frequencies = _NumberBuffer(enter(open_column(folder, "frequencies", np.int64)))
        own = [_NumberBuffer(enter(open_column(numbers, str(shard), np.int64))) for shard in range(len(postings))]
        places.add(0)
        streams = [_read_entries(path, shard) for shard, path in enumerate(postings)]
        for word, entries in groupby(heapq.merge(*streams), key=itemgetter(0)):
            total = 0
            for _, shard, frequency in entries:
                own[shard].add(count)
                total += frequency
            frequencies.add(total)
            offset += file.write(word + b"\n")
            places.add(offset)
            count += 1
        for buffer in (places, frequencies, *own):
            buffer.flush()
    return count


class _NumberBuffer:
    """Collects numbers for a column, which are written in blocks."""

    def __init__(self, column: DiskColumn) -> None:
        self._column = column
        self._numbers: list[int] = []

    def add(self, number: int) -> None:
        self._numbers.append(number)
        if len(self._numbers) >= _ENTRIES:
            self.flush()

    def flush(self) -> None:
        self._column.add(self._numbers)
        self._numbers.clear()


def _read_entries(folder: Path, shard: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield each word of a shard, the shard's number, and how many of its passages contain the word."""
    first, offset = 0, 0
    while True:
        with (folder / WORDS_FILE).open("rb") as file:
            file.seek(offset)
            words = file.readlines(_BLOCK)
            offset = file.tell()
        if not words:
            return
        starts = load_array(folder, "starts")[first : first + len(words) + 1]
        if len(starts) != len(words) + 1:
            raise index_damage_error(folder, "its files do not match")
        frequencies = np.diff(starts).tolist()
        del starts
        first += len(words)
        for word, frequency in zip(words, frequencies, strict=True):
            yield word[:-1], shard, frequency


class WordIndex:
    """The words of a whole index, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self._offsets: NDArray[np.int64] = load_array(folder, "offsets")
        self.frequencies: NDArray[np.int64] = load_array(folder, "frequencies")
        if len(self._offsets) != len(self.frequencies) + 1:
            raise index_damage_error(folder, "its files do not match")
        self._bytes: NDArray[np.uint8] = np.empty(0, np.uint8)
        if len(self.frequencies):
            self._bytes = np.asarray(
                np.memmap(folder / WORDS_FILE, mode="r", dtype=np.uint8)
            )  # its slices are cheaper than those of a memmap

    def __len__(self) -> int:
        return len(self.frequencies)

    def find(self, word: str) -> int | None:
        """Return the number of a word, or None if the index does not have it."""
        wanted = word.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._word(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._word(low) == wanted else None

    def _word(self, number: int) -> bytes:
        begin, end = self._offsets[number : number + 2]
        return self._bytes[begin : end - 1].tobytes()
