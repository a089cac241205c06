"""A text cut into sentences by one simple rule.

A sentence ends after ``.``, ``!``, ``?`` or ``…`` (and a quote or bracket that closes behind it) where white space
follows; after ``。``, ``！`` or ``？`` without it; and at the end of a line. No abbreviations are known: *Mr. Smith* is
cut after *Mr.*
"""

from __future__ import annotations

import re

_END = re.compile(r"""(?:(?<=[.!?…])|(?<=[.!?…]["'”’»)\]]))\s+|(?<=[。！？])(?![。！？」』])\s*|\s*\n\s*""")


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order, without white space around them; none where the text is blank."""
    return tuple(part for part in _END.split(text.strip()) if part)
