"""Max words: whether a reply is no longer than a number of words; a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import Metric
from rejoinder.spec import check_between
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Pair


@dataclass(frozen=True)
class MaxWords(Metric):
    """1 where a reply has at most 'n' words, else 0; words are counted as by 'length'."""

    n: int

    citation = "a rule"
    is_rule = True
    thread_safe = True

    def __post_init__(self) -> None:
        check_between("max_words", "n", self.n, 1, 1_000_000)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether each response is short enough."""
        words_of = get_tokenizer("words")
        return [float(len(words_of(pair.response.text.strip())) <= self.n) for pair in pairs]
