"""Sentence cosine: the cosine of the sentence vectors of a reply and a reference (where papers used Skip-Thought)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.metrics._models import encoder_details, find_truncated, sentence_vectors
from rejoinder.metrics._references import best_over_references, cosines
from rejoinder.types import Pair


@dataclass(frozen=True)
class SentenceCosine(Metric):
    """How close the vector of a reply is to that of the best reference, as a cosine.

    ``encoder`` is an encoder from the catalog, a folder, or ``hf:NAME``. A text that is too long for it loses its end.
    NaN without references.
    """

    encoder: str = "aptness"

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = (
        "Reimers and Gurevych 2019, Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks; as Kiros et al. "
        "2015, Skip-Thought Vectors"
    )
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the largest cosine of each response with any of its item's references."""
        return best_over_references(
            pairs,
            lambda replies, references: cosines(replies, references, lambda t: sentence_vectors(t, self.encoder)),
        )

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the encoder."""
        return find_truncated(pairs, self.encoder)

    def details(self) -> dict[str, str]:
        """Return the digest of the encoder."""
        return encoder_details(self.encoder)
