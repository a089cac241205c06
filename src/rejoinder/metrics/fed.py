"""FED (Mehri and Eskenazi 2020): how unlikely it is that a user complains after the reply."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import orjson

from rejoinder.contract import NAN, Metric
from rejoinder.metrics._context import said_turns, where_said
from rejoinder.metrics._language_model import language_model_details
from rejoinder.metrics._parameters import check_choice
from rejoinder.models.language_model import LanguageModel
from rejoinder.models.open_language_model import open_language_model
from rejoinder.types import Pair, Turn

Aspect: TypeAlias = Literal[
    "relevant",
    "correct",
    "interesting",
    "engaging",
    "specific",
    "semantically_appropriate",
    "understandable",
    "fluent",
]
Followups: TypeAlias = Literal["negative", "both"]
Over: TypeAlias = Literal["followup", "conversation"]
_FILE = Path(__file__).parent / "_fed" / "followups.json"
# A chat model writes as the assistant. The one who would complain is the other party, so it takes the user's place.
_SWAPPED = {"system": "system", "user": "assistant", "assistant": "user"}


@dataclass(frozen=True)
class Fed(Metric):
    """How unlikely a language model finds it that what follows the reply is a complaint in one ``aspect``.

    The mean of -log P(follow-up | context, reply) over the aspect's negative follow-ups; with ``followups='both'`` the
    same mean over its positive ones (praise) is taken off, as FED was proposed (relevant and correct have none).
    ``over='conversation'`` is the loss per token of the whole conversation with the follow-up instead, as the authors'
    program has it. ``model`` names a language model of the catalog or a folder. A conversation that is too long loses
    its beginning. NaN without a context.
    """

    aspect: Aspect = "relevant"
    model: str = "smollm2-135m"
    followups: Followups = "negative"
    over: Over = "followup"

    needs = frozenset({"context"})
    range = (0.0, float("inf"))
    citation = (
        "Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT; as FED-RELEVANT and "
        "FED-CORRECT in Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    )
    decimals = 4

    def __post_init__(self) -> None:
        check_choice("fed", "aspect", self.aspect, Aspect)
        check_choice("fed", "followups", self.followups, Followups)
        check_choice("fed", "over", self.over, Over)
        if self.followups == "both":
            object.__setattr__(self, "range", (-float("inf"), float("inf")))

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """How unlikely complaints are after each response."""
        return where_said(pairs, self._scores, NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Which pairs hold more tokens than the model reads."""
        model = open_language_model(self.model)
        conversations = [conversation(pair) for pair in pairs]
        return [lost > 0 for lost in model.context_cut(conversations, self._room(model))]

    def details(self) -> dict[str, str]:
        """The digests of the language model and of the follow-ups, and how the model reads turns."""
        return {**language_model_details(self.model), "utterances": _read().digest[:12]}

    def _scores(self, pairs: Sequence[Pair]) -> list[float]:
        model = open_language_model(self.model)
        conversations = [conversation(pair) for pair in pairs]
        negative = self._losses(model, conversations, "negative")
        if self.followups == "negative":
            return negative
        positive = self._losses(model, conversations, "positive")
        return [bad - good for bad, good in zip(negative, positive, strict=True)]

    def _losses(
        self, model: LanguageModel, conversations: Sequence[tuple[Turn, ...]], kind: Literal["negative", "positive"]
    ) -> list[float]:
        """The mean loss over the follow-ups of one kind; 0 where the aspect has none."""
        texts = _read().aspects[self.aspect][kind]
        if not texts:
            return [0.0] * len(conversations)
        found = iter(
            model.log_probabilities([c for c in conversations for _ in texts], list(texts) * len(conversations))
        )
        of_followups = [[next(found) for _ in texts] for _ in conversations]
        if self.over == "followup":
            return [sum(-scores.total for scores in line) / len(texts) for line in of_followups]
        before = model.context_log_probabilities(conversations, self._room(model))
        return [
            sum(-(b.log_probabilities.sum() + s.total) / (len(b.tokens) + len(s.tokens)) for s in line) / len(texts)
            for b, line in zip(before, of_followups, strict=True)
        ]

    def _room(self, model: LanguageModel) -> int:
        """The tokens of the longest follow-up."""
        kinds = ("negative",) if self.followups == "negative" else ("negative", "positive")
        return max(len(model.reply_ids(text)) for kind in kinds for text in _read().aspects[self.aspect][kind])


def conversation(pair: Pair) -> tuple[Turn, ...]:
    """The context and the reply as turns that a follow-up can follow."""
    before = (Turn(turn.text, _SWAPPED.get(turn.speaker or "")) for turn in said_turns(pair))
    return (*before, Turn(pair.response.text, "user"))


class _File(NamedTuple):
    aspects: dict[str, dict[str, list[str]]]
    digest: str


@cache
def _read() -> _File:
    found = _FILE.read_bytes()
    return _File(orjson.loads(found)["aspects"], hashlib.sha256(found).hexdigest())
