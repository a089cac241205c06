"""What must not be in a test set: what systems were trained on, and other copies of a question's own dialogue.

Texts are compared by their words, ignoring case and punctuation. An utterance of the repository that occurs in a
training file is not proposed. A question is left out if a training file has its last turn followed by its true reply,
or two neighbouring turns of its context. A dialogue of the repository with such a pair is a copy of the question's own,
and nothing from it is proposed. Two short turns in a row ("How are you?" "Fine.") say little, so a pair of the context
counts only if it has ``MIN_LETTERS`` letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.corpus import Corpus
from rejoinder.text.normalise import normalise_text, text_digest
from rejoinder.types import Dialogue, Item, Question, Record, Response, Turn

MIN_LETTERS = 30  # letters in two neighbouring turns
DigestPair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """The texts of training files, as digests, and which of the pairs that were looked for occur in them."""

    digests: frozenset[int] = frozenset()
    pairs: frozenset[DigestPair] = frozenset()

    def leaked(self, item: Item) -> bool:
        """Whether an item occurs in the training files."""
        return any(pair in self.pairs for pair in list_turn_pairs(item))

    def blocked(self, corpus: Corpus) -> NDArray[np.bool_]:
        """For each distinct text of a corpus, whether it occurs in the training files."""
        digests = np.fromiter(self.digests, np.int64, len(self.digests))
        return np.isin(corpus.digests, digests)


def scan_training(records: Iterable[Record], items: Sequence[Item]) -> TrainingTexts:
    """Read training records once: collect their texts, and the items' turn pairs that occur in them."""
    wanted = {pair for item in items for pair in list_turn_pairs(item)}
    all_digests: set[int] = set()
    pairs: set[DigestPair] = set()
    for record in records:
        for texts in _list_texts(record):
            digests = [text_digest(text) for text in texts]
            all_digests.update(digests)
            pairs.update(pair for pair in pairwise(digests) if pair in wanted)
    return TrainingTexts(frozenset(all_digests), frozenset(pairs))


def list_turn_pairs(item: Item) -> Iterator[DigestPair]:
    """Yield the pairs of neighbouring turns that identify an item's dialogue, as digests."""
    turns = [turn.text for turn in item.context]
    for first, second in [*pairwise(turns), *pairwise(turn.text for turn in item.future)]:
        if len(normalise_text(first)) + len(normalise_text(second)) >= MIN_LETTERS:
            yield text_digest(first), text_digest(second)
    for reference in item.references[:1]:
        if turns:
            yield text_digest(turns[-1]), text_digest(reference.text)


def find_copies(items: Sequence[Item], corpus: Corpus) -> list[frozenset[str]]:
    """Return, for each item, the dialogues of a corpus that are copies of its own, including its own."""
    size = len(corpus.digests)
    neighbours = np.flatnonzero(corpus.dialogue[:-1] == corpus.dialogue[1:])
    keys = corpus.text_codes[neighbours].astype(np.int64) * size + corpus.text_codes[neighbours + 1]
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], corpus.dialogue[neighbours][order]
    copies = []
    for item in items:
        pairs = np.array(list(list_turn_pairs(item)), np.int64).reshape(-1, 2)
        places = np.minimum(np.searchsorted(corpus.digests, pairs), size - 1)
        matches = places[(corpus.digests[places] == pairs).all(axis=1)]
        codes = matches[:, 0] * size + matches[:, 1]
        ends = zip(np.searchsorted(keys, codes, "left"), np.searchsorted(keys, codes, "right"), strict=True)
        own = {corpus.ids[n] for begin, end in ends for n in owners[begin:end].tolist()}
        copies.append(frozenset(own | {item.dialogue} if item.dialogue is not None else own))
    return copies


def _list_texts(record: Record) -> Iterator[list[str]]:
    """Yield the texts of a record, as lists of consecutive texts."""
    match record:
        case Dialogue():
            yield _turn_texts(record.turns)
        case Item():
            context = _turn_texts(record.context)
            future = _turn_texts(record.future)
            yield context
            for reference in record.references:
                yield [*context[-1:], reference.text, *future]
        case Question():
            yield _turn_texts(record.context)
        case Response():
            yield [record.text]


def _turn_texts(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns]
