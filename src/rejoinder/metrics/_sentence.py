"""A text as METEOR sees it: lower-case words, punctuation split off, each with what it may match by."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from rejoinder.metrics._synonyms import Meaning, meanings

_TEXTS_KEPT = 2**14
_PIECES_KEPT = 2**17

# METEOR takes for a function word what makes up more than a thousandth of a large text. These do in the word counts of
# English Wikipedia that accompany SIF (Arora et al. 2017; enwiki_vocab_min200.txt, MIT licence), less the digits, which
# that file spells out, and less what belongs to Wikipedia's pages rather than to English (utc, talk, article ...).
FUNCTION_WORDS = frozenset(
    """
    a about after all also an and are as at be been but by can do first for from had has have he her his i if in is it
    its m made may more new no not of on only or other people s she should some such t that the their there they this
    time to up was were when which who with would years you
    """.split()
)
_LETTER = r"[^\W_]"
_LOOK_ALIKES = str.maketrans(dict.fromkeys("’‘`´", "'") | dict.fromkeys("“”", '"') | {"–": "-"})
_INNER_HYPHENS = re.compile(r"(?<=\w)-+(?=\w)")
_DASHES = re.compile("--+")
_INITIALS = re.compile(rf"(?<!{_LETTER})(?:(?:[a-z]\.)+[a-z]|ph\.d)\.?(?!{_LETTER})")
_TOKEN = re.compile(
    rf"(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc)\.(?![.\w])"  # abbreviations that keep their full stop
    rf"|(?<={_LETTER})'[^\W\d_]+"  # the end of a contraction: don 't, it 's
    rf"|{_LETTER}+(?:(?:\.|(?<=\d),(?=\d)){_LETTER}+)*"  # words, numbers (1,000.5), addresses (www.example.com)
    r"|\.+|\S"
)


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, which is fast; its text says which word it is
class Word:
    """A word and what it may match by; where a stage is left out, the word itself is its stem, or it means nothing."""

    text: str
    is_content: bool
    stem: str
    # Its stem (with a hyphen, which no base form has) and its meanings: two words match where they share one.
    keys: frozenset[Meaning]


class Sentence(NamedTuple):
    """The words of a text, and which of them are content words."""

    words: tuple[Word, ...]
    is_content: tuple[bool, ...]


@functools.lru_cache(_TEXTS_KEPT)
def sentence(text: str, stems: bool = True, synonyms: bool = True) -> Sentence:
    """A text as its words, ready to be matched by stems and synonyms or without them."""
    known = _vocabulary(stems, synonyms)
    words = tuple(chain.from_iterable(map(known.__getitem__, text.lower().split())))
    return Sentence(words, tuple([word.is_content for word in words]))


class _Vocabulary(dict[str, tuple[Word, ...]]):
    """The words of each piece of text between white space that was met so far; emptied when it is full."""

    def __init__(self, stems: bool, synonyms: bool) -> None:
        super().__init__()
        self._stems, self._synonyms = stems, synonyms
        self._words: dict[str, Word] = {}

    def __missing__(self, piece: str) -> tuple[Word, ...]:
        if len(self) >= _PIECES_KEPT:
            self.clear()
            self._words.clear()
        self[piece] = found = tuple(self._words.get(text) or self._add(text) for text in tokenize(piece))
        return found

    def _add(self, text: str) -> Word:
        stem = stem_of(text) if self._stems else text
        means = meanings(text) if self._synonyms else frozenset[Meaning]()
        self._words[text] = word = Word(text, is_content(text), stem, means | {f"{stem}-"})
        return word


_vocabulary = functools.cache(_Vocabulary)


def tokenize(text: str) -> list[str]:
    """The tokens of a lower-case text; no rule looks beyond white space."""
    text = unicodedata.normalize("NFC", text).translate(_LOOK_ALIKES).replace("''", '"')
    text = _DASHES.sub("-", _INNER_HYPHENS.sub(" ", text))
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), text)
    return _TOKEN.findall(text)


def is_content(word: str) -> bool:
    """Whether a word is neither a function word (``'s`` counts as ``s``) nor punctuation."""
    bare = word.lstrip("'")
    return bare not in FUNCTION_WORDS and any(map(str.isalnum, bare))


@functools.lru_cache(_PIECES_KEPT)
def stem_of(word: str) -> str:
    """The stem of a lower-case English word by Porter's second algorithm, Snowball's English stemmer."""
    return _stemmer()(word)


@functools.cache
def _stemmer() -> Callable[[str], str]:
    # Not snowballstemmer.stemmer(), which would take another package's stemmer where one is installed.
    from snowballstemmer.english_stemmer import EnglishStemmer

    stem: Callable[[str], str] = EnglishStemmer().stemWord
    return stem
