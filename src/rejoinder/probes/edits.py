"""Harmless changes of a reply: each edit writes the same thing in another way, and the score should hardly change."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from rejoinder.probes.exchange import Exchange
from rejoinder.text.english.contractions import toggle_contractions
from rejoinder.text.english.synonym_replacement import replace_with_synonyms

# Kept whole: addresses, paths and names of files; numbers with signs inside (10:30, 3.50, 5%, $7); words with an
# apostrophe, also one that a tokeniser set apart (don ' t).
_PROTECTED = re.compile(
    r"""\S*(?:://|@|\\|/\w+/|_)\S*
    | [^\W_]+(?:\.[a-z\d]+)+
    | [$£€#+-]?\d+(?:[.,:/-]\d+)*%?
    | [^\W_]+(?:\s?['’]\s?(?:s|t|d|m|ll|re|ve)\b|['’][^\W_]+)*
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?")  # a.m., U.S.


def remove_punctuation(text: str) -> str:
    """The text without its punctuation; apostrophes inside words stay."""
    text = _ABBREVIATION.sub(lambda abbreviation: abbreviation.group().replace(".", ""), text)
    parts, end = [], 0
    for match in _PROTECTED.finditer(text):
        parts += [_strip_punctuation(text[end : match.start()]), match.group()]
        end = match.end()
    return " ".join("".join([*parts, _strip_punctuation(text[end:])]).split())


def _strip_punctuation(text: str) -> str:
    """The text between two words without its punctuation; a space if that would join them."""
    bare = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    return bare if bare or not text else " "


class Edit(NamedTuple):
    """A name, what is changed, and the function that changes it (it returns the same text if nothing applies)."""

    name: str
    about: str
    make: Callable[[random.Random, str], str]


EDITS = (
    Edit("synonyms", "one or two words replaced by synonyms", replace_with_synonyms),
    Edit("contractions", "contractions expanded, or full forms contracted", lambda _, text: toggle_contractions(text)),
    Edit("punctuation", "punctuation removed", lambda _, text: remove_punctuation(text)),
    Edit("case", "written in lower case", lambda _, text: text.lower()),
)


def make_edit_text(edit: Edit, seed: int, exchange: Exchange) -> str | None:
    """The edited true reply; None where the edit changes nothing or leaves nothing."""
    text = edit.make(random.Random(f"{seed}/{edit.name}/{exchange.id}"), exchange.reply)
    return text if text.split() not in (exchange.reply.split(), []) else None
