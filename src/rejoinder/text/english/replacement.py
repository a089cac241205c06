"""Synonyms: one or two words of a text replaced by words that mean the same there.

The pairs of ``replacement.txt`` share a synset of WordNet 3.0 (Miller 1995) and were looked through by hand: a pair
from WordNet at random shares one sense of many, and replacing by it is no harmless edit.
"""

from __future__ import annotations

import functools
import random
import re
from importlib.resources import files

_LONG_TEXT = 8  # words: from here on two are replaced
_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
_VOWEL = re.compile(r"(?:[aeio]|u(?!ni|s[aeiu]))", re.IGNORECASE)


@functools.cache
def load_replacements() -> dict[str, str]:
    """What may be said instead of each word or phrase, in lower case."""
    lines = (files("rejoinder.text.english") / "replacement.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":") for line in lines if line and not line.startswith("#"))
    return {word.strip(): other.strip() for word, other in pairs}


def replace_with_synonyms(rng: random.Random, text: str) -> str:
    """The text with one of its words, or two of a longer text, replaced; as it is where none can be."""
    found = list(_replacement_pattern().finditer(text))
    if not found:
        return text
    at_most = 2 if len(text.split()) >= _LONG_TEXT else 1
    # From the end, so that places before stay where they are.
    for match in sorted(rng.sample(found, min(at_most, len(found))), key=lambda m: -m.start()):
        instead = match_case(
            match.group(), load_replacements()[" ".join(match.group().lower().replace("’", "'").split())]
        )
        text = _fix_article(text[: match.start()], instead) + instead + text[match.end() :]
    return text


def match_case(model: str, text: str) -> str:
    """A text written small, large or in capitals, as its model is."""
    letters = [c for c in model if c.isalpha()]
    if len(letters) > 2 and all(c.isupper() for c in letters):
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


def _fix_article(before: str, word: str) -> str:
    """What stands before a word, "a" or "an" at its end made to fit."""
    found = _ARTICLE.search(before)
    if found is None:
        return before
    return before[: found.start()] + match_case(found[1], "an" if _VOWEL.match(word) else "a") + found[2]


@functools.cache
def _replacement_pattern() -> re.Pattern[str]:
    keys = sorted(load_replacements(), key=len, reverse=True)  # phrases before the words in them
    alternatives = "|".join(re.escape(key).replace("'", "['’]").replace(r"\ ", r"\s+") for key in keys)
    # Neither a part of a word nor of a name in two parts ("e-mail", "don't").
    return re.compile(rf"(?<![\w'’-])(?:{alternatives})(?![\w'’-])", re.IGNORECASE)
