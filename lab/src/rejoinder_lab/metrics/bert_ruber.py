"""BERT-RUBER (Ghazarian et al. 2019): RUBER's two parts over contextual vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, split_pairs
from rejoinder.metrics._references import best_over_references, cosines
from rejoinder.spec import check_choice
from rejoinder.types import Pair
from rejoinder_lab.models.head.model import apply_layers, logistic, open_head
from rejoinder_lab.models.head.pairs import encode_contexts, join_features

Part: TypeAlias = Literal["both", "unreferenced", "referenced"]
_NEEDS = {
    "both": frozenset({"context", "references"}),
    "unreferenced": frozenset({"context"}),
    "referenced": frozenset({"references"}),
}


@dataclass(frozen=True)
class BertRuber(Metric):
    """How well a reply fits its context and the best reference, by RUBER's two parts over an encoder's vectors.

    The unreferenced part is the probability that the reply is the true one rather than a random one, by dense layers
    over both vectors, trained with cross-entropy. The referenced part is the cosine of the mean vectors of the reply's
    and the reference's tokens (0 if it is negative). ``part`` is one of them, or both: their mean. ``folder`` is a
    network of your own (``rejoinder train bert_ruber``). NaN without what the part needs.
    """

    folder: str | None = None
    part: Part = "both"

    needs = _NEEDS["both"]
    citation = (
        "Ghazarian et al. 2019, Better Automatic Evaluation of Open-Domain Dialogue Systems with Contextualized "
        "Embeddings"
    )
    decimals = 4

    def __post_init__(self) -> None:
        check_choice("bert_ruber", "part", self.part, Part)
        object.__setattr__(self, "needs", _NEEDS[self.part])

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each response."""
        parts = []
        if self.part != "referenced":
            parts.append(map_spoken(pairs, self._probabilities, NAN))
        if self.part != "unreferenced":
            parts.append(best_over_references(pairs, self._cosines))
        return [float(value) for value in np.maximum(parts, 0.0).mean(axis=0)]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a reply, a turn or a reference that is too long for the encoder."""
        encoder = open_head("bert_ruber", self.folder).encoder
        texts = [
            [p.response.text, *(t.text for t in p.item.context), *(r.text for r in p.item.references)] for p in pairs
        ]
        cut = iter(encoder.truncated([text for of_pair in texts for text in of_pair]))
        return [sum([next(cut) for _ in of_pair]) > 0 for of_pair in texts]

    def details(self) -> dict[str, str]:
        """Return the digest of the network, with that of its encoder."""
        return {"weights": open_head("bert_ruber", self.folder).card.digest()[:12]}

    def _probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        head = open_head("bert_ruber", self.folder)
        contexts, replies = split_pairs(pairs)
        rows = join_features(encode_contexts(head.encoder, contexts), head.encode(replies))
        return [float(value) for value in logistic(apply_layers(head.weights, rows))]

    def _cosines(self, replies: list[str], references: list[str]) -> NDArray[np.float64]:
        return cosines(replies, references, open_head("bert_ruber", self.folder).encode)
