"""FED (Mehri and Eskenazi 2020): how unlikely a user is to complain after the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import orjson

from rejoinder.files import sha256_of_bytes
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.metrics._models import language_model_details
from rejoinder.models.language_model.likelihood import TokenScores
from rejoinder.models.language_model.model import LanguageModel, open_language_model
from rejoinder.spec import check_choice
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
_FILE = Path(__file__).parent / "fed_followups.json"
# A chat model writes as the assistant, but it is the user who would complain: so the two roles are swapped.
_SWAPPED = {"system": "system", "user": "assistant", "assistant": "user"}


@dataclass(frozen=True)
class Fed(Metric):
    """How unlikely, to a language model, it is that the reply is followed by a complaint about one ``aspect``.

    The mean of -log P(follow-up | context, reply) over the aspect's negative follow-ups; with ``followups='both'``, the
    same mean over the positive ones (praise) is subtracted, as FED was proposed (relevant and correct have none).
    ``over='conversation'`` uses the loss per token of the whole conversation with the follow-up, as in the authors'
    program. ``model`` is a language model from the catalog, or a folder. A conversation that is too long loses its
    beginning. NaN without a context.
    """

    aspect: Aspect = "relevant"
    model: str = "smollm2-135m"
    followups: Followups = "negative"
    over: Over = "followup"

    needs = frozenset({"context"})
    range = (0.0, float("inf"))
    languages = "English"
    citation = (
        "Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT; as FED-RELEVANT and "
        "FED-CORRECT in Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("fed", "aspect", self.aspect, Aspect)
        check_choice("fed", "followups", self.followups, Followups)
        check_choice("fed", "over", self.over, Over)
        if self.followups == "both":
            object.__setattr__(self, "range", (-float("inf"), float("inf")))

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return how unlikely complaints are after each response."""
        return score_together([self], pairs)[0]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more tokens than the model reads."""
        model = open_language_model(self.model)
        conversations = [conversation_turns(pair) for pair in pairs]
        return [lost > 0 for lost in model.context_cut(conversations, self._room(model))]

    def details(self) -> dict[str, str]:
        """Return the digests of the language model and of the follow-ups, and how the model reads turns."""
        return {**language_model_details(self.model), "utterances": _read_followups().digest[:12]}

    def followup_texts(self) -> list[str]:
        """Return all follow-ups that are scored."""
        kinds = _read_followups().aspects[self.aspect]
        return kinds["negative"] if self.followups == "negative" else [*kinds["negative"], *kinds["positive"]]

    def _scores(self, model: LanguageModel, scored: Sequence[_ScoredConversation]) -> list[float]:
        kinds = _read_followups().aspects[self.aspect]
        negative = self._losses(model, scored, kinds["negative"])
        if self.followups == "negative":
            return negative
        positive = self._losses(model, scored, kinds["positive"])
        return [bad - good for bad, good in zip(negative, positive, strict=True)]

    def _losses(self, model: LanguageModel, scored: Sequence[_ScoredConversation], texts: Sequence[str]) -> list[float]:
        """Return the mean loss over the follow-ups; 0 if there are none."""
        if not texts:
            return [0.0] * len(scored)
        followup_scores = [[entry.followups[text] for text in texts] for entry in scored]
        if self.over == "followup":
            return [sum(-scores.total for scores in line) / len(texts) for line in followup_scores]
        before = model.context_log_probabilities([entry.conversation for entry in scored], self._room(model))
        return [
            sum(-(b.log_probabilities.sum() + s.total) / (len(b.tokens) + len(s.tokens)) for s in line) / len(texts)
            for b, line in zip(before, followup_scores, strict=True)
        ]

    def _room(self, model: LanguageModel) -> int:
        """Return the number of tokens in the longest follow-up."""
        return max(len(model.reply_ids(text)) for text in self.followup_texts())


class _ScoredConversation(NamedTuple):
    """A conversation, and the scores of the follow-ups."""

    conversation: tuple[Turn, ...]
    followups: Mapping[str, TokenScores]


def score_together(metrics: Sequence[Fed], pairs: Sequence[Pair]) -> list[list[float]]:
    """Return the scores of several metrics that share one model, which reads every conversation only once."""
    (name,) = {metric.model for metric in metrics}

    def score(chosen: Sequence[Pair]) -> list[tuple[float, ...]]:
        model = open_language_model(name)
        texts = list(dict.fromkeys(text for metric in metrics for text in metric.followup_texts()))
        conversations = [conversation_turns(pair) for pair in chosen]
        token_scores = iter(
            model.log_probabilities([c for c in conversations for _ in texts], texts * len(conversations))
        )
        scored = [_ScoredConversation(c, {text: next(token_scores) for text in texts}) for c in conversations]
        return list(zip(*(metric._scores(model, scored) for metric in metrics), strict=True))

    lines = map_spoken(pairs, score, (NAN,) * len(metrics))
    return [[line[i] for line in lines] for i in range(len(metrics))]


def conversation_turns(pair: Pair) -> tuple[Turn, ...]:
    """Return the context and the reply as turns, ready for a follow-up."""
    before = (Turn(turn.text, _SWAPPED.get(turn.speaker or "")) for turn in spoken_turns(pair))
    return (*before, Turn(pair.response.text, "user"))


class _FollowupFile(NamedTuple):
    aspects: dict[str, dict[str, list[str]]]
    digest: str


@cache
def _read_followups() -> _FollowupFile:
    content = _FILE.read_bytes()
    return _FollowupFile(orjson.loads(content)["aspects"], sha256_of_bytes(content))
