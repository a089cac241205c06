"""Which English words are synonyms: those that share a synset of WordNet 3.0, inflected forms included.

The synonyms come from WordNet 3.0 (Princeton University; Miller 1995), reduced to single words by
``tools/build_synonyms.py`` and shipped as ``wordnet/synonyms.json.gz`` under WordNet's own licence, which is in the
same folder. The table is read when the first word is looked up.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
from importlib.resources import files
from typing import NamedTuple, TypeAlias

import orjson

Meaning: TypeAlias = int | str  # a synset's number, or a base form, which stands for all synsets of its own

_CACHED_WORDS = 2**17
# How WordNet removes regular endings, nouns before verbs before adjectives. METEOR tries them in this order whatever
# the part of speech and stops at the first that leaves a word.
_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)


class SynonymTable(NamedTuple):
    """The synsets of each word that contain other words too, and the base forms of irregular forms."""

    synsets: dict[str, list[int]]
    exceptions: dict[str, list[str]]


@functools.lru_cache(_CACHED_WORDS)
def find_word_meanings(word: str) -> frozenset[Meaning]:
    """Return the meanings of a word; two words are synonyms if they share one."""
    synsets = _load_table().synsets
    forms = word_base_forms(word)
    return frozenset(forms).union(*(synsets[form] for form in forms))


def word_base_forms(word: str) -> list[str]:
    """Return the word itself if WordNet has it, and the base forms of which it is an inflection."""
    synsets, exceptions = _load_table()
    forms = [word] if word in synsets else []
    if word in exceptions:
        return forms + exceptions[word]
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and (form := word[: len(word) - len(ending)] + replacement) in synsets:
            return [*forms, form]
    return forms


@functools.cache
def synonym_table_digest() -> str:
    """Return the first 12 digits of the sha256 of the table (of its JSON, before gzip)."""
    return hashlib.sha256(_read_table()).hexdigest()[:12]


@functools.cache
def _load_table() -> SynonymTable:
    table = orjson.loads(_read_table())
    return SynonymTable(table["words"], table["exceptions"])


def _read_table() -> bytes:
    return gzip.decompress((files("rejoinder.text.english") / "wordnet" / "synonyms.json.gz").read_bytes())
