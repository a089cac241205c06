"""The overlap coefficient of content words (SUGAR, equation 1), for one text and many others at once.

Content words are all words that are not function words (``text.tokens.content_words``), without placeholders such as
``[user]``; the paper uses the nouns, verbs, adjectives and adverbs of a tagger that it does not name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.text.tokens import content_words

_PLACEHOLDER = re.compile(r"\[\w+\]('s)?")


def extract_statement_words(text: str) -> frozenset[str]:
    """The content words of a statement, without placeholders such as ``[user]``."""
    return content_words(_PLACEHOLDER.sub(" ", text))


def overlap_coefficient(first: str, second: str) -> float:
    """Shared content words divided by those of the text with fewer; 0 if a text has none, but 1 for equal texts."""
    if _normalise_statement(first) == _normalise_statement(second):
        return 1.0
    first_words, second_words = extract_statement_words(first), extract_statement_words(second)
    return (
        len(first_words & second_words) / min(len(first_words), len(second_words))
        if first_words and second_words
        else 0.0
    )


class OverlapIndex:
    """An index of texts by word, to compare one text with all of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [extract_statement_words(text) for text in texts]
        self._sizes: Ints = np.array([len(one) for one in words], np.int64)
        self._same = np.array([_normalise_statement(text) for text in texts], object)
        places: dict[str, list[int]] = {}
        for place, one in enumerate(words):
            for word in one:
                places.setdefault(word, []).append(place)
        self._places = {word: np.array(found, np.int64) for word, found in places.items()}

    def overlaps(self, text: str) -> Floats:
        """The overlap of a text with each of the texts."""
        words = extract_statement_words(text)
        shared: Floats = np.zeros(len(self._sizes))
        for word in words:
            if word in self._places:
                shared[self._places[word]] += 1
        ratios: Floats = shared / np.maximum(np.minimum(self._sizes, len(words)), 1)
        return np.where(self.same(text), 1.0, ratios)

    def same(self, text: str) -> Bools:
        """Which of the texts equal this one, ignoring case and white space."""
        equal: Bools = np.asarray(self._same == _normalise_statement(text), bool)
        return equal

    def near(self, text: str, least: float) -> Bools:
        """Which of the texts overlap a text by at least ``least``."""
        overlapping: Bools = self.overlaps(text) >= least
        return overlapping


def _normalise_statement(text: str) -> str:
    return " ".join(text.casefold().split())
