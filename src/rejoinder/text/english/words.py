"""A little English by word lists: words without contractions, sentences, denials, yes and no, stems."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Literal

from rejoinder.text.english.contractions import expand
from rejoinder.text.tokens import tokenize

NEGATIONS = frozenset("not no never nothing nobody none nowhere neither cannot without".split())
OPENERS = frozenset(
    "well yes yeah no oh ah so and but or then now sure ok okay maybe perhaps please sorry right hey look because that "
    "if when where what why how who which do not really also just still yet of course indeed actually".split()
)
AUXILIARIES = frozenset(
    "am is are was were do does did have has had will would can could shall should may might must".split()
)
SPEAKER, OTHERS = frozenset(("i", "we")), frozenset(("he", "she", "they"))
_ASKED_NOT = re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must)n['’]t\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, contractions written out ("didn't you" as well)."""
    return tokenize(_ASKED_NOT.sub(r"\1 not", expand(text)), "words")


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def negations(text: str) -> int:
    """How many words of a text say no; "No" or "Not" at its beginning is an answer and does not count."""
    words = words_of(text)
    return sum(word in NEGATIONS for word in (words[1:] if words[:1] in (("no",), ("not",)) else words))


def answer(text: str) -> Literal["yes", "no"] | None:
    """Whether a text begins with a yes or a no."""
    first = words_of(text)[:1]
    if first and first[0] in ("yes", "yeah", "yep", "sure", "certainly"):
        return "yes"
    return "no" if first and first[0] in ("no", "nope", "never") else None


def stem(word: str) -> str:
    """A word without its ending."""
    return _stemmer()(word)


@functools.cache
def _stemmer() -> Callable[[str], str]:
    from snowballstemmer.english_stemmer import EnglishStemmer

    made = EnglishStemmer()
    return functools.lru_cache(maxsize=2**14)(lambda word: str(made.stemWord(word)))
