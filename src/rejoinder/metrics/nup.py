"""NUP: the probability that a reply is the next utterance, by an encoder fine-tuned to predict it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.metrics._context import split_pairs
from rejoinder.models.nup.model import open_nup
from rejoinder.types import Pair


@dataclass(frozen=True)
class Nup(Metric):
    """The probability that a reply follows its context, by a fine-tuned encoder, max-pooled, with one layer on top.

    ``folder`` is a network of your own (``rejoinder train nup``); by default, the one that this command stored in the
    cache is used. NaN without a context.
    """

    folder: str | None = None

    needs = frozenset({"context"})
    languages = "English"
    citation = "Phy, Zhao and Aizawa 2020, Deconstruct to Reconstruct a Configurable Evaluation Metric (USL-H)"
    decimals = 4
    large = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each response."""
        return [float(value) for value in open_nup(self.folder).probabilities(*split_pairs(pairs))]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have a context or a reply of more tokens than are read."""
        return open_nup(self.folder).cut(*split_pairs(pairs))

    def details(self) -> dict[str, str]:
        """Return the digest of the network."""
        return {"weights": open_nup(self.folder).digest[:12]}
