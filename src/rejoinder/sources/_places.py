"""Where moments and items are in a corpus, and what must not be proposed for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, nearest
from rejoinder.indexes.corpus import Corpus, Numbers, find_text_codes
from rejoinder.sources._base import ResponsePlace
from rejoinder.text.normalise import text_digest
from rejoinder.types import Item, Turn

OUTSIDE = -1


@dataclass(frozen=True, eq=False)
class CorpusPlaces:
    """Places as numbers: the turn of each (-1 outside the corpus), and the texts of its item.

    ``names`` is what the draws for each place depend on: its turn, or its item's id if it is outside.
    """

    turns: Numbers
    names: NDArray[np.uint64]
    _text_keys: Numbers  # place * number of texts + text, sorted
    _corpus: Corpus

    @classmethod
    def of(cls, places: Sequence[ResponsePlace], corpus: Corpus) -> CorpusPlaces:
        """Find places in a corpus; a moment that is not in it is an error, an item may come from anywhere."""
        turns = np.array([_turn_of(place, corpus) for place in places], dtype=np.int64)
        names = turns.astype(np.uint64)
        text_keys: list[Numbers] = [np.zeros(0, dtype=np.int64)]
        for number, place in enumerate(places):
            if isinstance(place, Item):
                texts = [t.text for t in place.context] + [r.text for r in place.references]
                text_keys.append(number * len(corpus.digests) + find_text_codes(corpus, texts))
                if turns[number] == OUTSIDE:
                    names[number] = text_digest(place.id)
        return cls(turns, names, np.unique(np.concatenate(text_keys)), corpus)

    @property
    def inside(self) -> Numbers:
        """The numbers of the places that are in the corpus."""
        return np.flatnonzero(self.turns != OUTSIDE)

    @property
    def outside(self) -> Numbers:
        """The numbers of the places that are not in the corpus."""
        return np.flatnonzero(self.turns == OUTSIDE)

    def is_new(self, numbers: Numbers, turns: Numbers) -> NDArray[np.bool_]:
        """Whether a turn's text differs from the context and the references of a place's item."""
        if not len(self._text_keys):
            return np.ones(len(numbers), dtype=bool)
        key = numbers * len(self._corpus.digests) + self._corpus.text_codes[turns]
        place = np.minimum(np.searchsorted(self._text_keys, key), len(self._text_keys) - 1)
        unlike: NDArray[np.bool_] = self._text_keys[place] != key
        return unlike


def _turn_of(place: ResponsePlace, corpus: Corpus) -> int:
    if isinstance(place, Item):
        return _turn_of_item(place, corpus)
    number = corpus.numbers.get(place.dialogue)
    if number is None:
        raise InputError(f"the corpus has no dialogue {place.dialogue!r}; {nearest(place.dialogue, corpus.ids[:1000])}")
    size = int(corpus.starts[number + 1] - corpus.starts[number])
    if not 0 < place.turn < size:
        raise InputError(
            f"dialogue {place.dialogue!r} has no turn {place.turn} with a context; "
            f"name one from 1 to {size - 1} (counted from 0)"
        )
    return int(corpus.starts[number]) + place.turn


def _turn_of_item(item: Item, corpus: Corpus) -> int:
    """Return the turn that follows an item's context in its dialogue, or ``OUTSIDE`` if there is none."""
    number = corpus.numbers.get(item.dialogue) if item.dialogue is not None else None
    if number is None or not item.context:
        return OUTSIDE
    start, end = int(corpus.starts[number]), int(corpus.starts[number + 1])
    first = start + len(item.context)
    for turn in range(first, end if item.truncated else min(first + 1, end)):
        if _has_same_texts(item.context, [corpus.text(t) for t in range(turn - len(item.context), turn)]):
            return turn
    return OUTSIDE


def _has_same_texts(context: Sequence[Turn], texts: Sequence[str]) -> bool:
    return all(turn.text == text for turn, text in zip(context, texts, strict=True))
