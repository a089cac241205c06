"""What comes as it is done, in the order in which it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rejoinder.engines.contract import Outcome


def in_order(outcomes: Iterable[Outcome]) -> Iterator[Any]:
    """The values of outcomes by number; one that comes early waits for those before it."""
    early: dict[int, Any] = {}
    following = 0
    for outcome in outcomes:
        early[outcome.number] = outcome.value
        while following in early:
            yield early.pop(following)
            following += 1
