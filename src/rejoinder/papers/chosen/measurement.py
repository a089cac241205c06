"""What ``reproduce chosen`` measures, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np

from rejoinder.papers.chosen.measures import Values, spearman

Right: TypeAlias = Mapping[
    "Kind", Values
]  # systems, sets, contexts: 1 where the true reply was chosen, NaN: no question


class Kind(Enum):
    """Two kinds of false candidates."""

    CHOSEN = "CHOSEN"
    RANDOM = "RANDOM"


@dataclass(frozen=True)
class Ladder:
    """One system from its worst rung to its best: what it chose, and how its replies score."""

    name: str
    right: Right
    replies: Mapping[str, Values] = field(default_factory=dict)  # by metric: rungs, contexts

    @property
    def places(self) -> range:
        """The order that is known."""
        return range(next(iter(self.right.values())).shape[0])

    def accuracies(self, kind: Kind) -> Values:
        """Rungs, sets."""
        found: Values = np.nanmean(self.right[kind], axis=2)
        return found

    def coefficients(self, kind: Kind) -> list[float]:
        """Spearman of each set's accuracies with the known order; the first chosen set, of the whole repository, is
        not among those that were built by halves."""
        first = 1 if kind is Kind.CHOSEN else 0
        return [spearman(column, self.places) for column in self.accuracies(kind).T[first:]]


@dataclass(frozen=True)
class Measured:
    """All that the tables are made of."""

    names: Sequence[str]  # of the ten systems
    right: Right
    replies: Mapping[str, Values]
    ladders: Sequence[Ladder]
