"""When two texts say the same: the same words, whatever their case, punctuation and spacing."""

from __future__ import annotations

import hashlib
import string

from rejoinder.text.tokens import tokenize

_SPACED = {ord(sign): " " for sign in string.punctuation}


def normalise_text(text: str) -> str:
    """A text without case, punctuation and spacing (or as it is in lower case where it has no words)."""
    lower = text.lower()
    # ASCII is most of what there is, and needs no tokeniser to come to the same words.
    spaced = lower.translate(_SPACED) if lower.isascii() else " ".join(tokenize(lower, "words")).replace("'", " ")
    return " ".join(spaced.split()) or " ".join(lower.split())


def text_digest(text: str) -> int:
    """The number that stands for what a text says: 63 bits, the same on every machine."""
    said = hashlib.blake2b(normalise_text(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(said, "little") >> 1
