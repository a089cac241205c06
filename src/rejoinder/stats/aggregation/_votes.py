"""Votes: who gave which unit which label, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import Floats, Ints, Numbers, floats, sums_by

MOST_CATEGORIES = 30


@dataclass(frozen=True)
class Votes:
    """One vote a row: the unit, the rater and the place of the label among the categories, which are in order."""

    unit: Ints
    rater: Ints
    label: Ints
    categories: Floats
    n_units: int
    n_raters: int

    @classmethod
    def of(cls, ratings: Numbers) -> Votes:
        """The votes of a matrix, units by raters; what is not a finite number is missing."""
        matrix = floats(ratings, "ratings", ndim=2)
        unit, rater = np.nonzero(np.isfinite(matrix))
        if not len(unit):
            raise InputError("there are no ratings to aggregate; name a file that has some")
        categories, label = np.unique(matrix[unit, rater], return_inverse=True)
        return cls(unit, rater, label, categories + 0.0, *matrix.shape)  # -0 is 0

    def __len__(self) -> int:
        return len(self.label)

    @property
    def values(self) -> Floats:
        """The votes as they were given."""
        return self.categories[self.label]

    @property
    def sizes(self) -> Ints:
        """How many votes each unit has."""
        return np.bincount(self.unit, minlength=self.n_units)

    @property
    def shares(self) -> Floats:
        """The share of each category among a unit's votes; NaN for a unit without votes."""
        size = len(self.categories)
        counts = np.bincount(self.unit * size + self.label, minlength=self.n_units * size)
        with np.errstate(invalid="ignore"):
            shares: Floats = counts.reshape(self.n_units, size) / self.sizes[:, None]
        return shares

    def by_unit(self, rows: Floats) -> Floats:
        """The sums of rows (one a vote) over the votes of each unit."""
        return _sums(self.unit, rows, self.n_units)

    def by_rater(self, rows: Floats) -> Floats:
        """The sums of rows (one a vote) over the votes of each rater."""
        return _sums(self.rater, rows, self.n_raters)

    def as_classes(self, method: str) -> Votes:
        """The votes themselves; an error where there are so many different ones that they are measures, not classes."""
        if len(self.categories) > MOST_CATEGORIES:
            raise InputError(
                f"{method} needs classes, but the ratings take {len(self.categories)} different values "
                f"(at most {MOST_CATEGORIES}); take mean instead"
            )
        return self


def _sums(codes: Ints, rows: Floats, size: int) -> Floats:
    width = rows.shape[1]
    cells = (codes[:, None] * width + np.arange(width)).ravel()
    return sums_by(cells, rows.ravel(), size * width).reshape(size, width)
