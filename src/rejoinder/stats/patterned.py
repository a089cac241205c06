"""Metrics beside ratings, by which rows they can be used on, so that the ratings are ranked once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import Bools, Floats, Ints, Labels, Numbers, finite, same_length
from rejoinder.stats.correlation import Method
from rejoinder.stats.levels import AtLevel, Level, at_level
from rejoinder.stats.resampling import Design


class Part(NamedTuple):
    """The metrics that can be used on the same rows, and these rows."""

    members: list[int]
    scores: list[Floats]
    ratings: Floats
    design: Design

    def correlate(self, at: Level, method: Method) -> AtLevel:
        """Each metric's correlation with the ratings under a draw."""
        return at_level(at, method, self.scores, self.ratings, self.design)


@dataclass(frozen=True)
class Data:
    """Columns of scores, the ratings, and who wrote what to which item of which dialogue."""

    columns: Sequence[Floats]
    ratings: Floats
    design: Design

    @classmethod
    def of(
        cls,
        scores: Mapping[str, Numbers],
        ratings: Numbers,
        systems: Labels | None = None,
        items: Labels | None = None,
        dialogues: Labels | None = None,
    ) -> Data:
        """Checked data: every metric has a number (or NaN) for every rating."""
        y = finite(ratings, "ratings")
        columns = {name: finite(values, name) for name, values in scores.items()}
        for name, x in columns.items():
            same_length(**{name: x, "ratings": y})
        return cls(list(columns.values()), y, Design.of(len(y), systems, items, dialogues))

    def parts(self) -> list[Part]:
        """The metrics by the rows that they can be used on."""
        found = []
        for usable, members in self._patterns():
            rows: Ints = np.flatnonzero(usable)
            scores = [self.columns[i][rows] for i in members]
            found.append(Part(members, scores, self.ratings[rows], self.design.only(rows)))
        return found

    def _patterns(self) -> list[tuple[Bools, list[int]]]:
        rated = ~np.isnan(self.ratings)
        patterns: dict[bytes, tuple[Bools, list[int]]] = {}
        for i, x in enumerate(self.columns):
            usable = rated & ~np.isnan(x)
            patterns.setdefault(usable.tobytes(), (usable, []))[1].append(i)
        return list(patterns.values())
