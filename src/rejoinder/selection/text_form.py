"""How texts are written: a test set must not give its truths away by spaces, quotes, capitals or a missing full stop.

Dialogues and repository come from different hands: DailyDialog sets a space before every full stop, subtitles do not,
chat logs have neither capitals nor full stops. ``tidy`` gives all texts the same spaces and quotes; ``form_of`` says
what is left, and ``near_in_length`` keeps speeches from standing beside a "Yes, please."
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple, TypeAlias

Beginning: TypeAlias = Literal["capital", "small", "other"]

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "`": "'"})
_BEFORE_SIGN = re.compile(r"\s+([,.?!;:]+)(?=\s|$)")
_ENDING = re.compile(r"(?<=\w)\s*'\s*(s|m|re|ve|ll|d|t)\b", re.IGNORECASE)
_NOT = re.compile(r"(?<=\w)\s+n't\b", re.IGNORECASE)


_EXTRA_WORDS = 2  # words that one text may have beyond twice those of the other


class TextForm(NamedTuple):
    """How a text begins, and whether it ends with a sign."""

    beginning: Beginning
    ends_with_sign: bool


def tidy_text(text: str) -> str:
    """A text with plain quotes, single spaces, and none before a sign that ends something or inside "it 's"."""
    text = " ".join(text.translate(_QUOTES).split())
    return _NOT.sub("n't", _ENDING.sub(r"'\1", _BEFORE_SIGN.sub(r"\1", text)))


def describe_form(text: str) -> TextForm:
    """How a text is written."""
    letter = next((sign for sign in text if sign.isalnum()), "")
    beginning: Beginning = "capital" if letter.isupper() else "small" if letter.islower() else "other"
    return TextForm(beginning, bool(text.strip()) and unicodedata.category(text.strip()[-1])[0] in "PS")


def is_near_in_length(first: int, second: int) -> bool:
    """Whether one of two texts with so many words has no more than twice as many as the other, and a few."""
    return max(first, second) <= 2 * min(first, second) + _EXTRA_WORDS
