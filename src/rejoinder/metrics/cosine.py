"""Cosine of context and reply (Xu et al. 2018), over static or contextual vectors: COS-FT and its variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._bags import bags_of, is_word_vectors, vectors_details
from rejoinder.metrics._context import join_context, map_spoken
from rejoinder.metrics._models import encoder_details
from rejoinder.models.base import Side
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.encoder.token_pooling import first_token_vectors, has_pooler, max_pool
from rejoinder.spec import check_choice
from rejoinder.stats.arrays import scale_to_unit_length
from rejoinder.types import Pair

Pooling: TypeAlias = Literal["mean", "max", "first"]


@dataclass(frozen=True)
class Cosine(Metric):
    """How close the vector of a reply is to that of the whole context, as a cosine.

    ``encoder`` is word vectors or an encoder from the catalog, a folder, or ``hf:NAME``. ``pooling='mean'`` is the mean
    of the word vectors, or the encoder's own sentence vector; ``'max'`` the maximum over all tokens in each dimension;
    ``'first'`` the first token, after the encoder's pooler if it has one. A context that is too long loses its
    beginning, a reply its end. NaN without a context, and if no word of a text has a vector.
    """

    encoder: str = "aptness"
    pooling: Pooling = "mean"

    needs = frozenset({"context"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = (
        "Xu et al. 2018, Better Conversations by Modeling, Filtering, and Optimizing for Coherence and Diversity; as "
        "COS-FT, COS-MAX-BERT and COS-NSP-BERT in Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    )
    decimals = 4

    def __post_init__(self) -> None:
        check_choice("cosine", "pooling", self.pooling, Pooling)
        if self.pooling == "first" and is_word_vectors(self.encoder):
            raise SpecError(f"cosine: word vectors ({self.encoder!r}) have no first token; use pooling='mean' or 'max'")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the cosine of each response and its item's context."""
        return map_spoken(pairs, self._cosines, NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have a context or a reply that is too long for the encoder."""
        if is_word_vectors(self.encoder):
            return [False] * len(pairs)
        texts = [text for pair in pairs for text in (join_context(pair), pair.response.text)]
        is_cut = load_encoder(self.encoder).truncated(texts)
        return [any(is_cut[i : i + 2]) for i in range(0, len(is_cut), 2)]

    def details(self) -> dict[str, str]:
        """Return the digest of the vectors, and whether the first token went through a pooler."""
        if is_word_vectors(self.encoder):
            return vectors_details(self.encoder)
        if self.pooling != "first":
            return encoder_details(self.encoder)
        pooler = has_pooler(load_encoder(self.encoder, cache=False))
        return {**encoder_details(self.encoder), "pooler": "yes" if pooler else "no"}

    def _cosines(self, pairs: Sequence[Pair]) -> list[float]:
        contexts = self._vectors([join_context(pair) for pair in pairs], "left")
        replies = self._vectors([pair.response.text for pair in pairs], "right")
        cosines = np.clip(
            np.einsum("ij,ij->i", scale_to_unit_length(contexts), scale_to_unit_length(replies)), -1.0, 1.0
        )
        return [float(value) for value in cosines]

    def _vectors(self, texts: Sequence[str], cut: Side) -> NDArray[Any]:
        """Return one vector per text, zeros if no word is known; each distinct text is encoded once."""
        index = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        return self._pool(list(index), cut)[[index[text] for text in texts]]

    def _pool(self, texts: Sequence[str], cut: Side) -> NDArray[Any]:
        if is_word_vectors(self.encoder):
            bags = bags_of(texts, self.encoder)
            pool = np.max if self.pooling == "max" else np.sum  # the mean has the same direction as the sum
            empty = np.zeros(bags.vectors.shape[1])
            return np.array([pool(bags.vectors[rows], axis=0) if rows else empty for rows in bags.rows])
        if self.pooling == "mean":
            return load_encoder(self.encoder).encode(texts, cut)
        encoder = load_encoder(self.encoder, cache=False)
        return (max_pool if self.pooling == "max" else first_token_vectors)(encoder, texts, cut)
