"""The statements of a question (SUGAR, Appendix B.2): the relevant ones, those that suit the distractors, and others.

A statement s of category c has the value

    f(s; R, S') = max EmbSim(s, r in R) - max EmbSim(s, s' in S'_c) - 1/2 max EmbSim(s, s' in S' of other categories)

(equation 2; a maximum over nothing is 0). The categories take turns, and the best statement of each is added: first
from the statements of the distractors, while one has a value of 0 or more, then from those of all seeds, until there
are l. Never added are statements that overlap a candidate, that keywords rule out, or whose category allows only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.data.inputs.seeds import Seed
from rejoinder.data.questions import CATEGORIES
from rejoinder.situation.contradictions import ContradictionKeywords, Contradictions, find_contradictions
from rejoinder.situation.overlap import OverlapIndex
from rejoinder.situation.seed_vectors import Encode
from rejoinder.situation.settings import SituationSettings
from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.types import Statement

# A situation has at most one statement of each of these.
SINGLE_VALUED = ("time", "date", "behavior", "location")


@dataclass(frozen=True, eq=False)
class StatementPool:
    """The distinct statements of the seeds, in the order of the seeds."""

    statements: tuple[Statement, ...]
    vectors: Floats
    categories: Ints  # places in CATEGORIES
    contradictions: Contradictions
    overlaps: OverlapIndex
    places: dict[tuple[str, str], int] = field(repr=False)

    def place(self, statement: Statement) -> int:
        """The place of a statement of the seeds."""
        return self.places[statement.text, str(statement.category)]

    def barred_by(self, place: int) -> Bools:
        """Which statements can no longer be added to a situation that has the one at that place."""
        barred = self.contradictions.find(place) | self.overlaps.same(self.statements[place].text)
        if CATEGORIES[self.categories[place]] in SINGLE_VALUED:
            barred = barred | (self.categories == self.categories[place])
        return barred


def collect_statements(
    seeds: Sequence[Seed], settings: SituationSettings, keywords: ContradictionKeywords, encode: Encode
) -> StatementPool:
    """Collect and encode the statements of seeds."""
    places: dict[tuple[str, str], int] = {}
    for seed in seeds:
        for statement in seed.statements:
            places.setdefault((statement.text, str(statement.category)), len(places))
    texts = [text for text, _ in places]
    overlaps = OverlapIndex(texts)
    return StatementPool(
        tuple(Statement(text, category) for text, category in places),
        encode(texts).astype(np.float64),
        np.array([CATEGORIES.index(category) for _, category in places], np.int64),
        find_contradictions(texts, keywords, overlaps, settings.overlap),
        overlaps,
        places,
    )


@dataclass(frozen=True)
class ChosenStatements:
    """Places in the pool: the relevant statements, those added from the distractors, from all seeds, and beyond l.

    ``further`` are chosen at random from what may still be added: distracting statements beyond the first l.
    """

    relevant: tuple[int, ...]
    near: tuple[int, ...]
    filled: tuple[int, ...]
    further: tuple[int, ...] = ()

    @property
    def added(self) -> tuple[int, ...]:
        """All added statements, in order."""
        return (*self.near, *self.filled)


class GrowingSituation:
    """A situation that grows one statement at a time."""

    def __init__(
        self, pool: StatementPool, texts: Sequence[str], replies: Floats, relevant: Sequence[int], overlap: float
    ):
        """Start with the relevant statements; ``texts`` and ``replies`` are the candidates and their vectors."""
        self._pool = pool
        self._gain: Floats = (pool.vectors @ replies.T).max(axis=1)
        self._within: Floats = np.full(len(pool.vectors), -np.inf)
        self._across: Floats = np.full(len(pool.vectors), -np.inf)
        self.free: Bools = ~pool.contradictions.discarded
        for text in texts:
            self.free &= ~pool.overlaps.near(text, overlap)
        self.n = 0
        for place in relevant:
            self.add(place)

    def add(self, place: int) -> None:
        """Add a statement."""
        pool = self._pool
        similarity = pool.vectors @ pool.vectors[place]
        same_category = pool.categories == pool.categories[place]
        self._within[same_category] = np.maximum(self._within[same_category], similarity[same_category])
        self._across[~same_category] = np.maximum(self._across[~same_category], similarity[~same_category])
        self.free &= ~pool.barred_by(place)
        self.n += 1

    def worth(self) -> Floats:
        """f of every statement in the pool, given those added so far (equation 2)."""
        within, across = (np.where(np.isinf(best), 0.0, best) for best in (self._within, self._across))
        return self._gain - within - across / 2

    def grow(self, among: Bools, size: int, least: float = -np.inf) -> list[int]:
        """Add the best of each category in turn until there are ``size`` or none reaches ``least``; return them."""
        added: list[int] = []
        growing = True
        while growing and self.n < size:
            growing = False
            for number in range(len(CATEGORIES)):
                places = np.flatnonzero(self.free & among & (self._pool.categories == number))
                if self.n >= size or not len(places):
                    continue
                worth = self.worth()[places]
                if worth.max() >= least:
                    added.append(int(places[worth.argmax()]))
                    self.add(added[-1])
                    growing = True
        return added


def choose_situation_statements(
    chooser: GrowingSituation, relevant: Sequence[int], of_distractors: Bools, size: int
) -> ChosenStatements:
    """Choose the statements to add to the relevant ones; more than ``size`` if more are relevant."""
    near = chooser.grow(of_distractors, size, least=0.0)
    filled = chooser.grow(np.ones_like(of_distractors), size)
    return ChosenStatements(tuple(relevant), tuple(near), tuple(filled))


def choose_further_statements(chooser: GrowingSituation, n: int, random: np.random.Generator) -> tuple[int, ...]:
    """Choose up to n more statements at random from those that may still be added (SUGAR, section 4.4)."""
    chosen: list[int] = []
    while len(chosen) < n and chooser.free.any():
        chosen.append(int(random.choice(np.flatnonzero(chooser.free))))
        chooser.add(chosen[-1])
    return tuple(chosen)
