"""IDK: how relevant a reply is, by a regression trained on true replies and one fixed false reply, "i don't know."."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.metrics._context import split_pairs
from rejoinder.models.idk.model import open_idk
from rejoinder.models.weight_sets import WeightSet, check_weights
from rejoinder.types import Pair


@dataclass(frozen=True)
class Idk(Metric):
    """The probability that a reply is a true one rather than "i don't know.", by logistic regression.

    The regression uses the joint vector of context and reply. ``folder`` is a model of your own (``rejoinder train
    idk``), ``weights`` a set of shipped ones: ``'permissive'``, the default, or ``'research'``. NaN without a context.
    """

    folder: str | None = None
    weights: WeightSet | None = None

    needs = frozenset({"context"})
    languages = "English"
    citation = "Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    decimals = 4

    def __post_init__(self) -> None:
        check_weights("idk", self.weights, self.folder)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each response."""
        return [float(value) for value in open_idk(self.folder, self.weights).probabilities(*split_pairs(pairs))]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have a context or a reply of more tokens than are read."""
        return open_idk(self.folder, self.weights).encoder.cut(*split_pairs(pairs))

    def details(self) -> dict[str, str]:
        """Return the digests of the regression and of the model that computes the vectors."""
        model = open_idk(self.folder, self.weights)
        return {"weights": model.card.digest()[:12], "features": model.encoder.digest[:12]}
