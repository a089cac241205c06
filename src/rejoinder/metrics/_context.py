"""The context of a reply, shared by the metrics that read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rejoinder.types import Pair, Turn

Result = TypeVar("Result")


def spoken_turns(pair: Pair) -> tuple[Turn, ...]:
    """Return the turns of the context that are not blank, oldest first."""
    return tuple(turn for turn in pair.item.context if turn.text.strip())


def join_context(pair: Pair) -> str:
    """Return the whole context as one text, its turns joined by spaces."""
    return " ".join(turn.text.strip() for turn in spoken_turns(pair))


def has_spoken(pair: Pair) -> bool:
    """Whether neither the context nor the reply of a pair is blank."""
    return bool(spoken_turns(pair)) and bool(pair.response.text.strip())


def map_spoken(
    pairs: Sequence[Pair], compute: Callable[[list[Pair]], Sequence[Result]], otherwise: Result
) -> list[Result]:
    """Return ``compute`` of the pairs whose context and reply are not blank, and ``otherwise`` for the others."""
    is_spoken = [has_spoken(pair) for pair in pairs]
    spoken_pairs = [pair for pair, is_known in zip(pairs, is_spoken, strict=True) if is_known]
    results = iter(compute(spoken_pairs) if spoken_pairs else ())
    return [next(results) if is_known else otherwise for is_known in is_spoken]


def split_pairs(pairs: Sequence[Pair]) -> tuple[list[list[str]], list[str]]:
    """Return the texts of each context's turns, and the replies."""
    return [[turn.text for turn in pair.item.context] for pair in pairs], [pair.response.text for pair in pairs]
