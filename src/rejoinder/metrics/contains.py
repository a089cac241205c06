"""Contains: whether a reply has a text in it; a rule, for what must or must not be said."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.errors import SpecError
from rejoinder.metric import Metric
from rejoinder.types import Pair


@dataclass(frozen=True)
class Contains(Metric):
    """1 where a reply contains 'text', else 0; accents written in two ways are the same.

    ``text`` may be part of a word; ``regex`` and ``forbidden_words`` know words. With ``ignore_case`` upper and lower
    case are the same.
    """

    text: str
    ignore_case: bool = False

    citation = "a rule"
    is_rule = True
    thread_safe = True

    def __post_init__(self) -> None:
        if not self.text:
            raise SpecError("contains: text is empty; name what a reply should contain, e.g. contains(text='refund')")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether each response contains the text."""
        wanted = self._normalise(self.text)
        return [float(wanted in self._normalise(pair.response.text)) for pair in pairs]

    def _normalise(self, text: str) -> str:
        composed = unicodedata.normalize("NFC", text)
        return unicodedata.normalize("NFC", composed.casefold()) if self.ignore_case else composed
