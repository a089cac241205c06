"""Votes in, labels out: the votes of raters as arrays of codes, and the result of an aggregation model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, as_floats, sum_by_code

MAX_CATEGORIES = 30


@dataclass(frozen=True)
class Votes:
    """One vote per row: the unit, the rater and the index of the label in the sorted categories."""

    unit: Ints
    rater: Ints
    label: Ints
    categories: Floats
    n_units: int
    n_raters: int

    @classmethod
    def of(cls, ratings: Numbers) -> Votes:
        """The votes of a matrix, units by raters; what is not a finite number is missing."""
        matrix = as_floats(ratings, "ratings", ndim=2)
        unit, rater = np.nonzero(np.isfinite(matrix))
        if not len(unit):
            raise InputError("there are no ratings to aggregate; give ratings that are finite numbers")
        categories, label = np.unique(matrix[unit, rater], return_inverse=True)
        return cls(unit, rater, label, categories + 0.0, *matrix.shape)  # -0 is 0

    def __len__(self) -> int:
        return len(self.label)

    @property
    def values(self) -> Floats:
        """The votes as ratings."""
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
        """The sums of rows (one per vote) over the votes of each unit."""
        return _sum_rows(self.unit, rows, self.n_units)

    def by_rater(self, rows: Floats) -> Floats:
        """The sums of rows (one per vote) over the votes of each rater."""
        return _sum_rows(self.rater, rows, self.n_raters)

    def as_classes(self, method: str) -> Votes:
        """The votes themselves; an error where there are too many different ones to be classes."""
        if len(self.categories) > MAX_CATEGORIES:
            raise InputError(
                f"{method} needs classes, but the ratings take {len(self.categories)} different values "
                f"(at most {MAX_CATEGORIES}); use mean instead"
            )
        return self


def _sum_rows(codes: Ints, rows: Floats, size: int) -> Floats:
    width = rows.shape[1]
    cells = (codes[:, None] * width + np.arange(width)).ravel()
    return sum_by_code(cells, rows.ravel(), size * width).reshape(size, width)


class Aggregated(NamedTuple):
    """One label per unit (NaN where there is none), in the order of the units.

    A model of classes gives ``probabilities``, units by ``categories``; from them come ``expected``, their mean, and
    ``error``, their standard deviation. A mean has no probabilities: its ``error`` is its standard error, NaN where the
    unit has one rating. ``low`` and ``high`` hold 95% of the probability, or are the mean's confidence interval.
    ``n`` counts each unit's ratings; ``steps`` is the number of iterations, None where a model has none.
    """

    values: Floats
    expected: Floats
    error: Floats
    low: Floats
    high: Floats
    n: Ints
    categories: Floats
    probabilities: Floats | None = None
    steps: int | None = None
    converged: bool = True

    @property
    def confidence(self) -> Floats:
        """The probability of the label; NaN for a mean."""
        if self.probabilities is None:
            return np.full(len(self.values), NAN)
        index = np.searchsorted(self.categories, self.values)
        known = np.isfinite(self.values)
        label_probabilities: Floats = self.probabilities[np.arange(len(index)), np.where(known, index, 0)]
        return np.where(known, label_probabilities, NAN)


def label_units(votes: Votes, probabilities: Floats, steps: int | None = None, converged: bool = True) -> Aggregated:
    """The most probable label of each unit; of equally probable ones the lowest."""
    probabilities = np.where(votes.sizes[:, None] > 0, probabilities, NAN)
    known = ~np.isnan(probabilities[:, 0])
    best = np.where(known, np.argmax(np.nan_to_num(probabilities), axis=1), 0)
    # Probabilities that differ by rounding only are equal, whatever the order of the votes.
    top = np.take_along_axis(probabilities, best[:, None], axis=1)
    best = np.where(known, np.argmax(probabilities >= top - 1e-9, axis=1), 0)
    expected = probabilities @ votes.categories
    variance = ((votes.categories[None, :] - expected[:, None]) ** 2 * probabilities).sum(axis=1)
    cumulative = np.cumsum(probabilities, axis=1)
    low = votes.categories[np.argmax(cumulative >= 0.025, axis=1)]
    high = votes.categories[np.argmax(cumulative >= 0.975 - 1e-12, axis=1)]
    return Aggregated(
        np.where(known, votes.categories[best], NAN),
        expected,
        np.sqrt(variance),
        np.where(known, low, NAN),
        np.where(known, high, NAN),
        votes.sizes,
        votes.categories,
        probabilities,
        steps,
        converged,
    )
