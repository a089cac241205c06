"""Two texts word by word: what both have, what was taken away, what was added."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

_TOKEN = re.compile(r"\s*\S+\s*")  # a word with its punctuation and the space around it
_MAX_TOKENS = 2_000  # of a text; longer ones are shown as they are


class DiffPart(NamedTuple):
    """A stretch of a text that the other one also has, or not."""

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(old: str, new: str) -> list[DiffPart]:
    """Return both texts as one: stretches of the old one that are gone, stretches of the new one, and what stayed."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    old_words, new_words = ([token.strip() for token in tokens] for tokens in (before, after))
    if max(len(before), len(after)) > _MAX_TOKENS:
        return [DiffPart("removed", old), DiffPart("added", new)]
    parts: list[DiffPart] = []
    for tag, a, b, c, d in SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(DiffPart("same", "".join(after[c:d])))
            continue
        if b > a:
            parts.append(DiffPart("removed", "".join(before[a:b])))
        if d > c:
            parts.append(DiffPart("added", "".join(after[c:d])))
    return parts
