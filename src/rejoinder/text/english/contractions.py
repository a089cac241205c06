"""Contractions: "don't" written out as "do not", or "do not" drawn together, where English allows both.

What is ambiguous stays ("he'd" may be "he had"), and so does what would need another word order ("Don't you?").
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rejoinder.text.english.replacement import cased

# Each with "not"; can't and won't change their stem.
_NEGATED = "do does did is are was were has have had could would should must need".split()
_BE_SUBJECTS = "it that he she there what where who here how"
_SUBJECTS = "i you he she it we they there this that"
_A = r"\s?['’]\s?"  # an apostrophe, also one that a tokeniser set apart


def _any(words: str) -> str:
    return "|".join(words.split())


def _rules(*rules: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"\b{found}", re.IGNORECASE), instead) for found, instead in rules]


_NOT_ASKED = rf"(?!\s+(?:{_any(_SUBJECTS)})\b)"  # "Don't you?" would become "Do not you?"
_LONGER = _rules(
    (rf"won{_A}t\b{_NOT_ASKED}", "will not"),
    (rf"can{_A}t\b{_NOT_ASKED}", "cannot"),
    (rf"({'|'.join(_NEGATED)})\s?n{_A}t\b{_NOT_ASKED}", r"\1 not"),
    (rf"(i){_A}m\b", r"\1 am"),
    (rf"(you|we|they){_A}re\b", r"\1 are"),
    (rf"(i|you|we|they|could|would|should|must|might){_A}ve\b", r"\1 have"),
    (rf"(i|you|he|she|it|we|they|that|there){_A}ll\b", r"\1 will"),
    (rf"(i|you|he|she|we|they){_A}d(?=\s+(?:like|love|prefer|rather|hate|be|say)\b)", r"\1 would"),
    (rf"(let){_A}s\b", r"\1 us"),
    (rf"({_any(_BE_SUBJECTS)}){_A}s(?=\s+(?:been|got|had|become)\b)", r"\1 has"),
    (rf"({_any(_BE_SUBJECTS)}){_A}s\b", r"\1 is"),
)
# "Yes, I am." cannot be drawn together: a verb or its like must follow, in the same clause.
_GOES_ON = r"(?=\s+(?!(?:and|but|or|if|so|too|though|because|then|to|as|than|now)\b)[^\W\d_])"
_SHORTER = _rules(
    (r"will\s+not\b", "won't"),
    (r"can\s?not\b", "can't"),
    (rf"({'|'.join(_NEGATED[:-2])})\s+not\b", r"\1n't"),
    (rf"(i)\s+am\b{_GOES_ON}", r"\1'm"),
    (rf"(?<!are\s)(you|we|they)\s+are\b{_GOES_ON}", r"\1're"),
    (r"(i|you|we|they)\s+have(?=\s+(?:been|got|never|already|seen|heard|always|had|done|found)\b)", r"\1've"),
    (rf"(i|you|he|she|it|we|they)\s+will\b{_GOES_ON}", r"\1'll"),
    (r"(i|you|he|she|we|they)\s+would(?=\s+(?:like|love|prefer|rather|hate|be|say)\b)", r"\1'd"),
    (rf"({_any(_BE_SUBJECTS)})\s+is\b{_GOES_ON}", r"\1's"),
)


def expand(text: str) -> str:
    """The text with its contractions written out."""
    return _apply(_LONGER, text)


def contract(text: str) -> str:
    """The text with "do not", "I am" and their like drawn together."""
    return _apply(_SHORTER, text)


def toggle_contractions(text: str) -> str:
    """The contractions written out where there are any, else what can be contracted drawn together."""
    longer = expand(text)
    return longer if longer != text else contract(text)


def _apply(rules: list[tuple[re.Pattern[str], str]], text: str) -> str:
    for pattern, instead in rules:
        text = pattern.sub(_written(instead), text)
    return text


def _written(instead: str) -> Callable[[re.Match[str]], str]:
    return lambda found: cased(found.group(), found.expand(instead))
