"""Which dialogues of a corpus are copies of an item's own dialogue: those that share two adjacent turns with it.

Turns are compared only by their letters and digits, since copies differ in case, punctuation and tokenisation ("do
n't"). Two short adjacent turns ("How are you?" "Fine, thanks.") prove little, so a pair counts only from
``MIN_LETTERS`` letters on; the item's last turn with one of its references counts however short it is. A copy with a
changed word in every turn is recognised only when it is a hit: see ``is_near_copy``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Item

ROLE = "pairs"
MIN_LETTERS = 30  # in two adjacent turns
# The similarity (of 100) from which a turn with the one before it, and the turn alone, count as edited copies.
NEAR, ALIKE = 90.0, 80.0
_MIX = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio in 64 bits: an odd number without a pattern


def text_letters(tokens: Iterable[str], text: str) -> str:
    """Return a text's letters and digits in lower case (the text itself if it has none); ``tokens`` are its words."""
    return "".join(tokens).replace("'", "") or text.strip()


def hash_letters(letters: str) -> int:
    """Return the hash of a turn's letters."""
    return int.from_bytes(hashlib.blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def save_pairs(folder: Path, turns: NDArray[np.uint64], sizes: NDArray[np.int32]) -> None:
    """Write the pairs of adjacent turns of dialogues of some sizes, from the digests of the turns."""
    dialogue = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    inside = dialogue[:-1] == dialogue[1:]
    pairs, owners = _join_digests(turns[:-1], turns[1:])[inside], dialogue[:-1][inside]
    order = np.argsort(pairs, kind="stable")
    np.save(folder / "pairs.npy", pairs[order])
    np.save(folder / "owners.npy", owners[order])


def _join_digests(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        joined: NDArray[np.uint64] = (first * _MIX) ^ second
    return joined


class CopyFinder:
    """The pairs of adjacent turns of an index, and the dialogues they belong to."""

    def __init__(self, folder: Path) -> None:
        self._pairs: NDArray[np.uint64] = load_array(folder, "pairs")
        self._owners: NDArray[np.int32] = load_array(folder, "owners")
        if len(self._pairs) != len(self._owners):
            raise index_damage_error(folder, "its columns differ in length")

    def find(self, item: Item) -> set[int]:
        """Return the numbers of the dialogues that share a pair of turns with an item."""
        wanted = list(_item_pairs(item))
        if not wanted or not len(self._pairs):
            return set()
        digests = np.array(wanted, np.uint64)
        pairs = _join_digests(digests[:, 0], digests[:, 1])
        begins = np.searchsorted(self._pairs, pairs, side="left")
        ends = np.searchsorted(self._pairs, pairs, side="right")
        return {int(n) for begin, end in zip(begins, ends, strict=True) for n in self._owners[begin:end]}


def _item_pairs(item: Item) -> Iterator[tuple[int, int]]:
    """Yield the pairs of adjacent turns that identify an item's dialogue, as digests."""
    context, future = ([_copy_letters(turn.text) for turn in turns] for turns in (item.context, item.future))
    references = [_copy_letters(reference.text) for reference in item.references]
    plain = [*pairwise(context), *pairwise(future), *((r, future[0]) for r in references if future)]
    telling = [pair for pair in plain if sum(map(len, pair)) >= MIN_LETTERS]
    for first, second in [*telling, *((context[-1], r) for r in references if context)]:
        yield hash_letters(first), hash_letters(second)


def is_near_copy(item: Item, past: Sequence[str], response: str) -> bool:
    """Whether a turn follows nearly the same words as an item's reply and is nearly one of its references."""
    if not item.context or not past:
        return False
    from rapidfuzz.fuzz import ratio

    before, after = _copy_letters(item.context[-1].text), _copy_letters(past[-1])
    candidate = _copy_letters(response)
    return any(
        ratio(reply, candidate) >= ALIKE and ratio(before + reply, after + candidate) >= NEAR
        for reply in (_copy_letters(reference.text) for reference in item.references)
    )


def _copy_letters(text: str) -> str:
    return text_letters(get_tokenizer("words")(text), text)
