"""Contractions: "don't" written out as "do not", or "do not" contracted, where English allows both.

Ambiguous forms stay as they are ("he'd" may be "he had"), and so do those that would need another word order ("Don't
you?").
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rejoinder.text.english.synonym_replacement import match_case

# Each with "not"; can't and won't change their stem.
_NEGATED = "do does did is are was were has have had could would should must need".split()
_BE_SUBJECTS = "it that he she there what where who here how"
_SUBJECTS = "i you he she it we they there this that"
_APOSTROPHE = r"\s?['’]\s?"  # an apostrophe, possibly with spaces from a tokeniser around it


def _pattern_alternatives(words: str) -> str:
    return "|".join(words.split())


def _compile_rules(*rules: tuple[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"\b{pattern}", re.IGNORECASE), replacement) for pattern, replacement in rules]


_NOT_QUESTION = rf"(?!\s+(?:{_pattern_alternatives(_SUBJECTS)})\b)"  # "Don't you?" would become "Do not you?"
_EXPANSIONS = _compile_rules(
    (rf"won{_APOSTROPHE}t\b{_NOT_QUESTION}", "will not"),
    (rf"can{_APOSTROPHE}t\b{_NOT_QUESTION}", "cannot"),
    (rf"({'|'.join(_NEGATED)})\s?n{_APOSTROPHE}t\b{_NOT_QUESTION}", r"\1 not"),
    (rf"(i){_APOSTROPHE}m\b", r"\1 am"),
    (rf"(you|we|they){_APOSTROPHE}re\b", r"\1 are"),
    (rf"(i|you|we|they|could|would|should|must|might){_APOSTROPHE}ve\b", r"\1 have"),
    (rf"(i|you|he|she|it|we|they|that|there){_APOSTROPHE}ll\b", r"\1 will"),
    (rf"(i|you|he|she|we|they){_APOSTROPHE}d(?=\s+(?:like|love|prefer|rather|hate|be|say)\b)", r"\1 would"),
    (rf"(let){_APOSTROPHE}s\b", r"\1 us"),
    (rf"({_pattern_alternatives(_BE_SUBJECTS)}){_APOSTROPHE}s(?=\s+(?:been|got|had|become)\b)", r"\1 has"),
    (rf"({_pattern_alternatives(_BE_SUBJECTS)}){_APOSTROPHE}s\b", r"\1 is"),
)
# "Yes, I am." cannot be contracted: another word must follow in the same clause.
_BEFORE_MORE = r"(?=\s+(?!(?:and|but|or|if|so|too|though|because|then|to|as|than|now)\b)[^\W\d_])"
_CONTRACTIONS = _compile_rules(
    (r"will\s+not\b", "won't"),
    (r"can\s?not\b", "can't"),
    (rf"({'|'.join(_NEGATED[:-2])})\s+not\b", r"\1n't"),
    (rf"(i)\s+am\b{_BEFORE_MORE}", r"\1'm"),
    (rf"(?<!are\s)(you|we|they)\s+are\b{_BEFORE_MORE}", r"\1're"),
    (r"(i|you|we|they)\s+have(?=\s+(?:been|got|never|already|seen|heard|always|had|done|found)\b)", r"\1've"),
    (rf"(i|you|he|she|it|we|they)\s+will\b{_BEFORE_MORE}", r"\1'll"),
    (r"(i|you|he|she|we|they)\s+would(?=\s+(?:like|love|prefer|rather|hate|be|say)\b)", r"\1'd"),
    (rf"({_pattern_alternatives(_BE_SUBJECTS)})\s+is\b{_BEFORE_MORE}", r"\1's"),
)


def expand_contractions(text: str) -> str:
    """Return the text with its contractions written out."""
    return _apply_rules(_EXPANSIONS, text)


def contract_words(text: str) -> str:
    """Return the text with "do not", "I am" and the like contracted."""
    return _apply_rules(_CONTRACTIONS, text)


def toggle_contractions(text: str) -> str:
    """Return the text with its contractions written out or, if it has none, with all possible contractions."""
    expanded = expand_contractions(text)
    return expanded if expanded != text else contract_words(text)


def _apply_rules(rules: list[tuple[re.Pattern[str], str]], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(_make_replacer(replacement), text)
    return text


def _make_replacer(replacement: str) -> Callable[[re.Match[str]], str]:
    return lambda match: match_case(match.group(), match.expand(replacement))
