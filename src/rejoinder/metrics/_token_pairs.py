"""Replies and their references as numbers instead of strings, many at a time, for the metrics that compare tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.text.token_numbers import number_tokens
from rejoinder.text.tokens import TokenizerName
from rejoinder.types import Pair

Numbers: TypeAlias = NDArray[np.int64]
# Processed together: more would not fit into the processor's cache.
_PAIRS = 512
_CHARACTERS = 2**19


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
    for begin in range(0, len(pairs), _PAIRS):
        texts = [[p.response.text, *[r.text for r in p.item.references]] for p in pairs[begin : begin + _PAIRS]]
        yield from _number_texts(texts, begin, tokenizer, lowercase)


def _number_texts(
    pair_texts: Sequence[Sequence[str]], begin: int, tokenizer: TokenizerName, lowercase: bool
) -> Iterator[TokenPairs]:
    texts = [*chain.from_iterable(pair_texts)]
    if len(pair_texts) > 1 and sum(map(len, texts)) > _CHARACTERS:
        half = len(pair_texts) // 2
        yield from _number_texts(pair_texts[:half], begin, tokenizer, lowercase)
        yield from _number_texts(pair_texts[half:], begin + half, tokenizer, lowercase)
        return
    distinct = dict.fromkeys(texts)
    numbers, lengths = number_tokens([*distinct], tokenizer, lowercase)
    places = np.arange(len(texts))
    if len(distinct) < len(texts):
        number_of = {text: number for number, text in enumerate(distinct)}
        places = np.array([number_of[text] for text in texts])
    # A pair is left out as a whole if its reply or all of its references are empty.
    n_texts = np.array([*map(len, pair_texts)])
    replies = np.cumsum(n_texts) - n_texts
    is_text = lengths[places] > 0
    is_pair = is_text[replies] & (np.add.reduceat(is_text, replies, dtype=np.int64) > 1)
    is_text &= np.repeat(is_pair, n_texts)
    if len(distinct) < len(texts) or not is_text.all():
        places = places[is_text]
        begins = np.cumsum(lengths) - lengths
        lengths, begins = lengths[places], begins[places]
        numbers = numbers[np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())]
        n_texts = np.add.reduceat(is_text, replies, dtype=np.int64)[is_pair]
        replies = np.cumsum(n_texts) - n_texts
    yield TokenPairs(begin + np.flatnonzero(is_pair), replies, numbers, lengths)
