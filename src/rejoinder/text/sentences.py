"""Texts split into sentences by one simple rule.

A sentence ends after ``.``, ``!``, ``?`` or ``…`` (and a closing quote or bracket after it) if white space follows;
after ``。``, ``！`` or ``？`` even without white space; and at the end of a line. Abbreviations are not recognised:
*Mr. Smith* is split after *Mr.*
"""

from __future__ import annotations

import re

_END = re.compile(r"""(?:(?<=[.!?…])|(?<=[.!?…]["'”’»)\]]))\s+|(?<=[。！？])(?![。！？」』])\s*|\s*\n\s*""")


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, in order, without surrounding white space; none for a blank text."""
    return tuple(part for part in _END.split(text.strip()) if part)
