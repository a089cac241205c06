"""NORM-PROB (Pang et al. 2020): how likely the reply is to a language model, relative to the others of its set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.metric import NAN, Rows, SetMetric, Statistic
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.metrics._models import language_model_details
from rejoinder.models.language_model.likelihood import TokenScores
from rejoinder.models.language_model.model import open_language_model
from rejoinder.spec import check_choice
from rejoinder.types import Pair

Per: TypeAlias = Literal["token", "reply"]
_LOWEST = 0.05  # share of replies that are clipped
_DECIMALS = 6  # of the statistic: the same on every machine, and more than the score needs


@dataclass(frozen=True)
class NormProb(SetMetric):
    """The log-probability of a reply after its context, from 0 (the set's least likely 5%) to 1 (certain).

    With l the log-probability ``per`` token and c the 5th percentile of l over all replies of the set, the score is
    (max(c, l) - c) / -c (Appendix D.1 of Berlot-Attwell and Rudzicz 2022). ``per='reply'`` does not divide by the
    number of tokens, as in the authors' program. ``model`` is a language model from the catalog, or a folder. A context
    that is too long loses its beginning. NaN without a context.
    """

    model: str = "smollm2-135m"
    per: Per = "token"

    needs = frozenset({"context"})
    languages = "model"
    citation = (
        "Pang et al. 2020, Towards Holistic and Automatic Evaluation of Open-Domain Dialogue Generation; as NORM-PROB "
        "in Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("norm_prob", "per", self.per, Per)

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """Return the log-probability of each response after its item's context; None if it has no tokens."""
        return map_spoken(pairs, self._log_probabilities, None)

    def settle(self, rows: Rows) -> list[float]:
        """Return the values clipped at the 5th percentile of all rows, scaled to 0 there and to 1 at 0."""
        values = np.array([NAN if row.statistic is None else row.statistic for row in rows], np.float64)
        known = ~np.isnan(values)
        if not known.any():
            return [NAN] * len(values)
        lowest = float(np.quantile(values[known], _LOWEST))
        if lowest == 0:  # nearly every reply is certain: nothing to scale by
            return [NAN] * len(values)
        return [float(value) for value in (np.maximum(values, lowest) - lowest) / -lowest]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more tokens than the model reads."""
        model = open_language_model(self.model)
        return [
            model.context_cut([spoken_turns(pair)], len(model.reply_ids(pair.response.text)))[0] > 0 for pair in pairs
        ]

    def details(self) -> dict[str, str]:
        """Return the digest of the language model, and how it reads turns."""
        return language_model_details(self.model)

    def _log_probabilities(self, pairs: Sequence[Pair]) -> list[Statistic]:
        token_scores = open_language_model(self.model).log_probabilities(
            [spoken_turns(pair) for pair in pairs], [pair.response.text for pair in pairs]
        )
        return [self._to_statistic(scores) for scores in token_scores]

    def _to_statistic(self, scores: TokenScores) -> float | None:
        value = scores.mean if self.per == "token" else scores.total
        return None if math.isnan(value) else round(value, _DECIMALS)
