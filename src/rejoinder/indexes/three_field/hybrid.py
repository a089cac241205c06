"""Turns by words and by vectors at once: the two similarities of the three fields, added.

Sim = sum over the fields of log BM25 + weight x log((1 + cosine) / 2). The second logarithm has a narrower range, so
it is weighted: with WEIGHT the two vary equally, on average, among the hundred best turns of either kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.three_field.bm25 import ThreeFieldIndex
from rejoinder.indexes.three_field.dense import DenseThreeFieldIndex
from rejoinder.indexes.three_field.fields import Fields
from rejoinder.indexes.three_field.search import FieldSearch, SimilarityBounds

WEIGHT = 17.0  # measured with `aptness` on DailyDialog: 2,500 training dialogues, 60 places of the validation split


class HybridThreeFieldIndex(FieldSearch):
    """An index by words and one by vectors over the same turns, searched as one."""

    kind = "three_field_hybrid"

    def __init__(self, words: ThreeFieldIndex, vectors: DenseThreeFieldIndex, weight: float = WEIGHT) -> None:
        if words.windows != vectors.windows or words.epsilon != vectors.epsilon:
            raise SpecError("the two indexes of a hybrid must have the same windows and the same epsilon")
        if _turn_parts(words) != _turn_parts(vectors):
            raise SpecError(
                f"{words.folder} and {vectors.folder} hold different turns; build both from the same dialogues"
            )
        if not (math.isfinite(weight) and weight > 0):
            raise SpecError(f"the weight of a hybrid must be above 0, found {weight}")
        super().__init__(words.folder, words.manifest, words.windows, words.epsilon)
        self._words, self._vectors, self.weight = words, vectors, weight

    @property
    def _least(self) -> float:
        return (1 + self.weight) * math.log(self.epsilon)

    def _bounds(self, queries: Sequence[Fields]) -> Iterator[SimilarityBounds]:
        weight = np.float32(self.weight)
        rounding = np.float32(2.0**-18 * (1 + self.weight))
        for first, second in zip(self._words._bounds(queries), self._vectors._bounds(queries), strict=True):
            yield SimilarityBounds(
                first.low + weight * second.low - rounding, first.high + weight * second.high + rounding
            )

    def _logs(self, query: Fields, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = self._words._logs(query, numbers)
        return total + self.weight * self._vectors._logs(query, numbers)


def _turn_parts(index: FieldSearch) -> list[str]:
    """Return the names of the parts that hold the turns; a name includes a digest of the content."""
    return [part.name for part in index.manifest.parts if part.role == "passages"]
