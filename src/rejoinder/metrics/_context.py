"""What was said before a reply, as metrics that read the context share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rejoinder.types import Pair, Turn

Found = TypeVar("Found")


def spoken_turns(pair: Pair) -> tuple[Turn, ...]:
    """The turns of the context that say something, the oldest first."""
    return tuple(turn for turn in pair.item.context if turn.text.strip())


def join_context(pair: Pair) -> str:
    """The whole context as one text: its turns with a space between them."""
    return " ".join(turn.text.strip() for turn in spoken_turns(pair))


def map_spoken(pairs: Sequence[Pair], verb: Callable[[list[Pair]], Sequence[Found]], otherwise: Found) -> list[Found]:
    """What ``verb`` finds for the pairs whose context and reply both say something; ``otherwise`` for the others."""
    known = [bool(spoken_turns(pair)) and bool(pair.response.text.strip()) for pair in pairs]
    chosen = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
    found = iter(verb(chosen) if chosen else ())
    return [next(found) if is_known else otherwise for is_known in known]
