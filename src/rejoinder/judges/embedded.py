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
from typing import Any

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.judges.endpoint import RatingRequest
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.prompt import Shown, format_turns, to_json_line
from rejoinder.judges.rubric import Rubric
from rejoinder.models.language_model.answer_probabilities import Values, answer_log_probabilities
from rejoinder.models.language_model.model import LanguageModel, open_language_model
from rejoinder.types import Turn

MODEL_NAME = "smollm2-135m"
VERSION = 1  # of the prompt's wording, which changes the scores
MAX_TOKENS = 384  # of the context (its end is kept), and of each reply and each other part (its beginning is kept)
MAX_DIALOGUE_TOKENS = 1536  # of a whole dialogue (its end is kept)
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
        prompts = [self._choice_prompt(order) for pair in pairs for order in (pair, pair.swap())]
        if not prompts:
            return []
        log_probabilities = answer_log_probabilities(self.model, prompts, ["A", "B"])
        odds = (log_probabilities[:, 0] - log_probabilities[:, 1]).reshape(-1, 2)
        return [PairComparison.of_odds(float(forward), -float(backward)) for forward, backward in odds]

    def cut(self, requests: Sequence[RatingRequest]) -> list[bool]:
        """Which requests have a context, a reply or another part that is cut."""
        return [
            self._is_long(self._format(request.context), self._context_tokens)
            or self._is_long(_join_lines(request.reply))
            or any(self._is_long(_format_part(value)) for value in request.shown.values())
            for request in requests
        ]

    @property
    def model(self) -> LanguageModel:
        """The language model; raises an error if it is not installed."""
        return open_language_model(MODEL_NAME)

    def _rating_prompts(self, request: RatingRequest) -> list[list[Turn]]:
        """The prompts with the scale both ways, after the same case, so that its tokens are computed once."""
        return [self._prompt(self.rubric.rate, self._case(request), self._scale(up)) for up in (True, False)]

    def _choice_prompt(self, pair: ResponsePair) -> list[Turn]:
        parts = self._parts({_use_letters(name): value for name, value in pair.shown.items()})
        replies = f"Reply A: {self._reply(pair.first)}\n\nReply B: {self._reply(pair.second)}"
        case = f"{parts}{self._context(pair.context)}\n\n{replies}" if self._judged == "reply" else parts.strip()
        question = f"Which {self._judged} is better? Answer with one letter, A or B."
        return self._prompt(self.rubric.compare, case, question)

    def _prompt(self, task: str, case: str, question: str) -> list[Turn]:
        return [Turn(task, "system"), Turn(f"{case}\n\n{question}", "user")]

    def _case(self, request: RatingRequest) -> str:
        case = f"{self._parts(request.shown)}{self._context(request.context)}"
        return f"{case}\n\nReply: {self._reply(request.reply)}" if self._judged == "reply" else case

    @property
    def _judged(self) -> str:
        return "conversation" if self.rubric.unit == "dialogue" else "reply"

    @property
    def _context_tokens(self) -> int:
        return MAX_TOKENS if self._judged == "reply" else MAX_DIALOGUE_TOKENS

    def _parts(self, shown: Shown) -> str:
        """What is shown before the conversation: a head and its lines, for each part."""
        parts = ((name, _format_part(value)) for name, value in shown.items())
        limits = {"conversation": self._context_tokens}  # of two dialogues, each is one of the parts
        return "".join(
            f"{name[0].upper()}{name[1:]}:\n"
            f"{self._fit(text, name.startswith('conversation'), limits.get(name.split(' ')[0], MAX_TOKENS))}\n\n"
            for name, text in parts
        )

    def _scale(self, up: bool) -> str:
        rubric = self.rubric
        meanings = [(level if up else rubric.low + rubric.high - level, text) for level, text in rubric.anchors]
        best, worst = (rubric.high, rubric.low) if up else (rubric.low, rubric.high)
        listed = "\n".join(f"{level}: {text}" for level, text in sorted(meanings))
        ends = f"{best} is the best, {worst} the worst."
        return f"Rate the {self._judged}. {ends}\n{listed}\nAnswer with one number from {rubric.low} to {rubric.high}."

    def _context(self, context: Sequence[Turn]) -> str:
        text = self._fit(self._format(context), keep_end=True, limit=self._context_tokens)
        return f"Conversation:\n{text or _EMPTY}"

    def _format(self, context: Sequence[Turn]) -> str:
        """One line per turn; in a dialogue, speakers have the names by which the judged one is called."""
        return _format_context(context) if self._judged == "reply" else _format_part(format_turns(context))

    def _reply(self, text: str) -> str:
        return self._fit(_join_lines(text), keep_end=False)

    def _fit(self, text: str, keep_end: bool, limit: int = MAX_TOKENS) -> str:
        if not self._is_long(text, limit):
            return text
        ids = self.model.reply_ids(text)
        kept_ids = ids[-limit:] if keep_end else ids[:limit]
        return str(self.model.tokenizer.decode(kept_ids)).strip()

    def _is_long(self, text: str, limit: int = MAX_TOKENS) -> bool:
        # A token has at least one byte, so most texts are known to be short without tokenising them.
        return len(text.encode()) > limit and len(self.model.reply_ids(text)) > limit


def _format_context(context: Sequence[Turn]) -> str:
    """One line per turn; a text cannot start a new line."""
    return "\n".join(
        f"{_join_lines(turn.speaker or 'AB'[i % 2])}: {_join_lines(turn.text)}" for i, turn in enumerate(context)
    )


def _format_part(value: Any) -> str:
    """A part of the item in plain lines: a text is one line, a list has one line per entry."""
    if isinstance(value, str):
        return _join_lines(value)
    entries = value if isinstance(value, list | tuple) else [value]
    return "\n".join(_format_entry(entry) for entry in entries)


def _format_entry(entry: Any) -> str:
    if isinstance(entry, str):
        return _join_lines(entry)
    if isinstance(entry, dict) and isinstance(entry.get("text"), str):
        head = entry.get("title", entry.get("speaker"))
        return _join_lines(entry["text"] if head is None else f"{head}: {entry['text']}")
    return to_json_line(entry)


def _use_letters(name: str) -> str:
    """The name of a part with the letter of the reply or conversation that it belongs to, at its end."""
    for word, letter in (("first", "A"), ("second", "B")):
        if word in name.split(" "):
            return f"{name.replace(f' of the {word}', '').replace(f'{word} ', '')} {letter}"
    return name


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _softmax(logits: Values) -> Values:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Values = weights / weights.sum(axis=-1, keepdims=True)
    return shares
