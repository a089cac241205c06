"""The embedded language model as a judge: no text is written, the probabilities of the possible answers are read.

A rating is the expected one under the probabilities of the numbers of the scale (as G-Eval, Liu et al. 2023, weights
its scores). Two biases are cheap to remove. A liking for certain numbers: the scale is shown both ways, best high and
best low, and the two ratings are averaged. A liking for certain answers whatever is asked: the probabilities are
divided by those after an empty case (contextual calibration, Zhao et al. 2021). Of two replies both orders are read.
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
VERSION = 1  # of the wording: another one gives other numbers
MAX_TOKENS = 384  # of the context, which keeps its end, and of each reply, which keeps its beginning
_EMPTY = "N/A"


@dataclass(frozen=True)
class EmbeddedJudge:
    """A small language model and a rubric."""

    rubric: Rubric

    def __post_init__(self) -> None:
        if self.rubric.high > 9:
            raise SpecError(f"the embedded judge rates with one digit; its rubric's scale goes to {self.rubric.high}")

    def rate(self, asked: Sequence[RatingRequest]) -> list[float]:
        """The expected rating of each reply, from the lowest to the highest of the scale."""
        prompts = [p for one in asked for p in self._rating_prompts(one)]
        labels = [str(level) for level in self.rubric.levels]
        if not prompts:
            return []
        found = answer_log_probabilities(
            self.model, [*self._rating_prompts(RatingRequest([], _EMPTY)), *prompts], labels
        )
        found = found.reshape(-1, 2, len(labels))
        shares = _softmax(found[1:] - found[0])  # (replies, directions, levels)
        levels = np.array(self.rubric.levels, float)
        expected = shares @ levels
        mean = (expected[:, 0] + self.rubric.low + self.rubric.high - expected[:, 1]) / 2
        return [float(value) for value in mean]

    def compare(self, duels: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, from the probabilities of both answers in both orders."""
        prompts = [
            self._choice_prompt(duel.context, *order)
            for duel in duels
            for order in ((duel.first, duel.second), (duel.second, duel.first))
        ]
        if not prompts:
            return []
        found = answer_log_probabilities(self.model, prompts, ["A", "B"])
        odds = (found[:, 0] - found[:, 1]).reshape(-1, 2)
        return [PairComparison.of_odds(float(forward), -float(backward)) for forward, backward in odds]

    def cut(self, asked: Sequence[RatingRequest]) -> list[bool]:
        """Which cases hold a context or a reply that is longer than is read."""
        return [
            any(self._is_long(text) for text in (_format_context(one.context), _join_lines(one.reply))) for one in asked
        ]

    @property
    def model(self) -> LanguageModel:
        """The language model; raises where it is not here."""
        return open_language_model(MODEL_NAME)

    def _rating_prompts(self, one: RatingRequest) -> list[list[Turn]]:
        """The scale shown both ways, after the same case: its tokens are read once for both."""
        return [self._prompt(self.rubric.rate, self._case(one), self._scale(up)) for up in (True, False)]

    def _choice_prompt(self, context: Sequence[Turn], first: str, second: str) -> list[Turn]:
        case = f"{self._context(context)}\n\nReply A: {self._reply(first)}\n\nReply B: {self._reply(second)}"
        return self._prompt(self.rubric.compare, case, "Which reply is better? Answer with one letter, A or B.")

    def _prompt(self, task: str, case: str, question: str) -> list[Turn]:
        return [Turn(task, "system"), Turn(f"{case}\n\n{question}", "user")]

    def _case(self, one: RatingRequest) -> str:
        return f"{self._context(one.context)}\n\nReply: {self._reply(one.reply)}"

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
        kept = ids[-MAX_TOKENS:] if keep_end else ids[:MAX_TOKENS]
        return str(self.model.tokenizer.decode(kept)).strip()

    def _is_long(self, text: str) -> bool:
        # A token is at least a byte, so most texts need not be tokenised to be known as short.
        return len(text.encode()) > MAX_TOKENS and len(self.model.reply_ids(text)) > MAX_TOKENS


def _format_context(context: Sequence[Turn]) -> str:
    """A turn a line; a text cannot begin a line of its own."""
    return "\n".join(
        f"{_join_lines(turn.speaker or 'AB'[i % 2])}: {_join_lines(turn.text)}" for i, turn in enumerate(context)
    )


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _softmax(logits: Values) -> Values:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Values = weights / weights.sum(axis=-1, keepdims=True)
    return shares
