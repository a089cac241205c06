"""Context overlap: how much of the reply was said before; a baseline to compare every metric with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.text.tokens import content_words
from rejoinder.types import Pair, Turn


@dataclass(frozen=True)
class ContextOverlap(Metric):
    """The share of the reply's distinct content words that also occur in the context, or in its last ``turns`` turns.

    Content words are those of ``rejoinder.text.tokens.content_words``. NaN without a context, and for a reply without
    content words ("Yes, I do."), which has no such share.
    """

    turns: int | None = None

    needs = frozenset({"context"})
    higher_is_better = None
    citation = "a baseline"
    default_for = ("no references", 1)

    def __post_init__(self) -> None:
        if self.turns is not None and self.turns < 1:
            raise SpecError(f"context_overlap: turns must be 1 or more, not {self.turns!r}; leave it out for all turns")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the overlap of each response with its item's context."""
        scores = []
        context: tuple[Turn, ...] = ()
        context_words: frozenset[str] = frozenset()
        for pair in pairs:
            if pair.item.context is not context:  # the responses to one item are usually adjacent
                context = pair.item.context
                turns = context if self.turns is None else context[-self.turns :]
                context_words = content_words("\n".join(turn.text for turn in turns))
            reply = content_words(pair.response.text)
            scores.append(len(reply & context_words) / len(reply) if reply and context else NAN)
        return scores
