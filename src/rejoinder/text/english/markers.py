"""How a turn opens: a word such as "well" or "yes" that can be exchanged for its like, left out, or put in front."""

from __future__ import annotations

import random
import re

from rejoinder.text.english.order import small
from rejoinder.text.english.replacement import cased

# What opens a turn in the same way; the words of the first row say nothing and may be left out.
_ALIKE = (
    ("well", "so", "you see", "actually"),
    ("yes", "yeah", "yes , indeed", "right"),
    ("no", "nope", "oh no", "not really"),
    ("ok", "okay", "alright", "all right"),
    ("sure", "of course", "certainly"),
    ("hi", "hello", "hi there"),
    ("thank you", "thanks", "many thanks"),
    ("sorry", "i'm sorry", "excuse me"),
    ("oh", "ah"),
    ("really", "is that so", "is that right"),
)
_TELLING = ("well", "you know", "actually", "i mean", "you see")
_ASKING = ("so", "tell me", "and", "well", "by the way")
_LEAVE_OUT = frozenset({"well", "so", "you see", "actually", "oh", "ah"})
_KIN = {word: group for group in _ALIKE for word in group}
_OPENING = re.compile(
    rf"(?P<word>{'|'.join(sorted(map(re.escape, _KIN), key=len, reverse=True))})(?P<after>\s*[,.!?]+\s*|$)",
    re.IGNORECASE,
)


def reopen(rng: random.Random, text: str) -> str:
    """The text with another opening."""
    found = _OPENING.match(text)
    if found is None:
        word = rng.choice(_ASKING if text.rstrip().endswith("?") else _TELLING)
        comma = " , " if re.search(r"\s[.,!?]", text) else ", "
        return cased(text, word) + comma + small(text)
    word, rest = found["word"].lower(), text[found.end() :]
    if rest and word in _LEAVE_OUT and "," in found["after"] and rng.random() < 0.5:
        return cased(text, rest)
    other = rng.choice([kin for kin in _KIN[word] if kin != word])
    return cased(found["word"], other) + found["after"] + rest
