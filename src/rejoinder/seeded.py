"""Random orders that can be repeated: each depends only on a seed and the names involved."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def stable_hash(*parts: object) -> int:
    """Return a number of 64 bits that depends only on the parts."""
    return int.from_bytes(blake2b(_encode_parts(parts), digest_size=8).digest(), "big")


def _encode_parts(parts: Iterable[object]) -> bytes:
    """The parts with their lengths, so that different parts never give the same bytes."""
    return b"".join(b"%d:%b" % (len(text), text) for text in (str(part).encode() for part in parts))


def stable_shuffle(things: Iterable[T], *names: object) -> list[T]:
    """Return the things (distinguished by their ``str``) in an order that depends only on the names."""
    start = blake2b(_encode_parts(names), digest_size=8)

    def place(thing: T) -> tuple[bytes, str]:
        name = str(thing)
        digest = start.copy()
        digest.update(name.encode())
        return digest.digest(), name

    return sorted(things, key=place)
