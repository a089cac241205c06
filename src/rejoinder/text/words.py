"""Operations on the words of a text: reverse them, change some, repeat all of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SHARE = 0.2  # share of the words that a near copy changes
_MIN_WORDS = 3  # in a shorter text, too little would stay the same
_TRIES = 20


def find_words(text: str) -> list[str]:
    """The words of a text, without punctuation."""
    return _WORD.findall(text)


def reverse_words(text: str) -> str:
    """The words in reverse order, each with its punctuation."""
    return " ".join(text.split()[::-1])


def repeat_text(text: str, times: int = 3) -> str:
    """The text several times over."""
    return " ".join([text.strip()] * times)


def change_words(rng: random.Random, text: str, borrow: Callable[[random.Random], str]) -> str | None:
    """The text with about every fifth word, at least one, dropped, replaced or swapped with the next word.

    ``borrow`` supplies the replacement words. None for a text of one or two words, of which too little would stay.
    """
    # Punctuation at even indices, words at odd ones, so that the punctuation stays where it was.
    parts = _split_words(text)
    places = range(1, len(parts), 2)
    if len(places) < _MIN_WORDS:
        return None
    for place in sorted(rng.sample(places, max(1, round(_SHARE * len(places))))):
        how = rng.choice(["drop", "replace", "swap"])
        last = place + 2 >= len(parts)
        if how == "swap" and not last and parts[place].lower() != parts[place + 2].lower():
            parts[place], parts[place + 2] = parts[place + 2], parts[place]
        elif how == "drop":
            parts[place] = ""
        else:
            parts[place] = _borrow_word(rng, parts[place], borrow)
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def _split_words(text: str) -> list[str]:
    parts, end = [], 0
    for word in _WORD.finditer(text):
        parts += [text[end : word.start()], word.group()]
        end = word.end()
    return [*parts, text[end:]]


def _borrow_word(rng: random.Random, word: str, borrow: Callable[[random.Random], str]) -> str:
    """A different borrowed word, capitalised if the original was."""
    for _ in range(_TRIES):
        borrowed = borrow(rng)
        if borrowed.lower() != word.lower():
            return borrowed[0].upper() + borrowed[1:] if word[:1].isupper() and word != "I" else borrowed
    return word
