"""Length: how long the reply is; a baseline to compare every metric with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.metric import NAN, Metric
from rejoinder.spec import check_choice
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Pair

Unit: TypeAlias = Literal["words", "characters"]


@dataclass(frozen=True)
class Length(Metric):
    """The number of words in the reply (tokeniser ``words``), or of characters (Unicode code points).

    White space around the reply does not count. A reply of punctuation only has 0 words; NaN for an empty reply.
    """

    unit: Unit = "words"

    range = (0.0, math.inf)
    higher_is_better = None
    citation = "a baseline"
    default_for = ("no references", 3)

    def __post_init__(self) -> None:
        check_choice("length", "unit", self.unit, Unit)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the length of each response."""
        texts = [pair.response.text.strip() for pair in pairs]
        if self.unit == "characters":
            return [float(len(text)) if text else NAN for text in texts]
        words_of = get_tokenizer("words")
        return [float(len(words_of(text))) if text else NAN for text in texts]
