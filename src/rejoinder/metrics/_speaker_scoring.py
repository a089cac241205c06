"""SSREM, RSREM and RUBER as metrics: h(f(context, reply), g(reply, reference)), and f alone.

f comes from a model trained on dialogues, g is another metric; both are scaled to the unit range with bounds learned
from the training data, and clipped (Bak and Oh 2020, equations 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.metric import Metric, parse
from rejoinder.metrics._context import split_pairs
from rejoinder.models.speaker.model import SpeakerScorer, open_scorer
from rejoinder.models.speaker.network import Array, Kind
from rejoinder.models.weight_sets import WeightSet, check_weights, use_weights
from rejoinder.spec import check_choice
from rejoinder.types import Pair

Mix: TypeAlias = Literal["mean", "min", "max", "geometric"]


@dataclass(frozen=True)
class UnreferencedMetric(Metric):
    """f of a scorer of one kind, on the unit range."""

    folder: str | None = None
    weights: WeightSet | None = None

    needs = frozenset({"context"})
    languages = "English"
    decimals = 4
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        check_weights(f"{self.kind}_f", self.weights, self.folder)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return f of each response."""
        return [float(value) for value in self._open().f(*split_pairs(pairs))]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain an utterance that is too long for the encoder V."""
        return self._open().truncated(*split_pairs(pairs))

    def details(self) -> dict[str, str]:
        """Return the digest of the scorer, with its bounds and V."""
        return {"weights": self._open().card.digest()[:12]}

    def _open(self) -> SpeakerScorer:
        return open_scorer(self.kind, self.folder, self.weights)


@dataclass(frozen=True)
class ReferencedMetric(Metric):
    """h(f, g) of a scorer of one kind; g, if it has networks of this package, has those of the same set."""

    folder: str | None = None
    reference: str = "sentence_mover"
    mix: Mix = "mean"
    weights: WeightSet | None = None

    needs = frozenset({"context", "references"})
    languages = "English"
    decimals = 4
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        check_choice(self.kind, "mix", self.mix, Mix)
        check_weights(self.kind, self.weights, self.folder)
        metric = parse(self.reference)
        if metric.needs != {"references"}:
            needed = ", ".join(sorted(metric.needs)) or "no references"
            raise SpecError(f"{self.kind}: reference must be a metric that needs only references, not {needed}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return f and g of each response, combined."""
        if not pairs:
            return []
        with use_weights(self.weights):
            scorer = open_scorer(self.kind, self.folder)
            f = scorer.f(*split_pairs(pairs))
            g = np.array(parse(self.reference).score(pairs), np.float64)
        scaled = scorer.scale(g, str(parse(self.reference)))
        return [float(value) for value in mix_scores(f, scaled, self.mix)]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for f or g."""
        with use_weights(self.weights):
            f_cut = open_scorer(self.kind, self.folder).truncated(*split_pairs(pairs))
            return [a or b for a, b in zip(f_cut, parse(self.reference).cut(pairs), strict=True)]

    def details(self) -> dict[str, str]:
        """Return the digest of the scorer (with its bounds and V) and the details of g."""
        with use_weights(self.weights):
            own = {"weights": open_scorer(self.kind, self.folder).card.digest()[:12]}
            details = parse(self.reference).details()
        return {**own, **{f"reference {key}": value for key, value in details.items()}}


def mix_scores(f: Array, g: Array, mix: Mix) -> Array:
    """Return h of f and g (Tao et al. 2018, section "Hybrid Evaluation"); NaN if either is."""
    if mix == "min":
        return np.asarray(np.minimum(f, g))
    if mix == "max":
        return np.asarray(np.maximum(f, g))
    return np.asarray(np.sqrt(f * g) if mix == "geometric" else (f + g) / 2)
