"""N-grams, and how many of a reply's n-grams occur in its references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar

from rejoinder.text.tokens import Tokens
from rejoinder.types import Reference

Ngram: TypeAlias = tuple[str, ...]
_Gram = TypeVar("_Gram", bound=Hashable)

MANY = 16  # from here on a table of n-grams is faster than searching for each; most replies have fewer


def ngrams(tokens: Sequence[str], n: int) -> Iterator[Ngram]:
    """Return the n-grams of a text, in order."""
    return zip(*(tokens[i:] for i in range(n)), strict=False)


class TokenizedReferences(NamedTuple):
    """The tokens of an item's references, without those that have no tokens."""

    texts: list[Tokens]
    lengths: list[int]
    row: list[str]  # all tokens, with a line end between texts: no n-gram of a reply can match across two of them

    @classmethod
    def from_texts(cls, references: Iterable[Reference], tokens_of: Callable[[str], Tokens]) -> TokenizedReferences:
        """Tokenise references, ready to be compared with replies."""
        texts = [tokens for r in references if (tokens := tokens_of(r.text))]
        row: list[str] = []
        for tokens in texts:
            row += tokens
            row.append("\n")
        return cls(texts, [*map(len, texts)], row)

    def closest_length(self, length: int) -> int:
        """Return the number of tokens in the reference nearest in length; the shorter one of two equally near."""
        if length in self.lengths:
            return length
        return min([(abs(n - length), n) for n in self.lengths])[1]


def count_matches(reply: Tokens, references: TokenizedReferences, n: int) -> list[int]:
    """Return how many n-grams of the reply, for each order from 1 to n, occur in the references.

    An n-gram counts at most as often as it occurs in the reference that has it most often (Papineni et al. 2002).
    """
    matches = [0] * n
    words = set(reply)
    common_words = words.intersection(references.row)
    matches[0] = len(common_words)
    if len(words) < len(reply):
        matches[0] += _matches_of_repeated(reply, common_words, references.texts)
    match_starts = [i for i, word in enumerate(reply) if word in common_words]
    text = ""
    for k in range(2, n + 1):
        # An n-gram can match only where both of its (n-1)-grams did: usually nowhere.
        starts = [i for i, j in pairwise(match_starts) if j == i + 1]
        if not starts:
            break
        grams = [reply[i : i + k] for i in starts]
        distinct = set(grams)
        text = text or f" {' '.join(references.row)} "
        if len(distinct) < MANY:
            shared = {gram for gram in distinct if f" {' '.join(gram)} " in text}
        else:
            shared = distinct.intersection(ngrams(references.row, k))
        matches[k - 1] = len(shared)
        if len(distinct) < len(grams):
            texts = [[*ngrams(tokens, k)] for tokens in references.texts]
            matches[k - 1] += _matches_of_repeated(grams, shared, texts)
        match_starts = [i for i, gram in zip(starts, grams, strict=True) if gram in shared]
    return matches


def _matches_of_repeated(grams: Sequence[_Gram], shared: set[_Gram], texts: Sequence[Sequence[_Gram]]) -> int:
    """Return the number of matches beyond the first, for n-grams that occur more than once in the reply."""
    is_short = len(shared) < MANY
    count_in_reply = grams.count if is_short else Counter(grams).__getitem__
    counts_in_texts = [text.count if is_short else Counter(text).__getitem__ for text in texts]
    matches = 0
    for gram in shared:
        times = count_in_reply(gram)
        if times > 1:
            matches += min(times, max([count(gram) for count in counts_in_texts])) - 1
    return matches
