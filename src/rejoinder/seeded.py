"""Orders that look random and can be had again: each follows from a seed and the names involved."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def stable_hash(*parts: object) -> int:
    """A number of 64 bits that depends on nothing but the parts."""
    return int.from_bytes(blake2b(_encode_parts(parts), digest_size=8).digest(), "big")


def _encode_parts(parts: Iterable[object]) -> bytes:
    """The parts with their lengths, so that no others are spelt the same."""
    return b"".join(b"%d:%b" % (len(text), text) for text in (str(part).encode() for part in parts))


def stable_shuffle(things: Iterable[T], *names: object) -> list[T]:
    """Things (told apart by their ``str``) in the order that belongs to these names."""
    start = blake2b(_encode_parts(names), digest_size=8)

    def place(thing: T) -> tuple[bytes, str]:
        name = str(thing)
        drawn = start.copy()
        drawn.update(name.encode())
        return drawn.digest(), name

    return sorted(things, key=place)
