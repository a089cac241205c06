"""The normal form of a text: texts with the same words are equal, whatever their case, punctuation and spacing."""

from __future__ import annotations

import hashlib
import string

from rejoinder.text.tokens import tokenize

_SPACED = {ord(sign): " " for sign in string.punctuation}


def normalise_text(text: str) -> str:
    """Return a text in lower case without punctuation and extra spaces; punctuation stays if there are no words."""
    lower = text.lower()
    # Most texts are ASCII and need no tokeniser to get the same words.
    spaced = lower.translate(_SPACED) if lower.isascii() else " ".join(tokenize(lower, "words")).replace("'", " ")
    return " ".join(spaced.split()) or " ".join(lower.split())


def text_digest(text: str) -> int:
    """Return a 63-bit hash of a text's normal form, the same on every machine."""
    digest = hashlib.blake2b(normalise_text(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
