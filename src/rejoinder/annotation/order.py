"""Orders that look random and can be had again: each follows from the project's seed and the names involved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from rejoinder.annotation.unit import Unit

T = TypeVar("T")


def draw(*parts: object) -> int:
    """A number of 64 bits that depends on nothing but the parts."""
    return int.from_bytes(blake2b(_spelt(parts), digest_size=8).digest(), "big")


def _spelt(parts: Iterable[object]) -> bytes:
    """The parts with their lengths, so that no others are spelt the same."""
    return b"".join(b"%d:%b" % (len(text), text) for text in (str(part).encode() for part in parts))


def shuffled(things: Iterable[T], *names: object) -> list[T]:
    """Things (told apart by their ``str``) in the order that belongs to these names."""
    start = blake2b(_spelt(names), digest_size=8)

    def place(thing: T) -> tuple[bytes, str]:
        name = str(thing)
        drawn = start.copy()
        drawn.update(name.encode())
        return drawn.digest(), name

    return sorted(things, key=place)


def order_of(units: Sequence[str], seed: int, rater: str, block: int = 0) -> list[str]:
    """The order in which a rater is given units.

    Where there are blocks, all raters go through the same blocks in the same order, each shuffled by itself: so units
    fill up one block after the other, instead of each being seen by one rater only.
    """
    if not block:
        return shuffled(units, seed, "rater", rater)
    common = shuffled(units, seed, "blocks")
    blocks = [common[start : start + block] for start in range(0, len(common), block)]
    return [unit for one in blocks for unit in shuffled(one, seed, "rater", rater)]


def check_due(number: int, every: int, seed: int, rater: str) -> int:
    """After how many units a rater's check of that number (from 0) comes: somewhere in its stretch of ``every``."""
    return number * every + draw(seed, "check", rater, number) % every


def arranged(unit: Unit, seed: int, rater: str) -> Unit:
    """The unit with its replies in the order in which this rater sees them."""
    replies = unit.payload.get("replies", ())
    if len(replies) < 2:
        return unit
    places = shuffled((reply["key"] for reply in replies), seed, "sides", rater, unit.id)
    by_key = {reply["key"]: reply for reply in replies}
    return replace(unit, payload={**unit.payload, "replies": [by_key[key] for key in places]})
