"""Ids for what a foreign file does not name, or names twice: equal content shares an id, different content never."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from rejoinder.types import Reference, Turn


def content_digest(*parts: str | Iterable[Turn] | Iterable[Reference]) -> bytes:
    """Return a 16-byte digest of a content."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        texts = [part] if isinstance(part, str) else [t for p in part for t in _part_texts(p)]
        # The lengths keep ("ab", "c") apart from ("a", "bc").
        digest.update(f"{len(texts)}:".encode())
        for text in texts:
            encoded = text.encode()
            digest.update(f"{len(encoded)},".encode() + encoded)
    return digest.digest()


def _part_texts(part: Turn | Reference) -> tuple[str, str]:
    if isinstance(part, Turn):
        return part.speaker or "", part.text
    return part.source, part.text


class IdAssigner:
    """Assigns ids: the same content always gets the same id, different content another."""

    def __init__(self) -> None:
        self._id_by_content: dict[bytes, str] = {}
        self._used: set[str] = set()
        self._count: Counter[str] = Counter()

    def assign(self, wanted: str, content: bytes, otherwise: str | None = None) -> tuple[str, bool]:
        """Return the id of a content and whether it is new: ``wanted`` if free, or ``otherwise``, or a numbered one."""
        known = self._id_by_content.get(content)
        if known is not None:
            return known, False
        name = wanted
        if name in self._used and otherwise is not None:
            name = otherwise
        base = name
        while name in self._used:
            self._count[base] += 1
            name = f"{base}~{self._count[base] + 1}"
        self._used.add(name)
        self._id_by_content[content] = name
        return name, True


class ResponsePlacer:
    """Assigns replies to items, so that no item has two different replies of one system."""

    def __init__(self) -> None:
        self._content_by_reply: dict[tuple[bytes, str, bytes], bytes] = {}
        self._number: Counter[tuple[bytes, str]] = Counter()
        self.apart = 0

    def place(self, content: bytes, system: str, text: str, apart: bool = False) -> tuple[bytes, bool]:
        """Return the content of the item that a reply belongs to, and whether the reply is new.

        With ``apart``, it always is.
        """
        key = (content, system, content_digest(text))
        known = self._content_by_reply.get(key)
        if known is not None and not apart:
            return known, False
        self.apart += known is not None
        number = self._number[content, system]
        self._number[content, system] += 1
        own = content if number == 0 else content_digest(content.hex(), str(number))
        self._content_by_reply.setdefault(key, own)
        return own, True
