"""N-grams, and how many of a reply's n-grams occur in its references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metrics._token_pairs import Numbers, TokenPairs
from rejoinder.text.token_numbers import SPREAD

Ngram: TypeAlias = tuple[str, ...]
_BITS = 63


def ngrams(tokens: Sequence[str], n: int) -> Iterator[Ngram]:
    """Return the n-grams of a text, in order."""
    return zip(*(tokens[i:] for i in range(n)), strict=False)


class _GramRuns(NamedTuple):
    """N-grams of replies and references in order, those of a pair together.

    ``starts`` says where the run of each different n-gram begins, ``matches`` how many of its occurrences in the reply
    are matched.
    """

    places: Numbers
    starts: Numbers
    matches: Numbers


def count_matches(pairs: TokenPairs, n: int) -> Numbers:
    """Return how many n-grams of each reply (row), for each order from 1 to n (column), occur in its references.

    An n-gram counts at most as often as it occurs in the reference that has it most often (Papineni et al. 2002). One
    of order n can match only where both of its (n-1)-grams did: usually there are few.
    """
    matches = np.zeros((len(pairs.indices), n), np.int64)
    is_reply = np.zeros(len(pairs.lengths), np.bool_)
    is_reply[pairs.replies] = True
    pair_of_text = np.repeat(np.arange(len(matches)), pairs.n_texts)
    text_at = np.repeat(np.arange(len(is_reply)), pairs.lengths + 1)  # one place is free after each text
    grams = np.repeat(pair_of_text * (pairs.numbers.max(initial=0) + 1), pairs.lengths) + pairs.numbers
    places = _places_in_common(grams, np.repeat(is_reply, pairs.lengths))
    grams, places = grams[places], np.flatnonzero(np.diff(text_at, append=-1) == 0)[places]
    for order in range(n):
        if not len(grams):
            break
        runs = _match_grams(grams, places, text_at, is_reply)
        owners = pair_of_text[text_at[runs.places[runs.starts]]]
        matches[:, order] = np.bincount(owners, runs.matches, len(matches))
        grams, places = _longer_grams(runs)
    return matches


def _places_in_common(grams: Numbers, in_reply: NDArray[np.bool_]) -> Numbers:
    """Return the places of the words that the reply and a reference share, and of a few others."""
    bits = len(grams).bit_length() + 3
    slots = (grams.astype(np.uint64) * SPREAD >> np.uint64(64 - bits)).astype(np.int64)
    replies, references = np.flatnonzero(in_reply), np.flatnonzero(~in_reply)
    for _ in range(2):  # the references' words that are in the slot of one of the reply's, then the other way round
        known = np.zeros(2**bits, np.bool_)
        known[slots[replies]] = True
        replies, references = references[known[slots[references]]], replies
    return np.concatenate([references, replies])


def _match_grams(grams: Numbers, places: Numbers, text_at: Numbers, is_reply: NDArray[np.bool_]) -> _GramRuns:
    """Return the n-grams in order, with the matches of each different one."""
    bits = len(text_at).bit_length()
    if int(grams.max()).bit_length() + bits > _BITS:  # in texts of millions of tokens
        grams = np.unique(grams, return_inverse=True)[1]
    keys = grams << bits | places
    keys.sort()  # one number holds n-gram and place, so that one sort orders both
    grams, places = keys >> bits, keys & ((1 << bits) - 1)
    texts = text_at[places]
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = grams[1:] != grams[:-1]
    in_other_text = is_new.copy()
    in_other_text[1:] |= texts[1:] != texts[:-1]
    run_starts = np.flatnonzero(in_other_text)
    counts = np.diff(run_starts, append=len(keys))
    first_runs = np.flatnonzero(is_new[run_starts])  # of each n-gram: the reply's, if it has it
    of_reply = is_reply[texts[run_starts]]
    in_reply = np.where(of_reply, counts, 0)[first_runs]
    in_references = np.maximum.reduceat(np.where(of_reply, 0, counts), first_runs)
    return _GramRuns(places, run_starts[first_runs], np.minimum(in_reply, in_references))


def _longer_grams(runs: _GramRuns) -> tuple[Numbers, Numbers]:
    """Return the n-grams of the next order both of whose parts were matched, and their places."""
    sizes = np.diff(runs.starts, append=len(runs.places))
    is_matched = np.repeat(runs.matches > 0, sizes)
    bits = len(sizes).bit_length()
    keys = runs.places[is_matched] << bits | np.repeat(np.arange(len(sizes)), sizes)[is_matched]
    keys.sort()
    places, numbers = keys >> bits, keys & ((1 << bits) - 1)
    is_followed = places[1:] == places[:-1] + 1
    return numbers[:-1][is_followed] * len(sizes) + numbers[1:][is_followed], places[:-1][is_followed]


def closest_lengths(pairs: TokenPairs) -> Numbers:
    """Return the number of tokens in the reference nearest in length to each reply; the shorter one of two as near."""
    away = np.abs(pairs.lengths - np.repeat(pairs.lengths[pairs.replies], pairs.n_texts))
    away[pairs.replies] = len(pairs.numbers) + 1  # the reply is not its own reference
    limit = len(pairs.numbers) + 1
    nearest: Numbers = np.minimum.reduceat(away * limit + pairs.lengths, pairs.replies) % limit
    return nearest
