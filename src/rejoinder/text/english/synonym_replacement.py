"""Synonyms: one or two words of a text replaced by words that mean the same there.

The pairs of ``replacement.txt`` share a synset of WordNet 3.0 (Miller 1995) and were checked by hand: a random pair
from WordNet shares one sense of many, and such a replacement is not a harmless edit.
"""

from __future__ import annotations

import functools
import random
import re
from importlib.resources import files

_LONG_TEXT = 8  # words: from this length on, two of them are replaced
_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
_VOWEL = re.compile(r"(?:[aeio]|u(?!ni|s[aeiu]))", re.IGNORECASE)


@functools.cache
def load_replacements() -> dict[str, str]:
    """Return the replacement of each word or phrase, in lower case."""
    lines = (files("rejoinder.text.english") / "replacement.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":") for line in lines if line and not line.startswith("#"))
    return {word.strip(): other.strip() for word, other in pairs}


def replace_with_synonyms(rng: random.Random, text: str) -> str:
    """Return the text with one of its words replaced, or two if it is long; unchanged if none can be."""
    matches = list(_replacement_pattern().finditer(text))
    if not matches:
        return text
    at_most = 2 if len(text.split()) >= _LONG_TEXT else 1
    # From the end, so that earlier positions stay valid.
    for match in sorted(rng.sample(matches, min(at_most, len(matches))), key=lambda m: -m.start()):
        replacement = match_case(
            match.group(), load_replacements()[" ".join(match.group().lower().replace("’", "'").split())]
        )
        text = _fix_article(text[: match.start()], replacement) + replacement + text[match.end() :]
    return text


def match_case(model: str, text: str) -> str:
    """Return a text in lower case, capitalised or in capitals, like its model."""
    letters = [c for c in model if c.isalpha()]
    if len(letters) > 2 and all(c.isupper() for c in letters):
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


def _fix_article(text: str, word: str) -> str:
    """Return the text before a word, with a final "a" or "an" adapted to that word."""
    match = _ARTICLE.search(text)
    if match is None:
        return text
    return text[: match.start()] + match_case(match[1], "an" if _VOWEL.match(word) else "a") + match[2]


@functools.cache
def _replacement_pattern() -> re.Pattern[str]:
    keys = sorted(load_replacements(), key=len, reverse=True)  # phrases before the words in them
    alternatives = "|".join(re.escape(key).replace("'", "['’]").replace(r"\ ", r"\s+") for key in keys)
    # Not inside a word, a hyphenated one ("e-mail") or a contraction ("don't").
    return re.compile(rf"(?<![\w'’-])(?:{alternatives})(?![\w'’-])", re.IGNORECASE)
