"""Embedding average: the cosine of the mean word vectors of a reply and a reference (Liu et al. 2016)."""

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
class EmbeddingAverage(Metric):
    """How close the mean of a reply's word vectors is to that of the best reference, as a cosine.

    ``vectors`` is static word vectors from the catalog, or a folder. Unknown words are skipped; a text without a known
    word cannot be compared. NaN without references.
    """

    vectors: str = "glove-6b-50d"

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = (
        "Liu et al. 2016, How NOT To Evaluate Your Dialogue System: An Empirical Study of Unsupervised Evaluation "
        "Metrics for Dialogue Response Generation"
    )
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the largest cosine of each response with any of its item's references."""
        return best_over_references(pairs, lambda replies, references: cosines(replies, references, self._means))

    def details(self) -> dict[str, str]:
        """Return the digest of the word vectors."""
        return vectors_details(self.vectors)

    def _means(self, texts: list[str]) -> NDArray[np.float64]:
        bags = bags_of(texts, self.vectors)
        # The sum, which has the same direction as the mean.
        return np.array([bags.vectors[rows].sum(axis=0) for rows in bags.rows])
