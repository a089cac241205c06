"""How many character n-grams two texts share, for many pairs of texts at once.

Each n-gram becomes a whole number (its characters in as many bits as the alphabet needs, behind the number of its
pair); sorted, equal ones lie together and are counted. This is sacrebleu's count, several times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = Sequence[tuple[str, str]]
_BITS, _NARROW = 64, 32
_CHARACTERS = 2**17  # that are looked at together: more would not fit into a processor's cache


class Shared(NamedTuple):
    """Of each pair and order: the n-grams of the first text, of the second, and those that match."""

    first: Counts
    second: Counts
    matches: Counts


def shared(texts: Texts, order: int) -> Shared:
    """The counts of pairs of texts, from which white space has been taken."""
    lengths = np.array([[len(first), len(second)] for first, second in texts], np.int64).reshape(-1, 2)
    sizes = np.maximum(0, lengths[:, None, :] - np.arange(order)[None, :, None])
    matches = np.zeros((len(texts), order), np.int64)
    begin = 0
    while begin < len(texts):
        before = np.cumsum(lengths[begin:].sum(axis=1))
        end = begin + max(1, int(np.searchsorted(before, _CHARACTERS)))
        matches[begin:end] = _matches(texts[begin:end], order)
        begin = end
    return Shared(sizes[..., 0], sizes[..., 1], matches)


def _matches(texts: Texts, order: int) -> Counts:
    codes, alphabet = _codes("".join(text for pair in texts for text in pair))
    bits, owners = max(1, (alphabet - 1).bit_length()), (len(texts) - 1).bit_length()
    if owners + order * bits + 1 > _BITS:
        if len(texts) == 1:
            return np.array([[_by_hand(*texts[0], n) for n in range(1, order + 1)]], np.int64)
        half = len(texts) // 2
        return np.concatenate([_matches(texts[:half], order), _matches(texts[half:], order)])
    lengths = np.array([len(text) for pair in texts for text in pair], np.int64)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters until the end of the text
    whose = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    found = np.zeros((len(texts), order), np.int64)
    grams = np.zeros(len(codes) + 1, np.uint64)
    for n in range(1, order + 1):
        grams = (grams[:-1] << np.uint64(bits)) | codes[n - 1 :]
        whole = left[: len(grams)] >= n  # the others would reach into the next text
        owner = whose[: len(grams)]
        keys = ((owner >> np.uint64(1)) << np.uint64(n * bits) | grams) << np.uint64(1) | (owner & np.uint64(1))
        narrow = keys[whole].astype(np.uint32 if owners + n * bits < _NARROW else np.uint64)  # sorted sooner
        if not len(narrow):
            break
        narrow.sort()
        found[:, n - 1] = _counted(narrow, n * bits + 1, len(texts))
    return found


def _counted(keys: NDArray[np.unsignedinteger[Any]], behind: int, pairs: int) -> Counts:
    """The matches of each pair, from sorted keys: the pair (before so many bits), the n-gram, and the side."""
    one = keys.dtype.type(1)
    grams = keys >> one
    begins = np.flatnonzero(np.concatenate(([True], grams[1:] != grams[:-1])))
    there = np.add.reduceat((keys & one).astype(np.int64), begins)
    here = np.diff(np.append(begins, len(keys))) - there
    owners = (keys[begins] >> keys.dtype.type(behind)).astype(np.int64)
    return np.bincount(owners, np.minimum(here, there), pairs).astype(np.int64)


def _codes(text: str) -> tuple[NDArray[np.uint64], int]:
    """The characters as numbers from 0, and how many different ones there are."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    present = np.zeros(int(points.max(initial=0)) + 1, np.uint64)
    present[points] = 1
    return (np.cumsum(present) - np.uint64(1))[points], int(present.sum())


def _by_hand(first: str, second: str, n: int) -> int:
    """The matches of two texts with too many different characters for a number."""
    from collections import Counter

    here, there = (Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (first, second))
    return sum((here & there).values())
