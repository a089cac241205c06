"""What can be done to the words of a text: reversed, changed here and there, said three times."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SHARE = 0.2  # of the words that a near copy changes
_MIN_WORDS = 3  # words: a shorter text with a word changed is another text
_TRIES = 20


def find_words(text: str) -> list[str]:
    """The words of a text, without the signs between them."""
    return _WORD.findall(text)


def reverse_words(text: str) -> str:
    """The words in reverse order, each with the signs that cling to it."""
    return " ".join(text.split()[::-1])


def repeat_text(text: str, times: int = 3) -> str:
    """The text several times over."""
    return " ".join([text.strip()] * times)


def change_words(rng: random.Random, text: str, borrow: Callable[[random.Random], str]) -> str | None:
    """The text with about every fifth word, at least one, dropped, replaced or swapped with the next word.

    ``borrow`` gives the words that replace others. None for a text of one or two words, of which too little would stay.
    """
    # Signs at even places, words at odd ones, so that the signs stay where they were.
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
    """A borrowed word that is not the same, written large where the word was."""
    for _ in range(_TRIES):
        found = borrow(rng)
        if found.lower() != word.lower():
            return found[0].upper() + found[1:] if word[:1].isupper() and word != "I" else found
    return word
