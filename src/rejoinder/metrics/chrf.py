"""chrF (Popović 2015): character n-grams, over any number of references."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import NAN, Metric
from rejoinder.spec import check_between
from rejoinder.text.tokens import SACREBLEU
from rejoinder.types import Pair

Counts: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = Sequence[tuple[str, str]]
_BITS, _NARROW = 64, 32
_CHARACTERS = 2**17  # processed together: more would not fit into the processor's cache


class NgramCounts(NamedTuple):
    """For each pair and order: the number of n-grams in the first text, in the second, and of matches."""

    first: Counts
    second: Counts
    matches: Counts


def count_ngrams(texts: Texts, order: int) -> NgramCounts:
    """Return the counts for pairs of texts without white space."""
    lengths = np.array([[len(first), len(second)] for first, second in texts], np.int64).reshape(-1, 2)
    sizes = np.maximum(0, lengths[:, None, :] - np.arange(order)[None, :, None])
    matches = np.zeros((len(texts), order), np.int64)
    begin = 0
    while begin < len(texts):
        before = np.cumsum(lengths[begin:].sum(axis=1))
        end = begin + max(1, int(np.searchsorted(before, _CHARACTERS)))
        matches[begin:end] = _ngram_matches(texts[begin:end], order)
        begin = end
    return NgramCounts(sizes[..., 0], sizes[..., 1], matches)


def _ngram_matches(texts: Texts, order: int) -> Counts:
    codes, alphabet = _character_codes("".join(text for pair in texts for text in pair))
    bits, owners = max(1, (alphabet - 1).bit_length()), (len(texts) - 1).bit_length()
    if owners + order * bits + 1 > _BITS:
        if len(texts) == 1:
            return np.array([[_count_matches_slowly(*texts[0], n) for n in range(1, order + 1)]], np.int64)
        half = len(texts) // 2
        return np.concatenate([_ngram_matches(texts[:half], order), _ngram_matches(texts[half:], order)])
    lengths = np.array([len(text) for pair in texts for text in pair], np.int64)
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters until the end of the text
    text_index = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    matches = np.zeros((len(texts), order), np.int64)
    grams = np.zeros(len(codes) + 1, np.uint64)
    for n in range(1, order + 1):
        grams = (grams[:-1] << np.uint64(bits)) | codes[n - 1 :]
        is_whole = remaining[: len(grams)] >= n  # the others would extend into the next text
        owner = text_index[: len(grams)]
        keys = ((owner >> np.uint64(1)) << np.uint64(n * bits) | grams) << np.uint64(1) | (owner & np.uint64(1))
        # 32 bits are sorted sooner.
        narrow: NDArray[np.unsignedinteger[Any]] = keys[is_whole]
        narrow = narrow.astype(np.uint32) if owners + n * bits < _NARROW else narrow
        if not len(narrow):
            break
        narrow.sort()
        matches[:, n - 1] = _count_matches(narrow, n * bits + 1, len(texts))
    return matches


def _count_matches(keys: NDArray[np.unsignedinteger[Any]], shift: int, pairs: int) -> Counts:
    """Return the matches of each pair, from sorted keys: the pair (above so many bits), the n-gram, and the side."""
    one = keys.dtype.type(1)
    grams = keys >> one
    starts = np.flatnonzero(np.concatenate(([True], grams[1:] != grams[:-1])))
    second_counts = np.add.reduceat((keys & one).astype(np.int64), starts)
    first_counts = np.diff(np.append(starts, len(keys))) - second_counts
    owners = (keys[starts] >> keys.dtype.type(shift)).astype(np.int64)
    return np.bincount(owners, np.minimum(first_counts, second_counts), pairs).astype(np.int64)


def _character_codes(text: str) -> tuple[NDArray[np.uint64], int]:
    """Return the characters as numbers from 0, and how many distinct ones there are."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    present = np.zeros(int(points.max(initial=0)) + 1, np.uint64)
    present[points] = 1
    return (np.cumsum(present) - np.uint64(1))[points], int(present.sum())


def _count_matches_slowly(first: str, second: str, n: int) -> int:
    """Return the matches of two texts that have too many distinct characters to fit n-grams into an integer."""
    first_counts, second_counts = (
        Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (first, second)
    )
    return sum((first_counts & second_counts).values())


def count_word_ngrams(texts: Texts, order: int) -> NgramCounts:
    """Return the counts of word n-grams for pairs of texts (chrF++, Popović 2017)."""
    counts = np.zeros((3, len(texts), order), np.int64)
    for row, pair in enumerate(texts):
        first, second = (_split_words(text) for text in pair)
        for n in range(1, order + 1):
            grams = [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (first, second)]
            counts[:, row, n - 1] = [grams[0].total(), grams[1].total(), (grams[0] & grams[1]).total()]
    return NgramCounts(*counts)


def _split_words(text: str) -> list[str]:
    """Return the words of a text, with one punctuation mark at the end, or else at the beginning, as its own word."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


@dataclass(frozen=True)
class Chrf(Metric):
    """How many character n-grams of order 1 to ``order`` the reply and a reference share, as an F-measure.

    This is sacrebleu's sentence score, from 0 to 1: the best over the references, ignoring white space, case-sensitive
    unless ``lowercase``. ``word_order=2`` adds word n-grams (chrF++). ``beta`` says how much more recall counts than
    precision. NaN without references.
    """

    order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False

    needs = frozenset({"references"})
    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation"
    default_for = ("references", 4)

    def __post_init__(self) -> None:
        check_between("chrf", "order", self.order, 1, 10)
        check_between("chrf", "word_order", self.word_order, 0, 4)
        check_between("chrf", "beta", self.beta, 1, 10)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the chrF of each response against its item's references."""
        scores = np.full(len(pairs), NAN)
        texts: list[tuple[str, str]] = []
        indices: list[int] = []
        for index, pair in enumerate(pairs):
            reply = self._text(pair.response.text)
            for reference in pair.item.references if reply.strip() else ():
                if (text := self._text(reference.text)).strip():
                    texts.append((reply, text))
                    indices.append(index)
        if texts:
            np.fmax.at(scores, indices, self._f(self._count(texts)))
        return [float(score) for score in scores]

    def _count(self, texts: Texts) -> NgramCounts:
        """Return the counts of characters, then those of words."""
        letters = count_ngrams(
            [("".join(first.split()), "".join(second.split())) for first, second in texts], self.order
        )
        if not self.word_order:
            return letters
        words = count_word_ngrams(texts, self.word_order)
        return NgramCounts(*(np.concatenate(both, axis=1) for both in zip(letters, words, strict=True)))

    def _text(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    def _f(self, counts: NgramCounts) -> NDArray[np.float64]:
        """Return the F-measure of mean precision and mean recall, over the orders that fit into both texts."""
        is_counted = (counts.first > 0) & (counts.second > 0)
        orders = is_counted.sum(axis=1)  # never 0: neither text is empty
        precision = _mean_over_orders(counts.matches, counts.first, is_counted, orders)
        recall = _mean_over_orders(counts.matches, counts.second, is_counted, orders)
        factor = self.beta**2
        denominator = factor * precision + recall
        is_positive = precision + recall > 0
        score = np.divide(
            (1 + factor) * precision * recall, denominator, out=np.zeros(len(denominator)), where=is_positive
        )
        return np.minimum(1.0, 100 * score / 100)

    def details(self) -> dict[str, str]:
        """Return the release of sacrebleu whose scores these are."""
        return {"sacrebleu": SACREBLEU}


def _mean_over_orders(
    matches: Counts, totals: Counts, known: NDArray[np.bool_], orders: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean share over the orders that count, added up order by order as sacrebleu does."""
    total = np.zeros(len(matches))
    for n in range(matches.shape[1]):
        total += np.where(known[:, n], matches[:, n] / np.maximum(1, totals[:, n]), 0.0)
    mean: NDArray[np.float64] = total / orders
    return mean
