"""Greedy matching (Rus and Lintean 2012): each word matched with its nearest in the other text, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._bags import bags_of, vectors_details
from rejoinder.metrics._references import Similarities, best_over_references
from rejoinder.stats.arrays import scale_to_unit_length
from rejoinder.types import Pair


@dataclass(frozen=True)
class GreedyMatching(Metric):
    """How close a reply's words are to those of the best reference, each matched with its nearest.

    The mean over the reply's words of the largest cosine with a word of the reference, the same in the other direction,
    and the mean of the two. ``vectors`` is static word vectors from the catalog, or a folder. Unknown words are
    skipped; a text without a known word cannot be compared. NaN without references.
    """

    vectors: str = "glove-6b-50d"

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = (
        "Rus and Lintean 2012, A Comparison of Greedy and Optimal Assessment of Natural Language Student Input Using "
        "Word-to-Word Similarity Metrics; Liu et al. 2016"
    )
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the best match of each response with any of its item's references."""
        return best_over_references(pairs, self._similarities)

    def details(self) -> dict[str, str]:
        """Return the digest of the word vectors."""
        return vectors_details(self.vectors)

    def _similarities(self, replies: list[str], references: list[str]) -> Similarities:
        texts = list(dict.fromkeys([*replies, *references]))
        bags = bags_of(texts, self.vectors)
        vectors = scale_to_unit_length(bags.vectors)
        words = {text: vectors[rows] for text, rows in zip(texts, bags.rows, strict=True)}
        return np.array([_match_words_greedily(words[a], words[b]) for a, b in zip(replies, references, strict=True)])


def _match_words_greedily(reply: Similarities, reference: Similarities) -> float:
    if not len(reply) or not len(reference):
        return NAN
    near = reply @ reference.T
    both = float(near.max(axis=0).mean() + near.max(axis=1).mean()) / 2
    return min(max(both, -1.0), 1.0)
