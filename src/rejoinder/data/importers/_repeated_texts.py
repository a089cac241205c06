"""Replies with the same text to different contexts, as canned answers are."""

from __future__ import annotations

import hashlib
from collections import Counter

from rejoinder.errors import brief
from rejoinder.table import format_count
from rejoinder.types import Response

_FEWEST = 5  # a few replies such as "Yes." are alike in every chat
_SHARE = 0.1
_SHOWN = 60


class RepeatedTexts:
    """How often each system said the same; each of these replies is scored, and they are not independent evidence."""

    def __init__(self) -> None:
        self._counts: Counter[bytes] = Counter()
        self._most: tuple[int, str] = (0, "")
        self._total = 0

    def add(self, response: Response) -> None:
        """Count a reply."""
        if not response.text:
            return
        self._total += 1
        key = hashlib.blake2b(f"{response.system}\0{response.text}".encode(), digest_size=8).digest()
        self._counts[key] += 1
        if self._counts[key] > self._most[0]:
            self._most = self._counts[key], response.text

    def describe(self) -> list[str]:
        """Return what a reader must know, where many replies are canned."""
        repeated = self._total - len(self._counts)
        if repeated < max(_FEWEST, _SHARE * self._total):
            return []
        number, text = self._most
        return [
            f"{format_count(repeated, 'reply has', 'replies have')} the text of an earlier one by the same system, "
            f"most often {brief(text, _SHOWN)} ({number:,})"
        ]
