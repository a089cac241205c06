"""Discourse markers that open a turn, such as "well" or "yes": replaced by a similar one, left out, or added."""

from __future__ import annotations

import random
import re

from rejoinder.text.english.synonym_replacement import match_case
from rejoinder.text.english.word_order import decapitalise

# Markers that open a turn in the same way.
_GROUPS = (
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
_STATEMENT_MARKERS = ("well", "you know", "actually", "i mean", "you see")
_QUESTION_MARKERS = ("so", "tell me", "and", "well", "by the way")
_OPTIONAL = frozenset({"well", "so", "you see", "actually", "oh", "ah"})
_GROUP_OF = {word: group for group in _GROUPS for word in group}
_OPENING = re.compile(
    rf"(?P<word>{'|'.join(sorted(map(re.escape, _GROUP_OF), key=len, reverse=True))})(?P<after>\s*[,.!?]+\s*|$)",
    re.IGNORECASE,
)


def replace_marker(rng: random.Random, text: str) -> str:
    """Return the text with another opening."""
    match = _OPENING.match(text)
    if match is None:
        word = rng.choice(_QUESTION_MARKERS if text.rstrip().endswith("?") else _STATEMENT_MARKERS)
        comma = " , " if re.search(r"\s[.,!?]", text) else ", "
        return match_case(text, word) + comma + decapitalise(text)
    word, rest = match["word"].lower(), text[match.end() :]
    if rest and word in _OPTIONAL and "," in match["after"] and rng.random() < 0.5:
        return match_case(text, rest)
    other = rng.choice([similar for similar in _GROUP_OF[word] if similar != word])
    return match_case(match["word"], other) + match["after"] + rest
