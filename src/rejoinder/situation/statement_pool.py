"""All statements of a set of seeds, each once: their vectors, categories and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.data.questions import CATEGORIES
from rejoinder.data.seeds import Seed
from rejoinder.situation.contradictions import Contradictions, Keywords, contradictions_of
from rejoinder.situation.overlap import Overlaps
from rejoinder.situation.seed_vectors import Encode
from rejoinder.situation.settings import Settings
from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.types import Statement

# Of these a situation has one value at most.
SINGLE = ("time", "date", "behavior", "location")


@dataclass(frozen=True, eq=False)
class Shelf:
    """Statements in the order in which the seeds have them."""

    statements: tuple[Statement, ...]
    vectors: Floats
    categories: Ints  # places in CATEGORIES
    contradictions: Contradictions
    overlaps: Overlaps
    places: dict[tuple[str, str], int] = field(repr=False)

    def place(self, statement: Statement) -> int:
        """Where a statement of the seeds stands."""
        return self.places[statement.text, str(statement.category)]

    def barred_by(self, place: int) -> Bools:
        """Which statements can no longer be added to a situation that has the one in that place."""
        barred = self.contradictions.with_(place) | self.overlaps.same(self.statements[place].text)
        if CATEGORIES[self.categories[place]] in SINGLE:
            barred = barred | (self.categories == self.categories[place])
        return barred


def shelf_of(seeds: Sequence[Seed], settings: Settings, keywords: Keywords, encode: Encode) -> Shelf:
    """The statements of seeds."""
    places: dict[tuple[str, str], int] = {}
    for seed in seeds:
        for one in seed.statements:
            places.setdefault((one.text, str(one.category)), len(places))
    texts = [text for text, _ in places]
    overlaps = Overlaps(texts)
    return Shelf(
        tuple(Statement(text, category) for text, category in places),
        encode(texts).astype(np.float64),
        np.array([CATEGORIES.index(category) for _, category in places], np.int64),
        contradictions_of(texts, keywords, overlaps, settings.overlap),
        overlaps,
        places,
    )
