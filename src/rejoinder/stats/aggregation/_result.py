"""What a model of aggregation gives: a label a unit, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.aggregation._votes import Votes
from rejoinder.stats.arrays import NAN, Floats, Ints


class Aggregated(NamedTuple):
    """One label a unit (NaN where there is none), in the order of the units.

    A model of classes gives ``probabilities``, units by ``categories``; from them come ``expected``, their mean, and
    ``error``, their standard deviation. A mean has no probabilities: its ``error`` is its standard error, NaN where the
    unit has one rating. ``low`` and ``high`` hold 95% of the probability, or are the mean's confidence interval.
    ``n`` counts each unit's ratings; ``steps`` how often a model went round, None where it does not.
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
        place = np.searchsorted(self.categories, self.values)
        known = np.isfinite(self.values)
        found: Floats = self.probabilities[np.arange(len(place)), np.where(known, place, 0)]
        return np.where(known, found, NAN)


def labelled(votes: Votes, probabilities: Floats, steps: int | None = None, converged: bool = True) -> Aggregated:
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
