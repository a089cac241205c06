"""Punctuation taken out of a text without harm to words, numbers and addresses."""

from __future__ import annotations

import re
import unicodedata

# Kept whole: addresses, paths and names of files; numbers with signs inside (10:30, 3.50, 5%, $7); words with an
# apostrophe, also one that a tokeniser set apart (don ' t).
_KEPT = re.compile(
    r"""\S*(?:://|@|\\|/\w+/|_)\S*
    | [^\W_]+(?:\.[a-z\d]+)+
    | [$£€#+-]?\d+(?:[.,:/-]\d+)*%?
    | [^\W_]+(?:\s?['’]\s?(?:s|t|d|m|ll|re|ve)\b|['’][^\W_]+)*
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?")  # a.m., U.S.


def without_punctuation(text: str) -> str:
    """The text without its punctuation; apostrophes inside words stay."""
    text = _ABBREVIATION.sub(lambda found: found.group().replace(".", ""), text)
    kept, end = [], 0
    for match in _KEPT.finditer(text):
        kept += [_bare(text[end : match.start()]), match.group()]
        end = match.end()
    return " ".join("".join([*kept, _bare(text[end:])]).split())


def _bare(signs: str) -> str:
    """What stands between words without its punctuation; where that joined two words, a space."""
    bare = "".join(c for c in signs if not unicodedata.category(c).startswith("P"))
    return bare if bare or not signs else " "
