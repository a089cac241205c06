"""Which passages contain each word and how often, and the weight of each such posting.

Words are numbered as they come. The passages of word w are those from ``starts[w]`` to ``starts[w + 1]``, in order:
the layout of bm25s, in whose format the weights are stored.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NUMBER_BITS = 32


class Vocabulary(dict[str, int]):
    """A number for each word; a new word gets the next one."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class Postings(NamedTuple):
    """How often each word occurs in each passage that contains it, and how many words each passage has."""

    starts: NDArray[np.int64]
    passages: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @property
    def words(self) -> int:
        """The number of different words."""
        return len(self.starts) - 1


def count_postings(texts: Iterable[str], tokens_of: Callable[[str], Iterable[str]], words: Vocabulary) -> Postings:
    """Return the postings of texts; new words are added to the vocabulary."""
    flat, sizes = number_words(texts, tokens_of, words)
    return sort_postings(flat, np.repeat(np.arange(len(sizes)), sizes), sizes, len(words))


def number_words(
    texts: Iterable[str], tokens_of: Callable[[str], Iterable[str]], words: Vocabulary
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the word numbers of all texts in one array, and how many each text has."""
    flat, lengths = array("i"), array("i")
    for text in texts:
        before = len(flat)
        flat.extend(map(words.__getitem__, tokens_of(text)))
        lengths.append(len(flat) - before)
    return np.asarray(flat), np.asarray(lengths)


def sort_postings(
    flat: NDArray[np.int32], owners: NDArray[np.int64], lengths: NDArray[np.int32], n_words: int
) -> Postings:
    """Return the postings of a flat array of words, each with the passage that it belongs to."""
    # One number holds word and passage, so that one sort orders both.
    pairs = flat.astype(np.int64)
    pairs <<= _NUMBER_BITS
    pairs |= owners
    pairs.sort()
    firsts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]])) if len(pairs) else pairs
    counts = np.diff(firsts, append=len(pairs)).astype(np.int32)
    pairs = pairs[firsts]
    starts = np.zeros(n_words + 1, np.int64)
    np.cumsum(np.bincount(pairs >> _NUMBER_BITS, minlength=n_words), out=starts[1:])
    return Postings(starts, (pairs & (2**_NUMBER_BITS - 1)).astype(np.int32), counts, lengths)


def join_postings(first: Postings, second: Postings) -> Postings:
    """Return the postings of two sets of passages, one after the other; ``second`` knows all words of ``first``."""
    known = np.concatenate([first.starts, np.full(second.words - first.words, first.starts[-1])])
    size = len(first.passages) + len(second.passages)
    # For each word the passages of the first set come first; each moves by the number of the second's before it.
    first_places = np.arange(len(first.passages)) + np.repeat(second.starts[: first.words], np.diff(first.starts))
    second_places = np.arange(len(second.passages)) + np.repeat(known[1:], np.diff(second.starts))
    passages, counts = np.empty(size, np.int32), np.empty(size, np.int32)
    passages[first_places], counts[first_places] = first.passages, first.counts
    passages[second_places], counts[second_places] = second.passages + np.int32(len(first.lengths)), second.counts
    return Postings(known + second.starts, passages, counts, np.concatenate([first.lengths, second.lengths]))


class IndexTotals(NamedTuple):
    """What a word's weight depends on besides the passage: the number of passages, and of all words in them."""

    passages: int
    tokens: int


def weigh_postings(
    postings: Postings,
    k1: float,
    b: float,
    totals: IndexTotals | None = None,
    frequencies: NDArray[np.int64] | None = None,
) -> NDArray[np.float32]:
    """Return what each posting adds to the score of its passage: SCARCE, Appendix C (Robertson et al. 1995).

    ln(N / df) (k1 + 1) tf / (k1 ((1 - b) + b dl / avdl) + tf), computed in double precision. If the postings
    are of one part, ``totals`` and ``frequencies`` (how many passages contain each word) are those of the whole index.
    """
    if not len(postings.passages):
        return np.empty(0, np.float32)
    own_frequencies = np.diff(postings.starts)
    if totals is None or frequencies is None:
        totals, frequencies = (
            IndexTotals(len(postings.lengths), int(postings.lengths.sum(dtype=np.int64))),
            own_frequencies,
        )
    rarity = np.log(totals.passages / np.maximum(frequencies, 1))  # a word may occur in no passage of a field
    damping = k1 * ((1 - b) + b * postings.lengths / (totals.tokens / totals.passages))
    weights = np.repeat(rarity * (k1 + 1), own_frequencies)
    weights *= postings.counts
    weights /= damping[postings.passages] + postings.counts
    return weights.astype(np.float32)
