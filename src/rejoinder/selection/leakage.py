"""What must not be in a test set: what systems were trained on, and other copies of a question's own dialogue.

Texts are compared by their words, case and punctuation aside. A repository's utterance that a training file has is not
proposed. A question is left out where a training file has its last turn and its true reply, or two neighbouring turns
of its context, one after the other. A dialogue of the repository that has such a pair is a copy of the question's own,
and nothing of it is proposed. Two short turns that follow each other ("How are you?" "Fine.") say little, so a pair
of the context counts from ``ENOUGH`` letters on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.corpus import Corpus
from rejoinder.text.normalise import digest_of, same_words
from rejoinder.types import Dialogue, Item, Question, Record, Response, Turn

ENOUGH = 30  # letters in two neighbouring turns
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Training:
    """What training files say, as digests, and which of the pairs that were looked for they have."""

    said: frozenset[int] = frozenset()
    pairs: frozenset[Pair] = frozenset()

    def leaked(self, item: Item) -> bool:
        """Whether an item is known from training."""
        return any(pair in self.pairs for pair in pairs_of(item))

    def blocked(self, corpus: Corpus) -> NDArray[np.bool_]:
        """For each different thing that a corpus says, whether training said it."""
        known = np.fromiter(self.said, np.int64, len(self.said))
        return np.isin(corpus.digests, known)


def scan(records: Iterable[Record], items: Sequence[Item]) -> Training:
    """What some records say, held against the items that questions shall be made of; gone through once."""
    wanted = {pair for item in items for pair in pairs_of(item)}
    said: set[int] = set()
    pairs: set[Pair] = set()
    for record in records:
        for texts in _texts(record):
            digests = [digest_of(text) for text in texts]
            said.update(digests)
            pairs.update(pair for pair in pairwise(digests) if pair in wanted)
    return Training(frozenset(said), frozenset(pairs))


def pairs_of(item: Item) -> Iterator[Pair]:
    """The pairs of neighbouring turns that tell an item's dialogue from others, as digests."""
    turns = [turn.text for turn in item.context]
    for first, second in [*pairwise(turns), *pairwise(turn.text for turn in item.future)]:
        if len(same_words(first)) + len(same_words(second)) >= ENOUGH:
            yield digest_of(first), digest_of(second)
    for reference in item.references[:1]:
        if turns:
            yield digest_of(turns[-1]), digest_of(reference.text)


def copies_of(items: Sequence[Item], corpus: Corpus) -> list[frozenset[str]]:
    """For each item the dialogues of a corpus that are copies of its own, its own included."""
    size = len(corpus.digests)
    inside = np.flatnonzero(corpus.dialogue[:-1] == corpus.dialogue[1:])
    keys = corpus.said[inside].astype(np.int64) * size + corpus.said[inside + 1]
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], corpus.dialogue[inside][order]
    found = []
    for item in items:
        pairs = np.array(list(pairs_of(item)), np.int64).reshape(-1, 2)
        places = np.minimum(np.searchsorted(corpus.digests, pairs), size - 1)
        known = places[(corpus.digests[places] == pairs).all(axis=1)]
        codes = known[:, 0] * size + known[:, 1]
        ends = zip(np.searchsorted(keys, codes, "left"), np.searchsorted(keys, codes, "right"), strict=True)
        own = {corpus.ids[n] for begin, end in ends for n in owners[begin:end].tolist()}
        found.append(frozenset(own | {item.dialogue} if item.dialogue is not None else own))
    return found


def _texts(record: Record) -> Iterator[list[str]]:
    """What a record says, each list in its order."""
    match record:
        case Dialogue():
            yield _said(record.turns)
        case Item():
            context = _said(record.context)
            future = _said(record.future)
            yield context
            for reference in record.references:
                yield [*context[-1:], reference.text, *future]
        case Question():
            yield _said(record.context)
        case Response():
            yield [record.text]


def _said(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns]
