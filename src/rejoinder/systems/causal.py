"""A causal language model as a system: it prefers the most likely reply (Sato et al. 2020, section 4.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.models.language_model.model import LanguageModel, open_language_model
from rejoinder.models.language_model.prompt_format import Join, check_join
from rejoinder.spec import check_choice
from rejoinder.systems._base import System
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise, minus_loss, network_batch_limits
from rejoinder.systems._model_names import find_model_folder
from rejoinder.systems._texts import score_texts, spoken_question_turns
from rejoinder.types import Question


@dataclass(frozen=True)
class Causal(System):
    """Minus the softmax cross-entropy of each candidate after its context, ``hf:NAME`` for short.

    ``model`` is a folder, a name of the catalog, or a model in the hub's local cache. ``normalise='token'`` takes the
    mean over the tokens, ``'none'`` the sum. ``end`` counts the token that ends a turn as part of the candidate.
    ``join`` sets how turns become tokens; by default, the model's own convention.
    """

    model: str
    normalise: Normalise = "token"
    end: bool = False
    join: Join | None = None

    citation = CITATION
    decimals = 4
    alone = True  # the scores of a question do not depend on the others
    large = True

    def __post_init__(self) -> None:
        check_normalise("causal", self.normalise)
        if self.join is not None:
            check_choice("causal", "join", self.join, Join)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate; a context that is too long for the model loses its beginning."""
        return score_texts(questions, self._scores) if questions else []

    def details(self) -> dict[str, str]:
        """Return the digest of the model, and how it reads turns."""
        model_details = self._open().details()
        return {name: model_details[name] for name in ("digest", "join", "window")}

    def _scores(self, pairs: Sequence[tuple[Question, str]]) -> list[float]:
        model, contexts = self._open(), [spoken_question_turns(question) for question, _ in pairs]
        rows, tokens = network_batch_limits(model.network)
        results = model.log_probabilities(
            contexts, [text for _, text in pairs], end=self.end, most_rows=rows, most_tokens=tokens
        )
        return [minus_loss(result.log_probabilities, self.normalise) for result in results]

    def _open(self) -> LanguageModel:
        model = open_language_model(find_model_folder(self.model, "language-model"))
        if self.join is None:
            return model
        return dataclasses.replace(model, join=check_join(model.tokenizer, self.join, self.model))
