"""Vector extrema (Forgues et al. 2014): the cosine of the most extreme values of word vectors in each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import Metric
from rejoinder.metrics._bags import bags_of, vectors_details
from rejoinder.metrics._references import best_over_references, cosines
from rejoinder.types import Pair


@dataclass(frozen=True)
class VectorExtrema(Metric):
    """How close the extreme vector of a reply is to that of the best reference, as a cosine.

    In each dimension, the extreme vector of a text has the value of the word that is farthest from 0 (the positive one
    of two equally far). ``vectors`` is static word vectors from the catalog, or a folder. Unknown words are skipped; a
    text without a known word cannot be compared. NaN without references.
    """

    vectors: str = "glove-6b-50d"

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = "Forgues et al. 2014, Bootstrapping Dialog Systems with Word Embeddings; Liu et al. 2016"
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the largest cosine of each response with any of its item's references."""
        return best_over_references(pairs, lambda replies, references: cosines(replies, references, self._extremes))

    def details(self) -> dict[str, str]:
        """Return the digest of the word vectors."""
        return vectors_details(self.vectors)

    def _extremes(self, texts: list[str]) -> NDArray[np.float64]:
        bags = bags_of(texts, self.vectors)
        return np.array([_extreme_vector(bags.vectors[rows]) for rows in bags.rows])


def _extreme_vector(words: NDArray[np.float64]) -> NDArray[np.float64]:
    high, low = words.max(axis=0, initial=0.0), words.min(axis=0, initial=0.0)
    extreme: NDArray[np.float64] = np.where(high >= -low, high, low)
    return extreme
