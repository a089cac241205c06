"""The embedded language model as a judge: it writes no text; the probabilities of the possible answers are read.

A rating is the expected one under the probabilities of the numbers of the scale (as G-Eval, Liu et al. 2023, weights
its scores). Two biases are cheap to remove. A preference for certain numbers: the scale is shown both ways, best high
and best low, and the two ratings are averaged. A preference for certain answers whatever the question: the
probabilities are divided by those after an empty case (contextual calibration, Zhao et al. 2021). Two replies are
compared in both orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.judges.endpoint import RatingRequest
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.rubric import Rubric
from rejoinder.models.language_model.answer_probabilities import Values, answer_log_probabilities
from rejoinder.models.language_model.model import LanguageModel, open_language_model
from rejoinder.types import Turn

MODEL_NAME = "smollm2-135m"
VERSION = 1  # of the prompt's wording, which changes the scores
MAX_TOKENS = 384  # of the context (its end is kept) and of each reply (its beginning is kept)
_EMPTY = "N/A"


@dataclass(frozen=True)
class EmbeddedJudge:
    """A small language model and a rubric."""

    rubric: Rubric

    def __post_init__(self) -> None:
        if self.rubric.high > 9:
            raise SpecError(
                f"the embedded judge rates with one digit, but the rubric's scale goes to {self.rubric.high}; use a "
                "scale up to 9"
            )

    def rate(self, requests: Sequence[RatingRequest]) -> list[float]:
        """The expected rating of each reply, between the ends of the scale."""
        prompts = [p for request in requests for p in self._rating_prompts(request)]
        labels = [str(level) for level in self.rubric.levels]
        if not prompts:
            return []
        log_probabilities = answer_log_probabilities(
            self.model, [*self._rating_prompts(RatingRequest([], _EMPTY)), *prompts], labels
        )
        log_probabilities = log_probabilities.reshape(-1, 2, len(labels))
        shares = _softmax(log_probabilities[1:] - log_probabilities[0])  # (replies, directions, levels)
        levels = np.array(self.rubric.levels, float)
        expected = shares @ levels
        mean = (expected[:, 0] + self.rubric.low + self.rubric.high - expected[:, 1]) / 2
        return [float(value) for value in mean]

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, from the probabilities of both answers in both orders."""
        prompts = [
            self._choice_prompt(pair.context, *order)
            for pair in pairs
            for order in ((pair.first, pair.second), (pair.second, pair.first))
        ]
        if not prompts:
            return []
        log_probabilities = answer_log_probabilities(self.model, prompts, ["A", "B"])
        odds = (log_probabilities[:, 0] - log_probabilities[:, 1]).reshape(-1, 2)
        return [PairComparison.of_odds(float(forward), -float(backward)) for forward, backward in odds]

    def cut(self, requests: Sequence[RatingRequest]) -> list[bool]:
        """Which requests have a context or a reply that is cut."""
        return [
            any(self._is_long(text) for text in (_format_context(request.context), _join_lines(request.reply)))
            for request in requests
        ]

    @property
    def model(self) -> LanguageModel:
        """The language model; raises an error if it is not installed."""
        return open_language_model(MODEL_NAME)

    def _rating_prompts(self, request: RatingRequest) -> list[list[Turn]]:
        """The prompts with the scale both ways, after the same case, so that its tokens are computed once."""
        return [self._prompt(self.rubric.rate, self._case(request), self._scale(up)) for up in (True, False)]

    def _choice_prompt(self, context: Sequence[Turn], first: str, second: str) -> list[Turn]:
        case = f"{self._context(context)}\n\nReply A: {self._reply(first)}\n\nReply B: {self._reply(second)}"
        return self._prompt(self.rubric.compare, case, "Which reply is better? Answer with one letter, A or B.")

    def _prompt(self, task: str, case: str, question: str) -> list[Turn]:
        return [Turn(task, "system"), Turn(f"{case}\n\n{question}", "user")]

    def _case(self, request: RatingRequest) -> str:
        return f"{self._context(request.context)}\n\nReply: {self._reply(request.reply)}"

    def _scale(self, up: bool) -> str:
        rubric = self.rubric
        meanings = [(level if up else rubric.low + rubric.high - level, text) for level, text in rubric.anchors]
        best, worst = (rubric.high, rubric.low) if up else (rubric.low, rubric.high)
        listed = "\n".join(f"{level}: {text}" for level, text in sorted(meanings))
        ends = f"{best} is the best, {worst} the worst."
        return f"Rate the reply. {ends}\n{listed}\nAnswer with one number from {rubric.low} to {rubric.high}."

    def _context(self, context: Sequence[Turn]) -> str:
        return "Conversation:\n" + (self._fit(_format_context(context), keep_end=True) or _EMPTY)

    def _reply(self, text: str) -> str:
        return self._fit(_join_lines(text), keep_end=False)

    def _fit(self, text: str, keep_end: bool) -> str:
        if not self._is_long(text):
            return text
        ids = self.model.reply_ids(text)
        kept_ids = ids[-MAX_TOKENS:] if keep_end else ids[:MAX_TOKENS]
        return str(self.model.tokenizer.decode(kept_ids)).strip()

    def _is_long(self, text: str) -> bool:
        # A token has at least one byte, so most texts are known to be short without tokenising them.
        return len(text.encode()) > MAX_TOKENS and len(self.model.reply_ids(text)) > MAX_TOKENS


def _format_context(context: Sequence[Turn]) -> str:
    """One line per turn; a text cannot start a new line."""
    return "\n".join(
        f"{_join_lines(turn.speaker or 'AB'[i % 2])}: {_join_lines(turn.text)}" for i, turn in enumerate(context)
    )


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _softmax(logits: Values) -> Values:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Values = weights / weights.sum(axis=-1, keepdims=True)
    return shares
