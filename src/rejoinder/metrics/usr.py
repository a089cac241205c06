"""USR (Mehri and Eskenazi 2020): how fluent a reply is to a masked language model, and how well it is retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric, signature
from rejoinder.metrics._context import join_context, map_spoken
from rejoinder.metrics._inner import parse_context_metric, unit_scores
from rejoinder.models.masked_language_model import open_masked_language_model
from rejoinder.spec import check_choice
from rejoinder.types import Pair

Part: TypeAlias = Literal["all", "mlm", "dr"]


@dataclass(frozen=True)
class Usr(Metric):
    """How fluent a reply is to a masked language model and how well it is retrieved for its context, combined.

    ``mlm`` is the geometric mean of the probabilities of the reply's tokens, each masked in turn, by ``model``: a BERT
    of the catalog, a folder, or ``hf:NAME`` with its masked language model (the paper tunes RoBERTa on Topical-Chat).
    ``dr``, dialogue retrieval, is the score of ``retrieval``, a metric that needs only the context. Together they are
    weighted by ``mlm_weight`` and 1 minus it, the coefficients of a regression; the paper learns them from ratings.
    ``part`` chooses one. NaN without a context.
    """

    model: str = "bert-base-uncased"
    retrieval: str = "nsp"
    mlm_weight: float = 0.5
    part: Part = "all"

    needs = frozenset({"context"})
    citation = (
        "Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog Generation"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("usr", "part", self.part, Part)
        if type(self.mlm_weight) not in (int, float) or not 0 <= self.mlm_weight <= 1:
            raise SpecError(f"usr: mlm_weight must be a number from 0 to 1, not {self.mlm_weight!r}")
        object.__setattr__(self, "retrieval", str(self._retrieval))  # however it was written

    @cached_property
    def _retrieval(self) -> Metric:
        return parse_context_metric("usr", "retrieval", self.retrieval)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each response, or one part of it."""
        return map_spoken(pairs, self._scores, NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs are too long for the masked language model or for the retrieval."""
        retrieval = self._retrieval.cut(pairs) if self.part != "mlm" else [False] * len(pairs)
        if self.part == "dr":
            return retrieval
        return [a or b for a, b in zip(retrieval, map_spoken(pairs, self._truncated, False), strict=True)]

    def details(self) -> dict[str, str]:
        """Return the digest of the masked language model and the signature of the retrieval, as far as they count."""
        own = {"weights": open_masked_language_model(self.model).digest[:12]} if self.part != "dr" else {}
        return {**own, **({"retrieval": signature(self._retrieval)} if self.part != "mlm" else {})}

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        if self.part == "dr":
            return unit_scores(self._retrieval, pairs)
        texts = [join_context(pair) for pair in pairs], [pair.response.text for pair in pairs]
        fluent = np.exp(open_masked_language_model(self.model).log_probabilities(*texts))
        if self.part == "mlm":
            return [float(value) for value in fluent]
        retrieved = np.array(unit_scores(self._retrieval, pairs))
        return [float(value) for value in self.mlm_weight * fluent + (1 - self.mlm_weight) * retrieved]

    def _truncated(self, pairs: Sequence[Pair]) -> list[bool]:
        texts = [join_context(pair) for pair in pairs], [pair.response.text for pair in pairs]
        return open_masked_language_model(self.model).truncated(*texts)
