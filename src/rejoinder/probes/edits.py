"""Harmless changes of a reply: each edit writes the same thing in another way, and the score should hardly move."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from rejoinder.probes.exchange import Exchange
from rejoinder.text.english.contractions import toggle_contractions
from rejoinder.text.english.replacement import replace_with_synonyms

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
    text = _ABBREVIATION.sub(lambda found: found.group().replace(".", ""), text)
    kept, end = [], 0
    for match in _PROTECTED.finditer(text):
        kept += [_strip_punctuation(text[end : match.start()]), match.group()]
        end = match.end()
    return " ".join("".join([*kept, _strip_punctuation(text[end:])]).split())


def _strip_punctuation(signs: str) -> str:
    """What stands between words without its punctuation; where that joined two words, a space."""
    bare = "".join(c for c in signs if not unicodedata.category(c).startswith("P"))
    return bare if bare or not signs else " "


class Edit(NamedTuple):
    """A name, what is changed, and the function that changes it (the text itself where there is nothing to change)."""

    name: str
    about: str
    make: Callable[[random.Random, str], str]


EDITS = (
    Edit("synonyms", "one or two words replaced by synonyms", replace_with_synonyms),
    Edit("contractions", "contractions written out, or else drawn together", lambda _, text: toggle_contractions(text)),
    Edit("punctuation", "punctuation taken out", lambda _, text: remove_punctuation(text)),
    Edit("case", "written in small letters", lambda _, text: text.lower()),
)


def make_edit_text(edit: Edit, seed: int, exchange: Exchange) -> str | None:
    """The true reply as an edit leaves it; None where it changes nothing, or leaves nothing."""
    made = edit.make(random.Random(f"{seed}/{edit.name}/{exchange.id}"), exchange.reply)
    return made if made.split() not in (exchange.reply.split(), []) else None
