"""N-grams, and how many of a reply's n-grams stand in its references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar

from rejoinder.text import Tokens
from rejoinder.types import Reference

Ngram: TypeAlias = tuple[str, ...]
_Gram = TypeVar("_Gram", bound=Hashable)


def ngrams(tokens: Sequence[str], n: int) -> Iterator[Ngram]:
    """The n-grams of a text, in order."""
    return zip(*(tokens[i:] for i in range(n)), strict=False)


class TokenizedReferences(NamedTuple):
    """The tokens of an item's references, less those without any."""

    texts: list[Tokens]
    lengths: list[int]
    # All tokens in a row, with None between texts: an n-gram that spans two of them equals none of a reply's.
    row: list[str | None]

    @classmethod
    def of(cls, references: Iterable[Reference], tokens_of: Callable[[str], Tokens]) -> TokenizedReferences:
        """References as they are compared with a reply."""
        texts = [tokens for r in references if (tokens := tokens_of(r.text))]
        row: list[str | None] = []
        for tokens in texts:
            row += tokens
            row.append(None)
        return cls(texts, [*map(len, texts)], row)

    def closest_length(self, length: int) -> int:
        """The number of tokens of the reference nearest in length; the shorter of two as near."""
        if length in self.lengths:
            return length
        return min((abs(n - length), n) for n in self.lengths)[1]


def count_matches(reply: Tokens, references: TokenizedReferences, n: int) -> list[int]:
    """How many n-grams of the reply, of order 1 to n, stand in the references.

    An n-gram counts at most as often as it stands in the one reference that has it most often (Papineni et al. 2002).
    """
    row = references.row
    matches = [0] * n
    words = set(reply)
    found = words.intersection(row)
    matches[0] = len(found)
    if len(words) < len(reply):
        matches[0] += _matches_of_repeated(reply, found, references.texts)
    matched = [i for i, word in enumerate(reply) if word in found]
    for k in range(2, n + 1):
        # An n-gram can match only where both of its parts of one order less did: mostly nowhere.
        starts = [i for i, j in pairwise(matched) if j == i + 1]
        if not starts:
            break
        guesses = [reply[i : i + k] for i in starts]
        different = set(guesses)
        shared = different.intersection(zip(*[row[i:] for i in range(k)], strict=False))
        matches[k - 1] = len(shared)
        if len(different) < len(guesses):
            texts = [[*ngrams(tokens, k)] for tokens in references.texts]
            matches[k - 1] += _matches_of_repeated(guesses, shared, texts)
        matched = [i for i, gram in zip(starts, guesses, strict=True) if gram in shared]
    return matches


def _matches_of_repeated(guesses: Sequence[_Gram], shared: set[_Gram], texts: Sequence[Sequence[_Gram]]) -> int:
    """The matches beyond the first of n-grams that the reply has more than once."""
    few = len(shared) < 10
    times_here = _counter(guesses, few)
    repeated = [(gram, times) for gram in shared if (times := times_here(gram)) > 1]
    if not repeated:
        return 0
    times_there = [_counter(text, few) for text in texts]
    return sum([min(times, max([count(gram) for count in times_there])) - 1 for gram, times in repeated])


def _counter(grams: Sequence[_Gram], few: bool) -> Callable[[_Gram], int]:
    """How often an n-gram stands in a text: by search for few of them, by a table for many, so long texts stay fast."""
    return grams.count if few else Counter(grams).__getitem__
