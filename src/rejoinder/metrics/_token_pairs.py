"""Replies and their references as numbers instead of strings, many at a time, for the metrics that compare tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.text.token_numbers import number_tokens
from rejoinder.text.tokens import TokenizerName
from rejoinder.types import Pair

Numbers: TypeAlias = NDArray[np.int64]
_CHARACTERS = 2**17  # of texts processed together: more would not fit into the processor's cache


class TokenPairs(NamedTuple):
    """The pairs that have tokens in the reply and in a reference; references without tokens are left out.

    ``indices`` says which pairs they are. The texts of each pair are the reply (``replies`` has its place among all
    texts) and then the references; ``numbers`` has the tokens of all texts, ``lengths`` how many each text has.
    """

    indices: Numbers
    replies: Numbers
    numbers: Numbers
    lengths: Numbers

    @property
    def n_texts(self) -> Numbers:
        """The number of texts of each pair."""
        return np.diff(self.replies, append=len(self.lengths))


def token_pairs(pairs: Sequence[Pair], tokenizer: TokenizerName, lowercase: bool) -> Iterator[TokenPairs]:
    """Yield the tokens of pairs, some pairs at a time."""
    begin = 0
    texts: list[str] = []
    n_texts: list[int] = []
    size = 0
    for index, pair in enumerate(pairs):
        own = [pair.response.text, *[reference.text for reference in pair.item.references]]
        texts += own
        n_texts.append(len(own))
        size += sum(map(len, own))
        if size > _CHARACTERS or index + 1 == len(pairs):
            yield _number_texts(texts, np.array(n_texts), begin, tokenizer, lowercase)
            begin, texts, n_texts, size = index + 1, [], [], 0


def _number_texts(
    texts: list[str], n_texts: Numbers, begin: int, tokenizer: TokenizerName, lowercase: bool
) -> TokenPairs:
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    numbers, lengths = number_tokens([*distinct], tokenizer, lowercase)
    places = np.fromiter(map(distinct.__getitem__, texts), np.int64, len(texts))
    # A pair is left out as a whole if its reply or all of its references are empty.
    is_text = lengths[places] > 0
    replies = np.cumsum(n_texts) - n_texts
    is_pair = is_text[replies] & (np.add.reduceat(is_text, replies, dtype=np.int64) > 1)
    is_text &= np.repeat(is_pair, n_texts)
    kept = places[is_text]
    own = np.add.reduceat(is_text, replies, dtype=np.int64)[is_pair]
    if len(kept) < len(distinct) or len(kept) < len(texts) or len(texts) > len(distinct):
        begins = np.cumsum(lengths) - lengths
        lengths, begins = lengths[kept], begins[kept]
        numbers = numbers[np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())]
    return TokenPairs(begin + np.flatnonzero(is_pair), np.cumsum(own) - own, numbers, lengths)
