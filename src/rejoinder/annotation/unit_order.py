"""The order in which a rater sees units, checks and replies, by the project's seed and the rater's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rejoinder.annotation.unit import Unit
from rejoinder.seeded import draw, shuffled


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
