"""RUBER's referenced part (Tao et al. 2018): the cosine of the pooled token vectors of a reply and a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import Metric
from rejoinder.metrics._bags import bags_of, is_word_vectors, vectors_details
from rejoinder.metrics._models import encoder_details, find_truncated
from rejoinder.metrics._references import best_over_references, cosines
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.types import Pair

_BATCH_TEXTS = 128  # texts whose token vectors are in memory together


@dataclass(frozen=True)
class RuberG(Metric):
    """How close the pooled vectors of a reply are to those of the best reference, as a cosine: half of ``ruber``.

    Pooling takes the maximum and the minimum over all tokens in each dimension, side by side. ``encoder`` is word
    vectors, as in the paper, or an encoder, whose last layer gives each token a vector. NaN without references.
    """

    encoder: str = "aptness"

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = "Tao et al. 2018, RUBER: An Unsupervised Method for Automatic Evaluation of Open-Domain Dialog Systems"
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the largest cosine of each response with any of its item's references."""
        return best_over_references(pairs, lambda replies, references: cosines(replies, references, self._pool))

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the encoder."""
        return [False] * len(pairs) if is_word_vectors(self.encoder) else find_truncated(pairs, self.encoder)

    def details(self) -> dict[str, str]:
        """Return the digest of the vectors."""
        return vectors_details(self.encoder) if is_word_vectors(self.encoder) else encoder_details(self.encoder)

    def _pool(self, texts: list[str]) -> NDArray[np.float64]:
        if is_word_vectors(self.encoder):
            bags = bags_of(texts, self.encoder)
            width = 2 * bags.vectors.shape[1]
            return np.array([_pool_extremes(bags.vectors[rows], width) for rows in bags.rows])
        encoder = load_encoder(self.encoder, cache=False)
        pooled = []
        for start in range(0, len(texts), _BATCH_TEXTS):
            tokens = encoder.encode_tokens(texts[start : start + _BATCH_TEXTS])
            pooled += [_pool_extremes(token_vectors.vectors, 2 * encoder.dimensions) for token_vectors in tokens]
        return np.array(pooled)


def _pool_extremes(tokens: NDArray[np.floating], width: int) -> NDArray[np.float64]:
    """Return the maximum and the minimum in each dimension; zeros if there are no tokens."""
    if not len(tokens):
        return np.zeros(width)
    return np.concatenate([tokens.max(axis=0), tokens.min(axis=0)]).astype(np.float64)
