"""Paraphrases without a language model: synonyms, contractions and other orders, drawn by a seed; no torch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.augmenting.opening import reopen
from rejoinder.augmenting.reordering import reorder
from rejoinder.augmenting.substitution import Replacement, replace, replacements
from rejoinder.errors import SpecError
from rejoinder.robustness.contractions import toggle_contractions

_TRIES = 12  # for each paraphrase that is wanted: short texts have few
_LONG = 8  # words for each that is replaced beyond the first


@dataclass(frozen=True)
class Rewording:
    """Words replaced where what is said stays the same, clauses exchanged, contractions written out or drawn together.

    What has too few paraphrases of that kind gets another opening ("Well, ..."). ``similarity`` is the least cosine, by
    ``encoder``, between the words around a word and the same with a synonym in its place.
    """

    similarity: float = 0.9
    encoder: str = "aptness"
    seed: int = 0

    def __post_init__(self) -> None:
        if not -1 <= self.similarity <= 1:
            raise SpecError(f"rewording: similarity must be from -1 to 1, not {self.similarity}")

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Up to ``count`` paraphrases a text, no two alike; a short text may have fewer, or none."""
        found = replacements(texts, self.similarity, self.encoder)
        return [self._of(text, options, count) for text, options in zip(texts, found, strict=True)]

    def _of(self, text: str, options: Sequence[Replacement], count: int) -> list[str]:
        made: dict[str, None] = {}
        for number in range(2 * count * _TRIES):
            rng = random.Random(f"{self.seed}/{number}/{text}")
            other = _reworded(rng, text, options)
            if number >= count * _TRIES and text.strip():  # too few so far
                other = reopen(rng, other)
            if other.split() != text.split():
                made[other] = None
            if len(made) == count:
                break
        return list(made)


def _reworded(rng: random.Random, text: str, options: Sequence[Replacement]) -> str:
    """One paraphrase; the words are replaced first, as their places are those of the text."""
    by_place: dict[int, list[Replacement]] = {}
    for one in options:
        by_place.setdefault(one.start, []).append(one)
    most = min(len(by_place), 1 + len(text.split()) // _LONG)
    places = rng.sample(sorted(by_place), rng.randint(min(1, most), most))
    other = replace(text, [rng.choice(by_place[place]) for place in places])
    if rng.random() < 0.5:
        other = reorder(rng, other)
    return toggle_contractions(other) if rng.random() < 0.5 else other
