"""ADEM (Lowe et al. 2017): the rating that people would give a reply, learned from ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.metrics._context import split_pairs
from rejoinder.types import Pair
from rejoinder_lab.models.head.bilinear import predict_ratings
from rejoinder_lab.models.head.model import open_head


@dataclass(frozen=True)
class Adem(Metric):
    """The rating of a reply by how its vector goes with that of the context and, where learned, of the best reference.

    The score is cᵀ M r + qᵀ N r + b, with vectors of context, reply and reference; M, N and b are learned from ratings,
    on whose scale the score is. ``folder`` is a network trained on yours (``rejoinder train adem``). The one in the
    package is an example: it has learned partners' marks in Topical-Chat, without references. A network that has
    learned from references has no score for an item without. NaN without a context.
    """

    folder: str | None = None

    needs = frozenset({"context"})
    reads = frozenset({"references"})
    range = (-math.inf, math.inf)
    citation = "Lowe et al. 2017, Towards an Automatic Turing Test: Learning to Evaluate Dialogue Responses"
    decimals = 4

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the rating of each response."""
        if not pairs:
            return []
        references = [[reference.text for reference in pair.item.references] for pair in pairs]
        return predict_ratings(open_head("adem", self.folder), *split_pairs(pairs), references)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have a reply that is too long for the encoder."""
        return open_head("adem", self.folder).encoder.truncated([pair.response.text for pair in pairs])

    def details(self) -> dict[str, str]:
        """Return the digest of the network, with that of its encoder."""
        return {"weights": open_head("adem", self.folder).card.digest()[:12]}
