"""USL-H (Phy et al. 2020): whether a reply is understandable, then sensible, then specific."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.files import sha256_of
from rejoinder.metric import NAN, Metric, signature
from rejoinder.metrics._context import map_spoken
from rejoinder.metrics._inner import parse_context_metric, unit_scores
from rejoinder.spec import check_choice
from rejoinder.text.rarity import RARITY_FILE, mean_rarity
from rejoinder.types import Pair
from rejoinder_lab.models.head.model import Array, apply_layers, logistic, open_head

Part: TypeAlias = Literal["all", "understandable", "sensible", "specific"]


@dataclass(frozen=True)
class UslH(Metric):
    """How understandable, sensible and specific a reply is, each counting only as far as those before it.

    U, by dense layers over the encoder's vector, is the probability that a reply is whole, and not a reply whose words
    were shuffled, dropped or repeated. S is the score of ``sensible``, a metric that needs only the context. L, how
    rare the reply's words are, goes from 0 (the first quartile of training replies) to 1 (the third); the paper takes
    the likelihood by a masked language model. The score is (U + U S + U S L) / 3; ``part`` chooses one of the three.
    ``folder`` is a network of your own (``rejoinder train usl_h``). NaN without a context.
    """

    folder: str | None = None
    sensible: str = "nsp"
    part: Part = "all"

    needs = frozenset({"context"})
    citation = (
        "Phy, Zhao and Aizawa 2020, Deconstruct to Reconstruct a Configurable Evaluation Metric for Open-Domain "
        "Dialogue Systems"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("usl_h", "part", self.part, Part)
        object.__setattr__(self, "sensible", str(self._sensible))  # however it was written

    @cached_property
    def _sensible(self) -> Metric:
        return parse_context_metric("usl_h", "sensible", self.sensible)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each response, or one part of it."""
        return map_spoken(pairs, self._scores, NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the encoder or for the metric of sensible replies."""
        texts = [pair.response.text for pair in pairs]
        is_cut = open_head("usl_h", self.folder).encoder.truncated(texts)
        return [a or b for a, b in zip(is_cut, self._sensible.cut(pairs), strict=True)]

    def details(self) -> dict[str, str]:
        """Return the digests of the network and of the table of rarities, and the signature of ``sensible``."""
        digest = open_head("usl_h", self.folder).card.digest()[:12]
        return {"weights": digest, "rarity": sha256_of(RARITY_FILE)[:12], "sensible": signature(self._sensible)}

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        chosen = {"understandable": self._understandable, "sensible": self._sensible_scores, "specific": self._specific}
        if self.part != "all":
            return [float(value) for value in chosen[self.part](pairs)]
        return [float(value) for value in combine_parts(*(part(pairs) for part in chosen.values()))]

    def _understandable(self, pairs: Sequence[Pair]) -> Array:
        head = open_head("usl_h", self.folder)
        vectors = head.encode([pair.response.text for pair in pairs]) * head.encoder.dimensions**0.5
        return logistic(apply_layers(head.weights, vectors))

    def _sensible_scores(self, pairs: Sequence[Pair]) -> Array:
        return np.array(unit_scores(self._sensible, pairs))

    def _specific(self, pairs: Sequence[Pair]) -> Array:
        low, high = open_head("usl_h", self.folder).card.settings["rarity"]
        rarities = np.array([mean_rarity(pair.response.text) for pair in pairs])
        return np.asarray(np.clip((rarities - low) / (high - low), 0, 1))


def combine_parts(understandable: Array, sensible: Array, specific: Array) -> Array:
    """Return the hierarchical combination, in which a part counts only as far as those before it."""
    return np.asarray((understandable + understandable * sensible * (1 + specific)) / 3)
