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
from rejoinder.models.bert.masked_language_model import MaskedLanguageModel, open_masked_language_model
from rejoinder.spec import check_choice
from rejoinder.types import Pair
from rejoinder_lab.models.usr.model import EQUAL, UsrModel, open_usr

Part: TypeAlias = Literal["all", "mlm", "dr"]


@dataclass(frozen=True)
class Usr(Metric):
    """How fluent a reply is to a masked language model and how well it is retrieved for its context, combined.

    ``mlm`` says how probable the reply's tokens are, each masked in turn. By default the masked language model is the
    one in the package, trained here, and its mean log-probability is scaled so that most true replies are between 0
    and 1; ``folder`` is one of your own (``rejoinder train usr``). With ``model``, a BERT of the catalog, a folder, or
    ``hf:NAME``, it is that model's geometric mean of the probabilities. ``dr``, dialogue retrieval, is the score of
    ``retrieval``, a metric that needs only the context. Together they are weighted by ``mlm_weight`` and 1 minus it;
    by default that is what ``rejoinder train usr --ratings`` learned for the folder by a regression, as in the paper,
    or .5 where nothing was learned. ``part`` chooses one. NaN without a context.
    """

    folder: str | None = None
    model: str | None = None
    retrieval: str = "bert_ruber(part='unreferenced')"
    mlm_weight: float | None = None
    part: Part = "all"

    needs = frozenset({"context"})
    citation = (
        "Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog Generation"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("usr", "part", self.part, Part)
        if self.folder is not None and self.model is not None:
            raise SpecError("usr: folder and model both say which masked language model to use; leave one out")
        if self.mlm_weight is not None and (type(self.mlm_weight) not in (int, float) or not 0 <= self.mlm_weight <= 1):
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
        own = {"weights": self._open().digest[:12]} if self.part != "dr" else {}
        return {**own, **({"retrieval": signature(self._retrieval)} if self.part != "mlm" else {})}

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        if self.part == "dr":
            return unit_scores(self._retrieval, pairs)
        texts = [join_context(pair) for pair in pairs], [pair.response.text for pair in pairs]
        model = self._open()
        fluent = model.fluency(*texts) if isinstance(model, UsrModel) else np.exp(model.log_probabilities(*texts))
        if self.part == "mlm":
            return [float(value) for value in fluent]
        retrieved = np.array(unit_scores(self._retrieval, pairs))
        weight = self.mlm_weight
        if weight is None:
            weight = model.mlm_weight if isinstance(model, UsrModel) else EQUAL
        return [float(value) for value in weight * fluent + (1 - weight) * retrieved]

    def _truncated(self, pairs: Sequence[Pair]) -> list[bool]:
        texts = [join_context(pair) for pair in pairs], [pair.response.text for pair in pairs]
        return self._open().truncated(*texts)

    def _open(self) -> UsrModel | MaskedLanguageModel:
        return open_usr(self.folder) if self.model is None else open_masked_language_model(self.model)
