"""Where each reply stands in its dialogue: whether it is its system's last one, and whether turns followed it.

A whole dialogue is scored once for each system, at the system's last reply: the one with the longest context. An item
without a dialogue is a dialogue by itself. Several replies of a system to its last item are so many ends.

The future of an item followed one reply at most. It is taken to have followed the only response to the item, if there
are no references: with references, it followed one of them. A response may have a future of its own (``meta.future``):
two versions of a system answer one item, and each conversation went on in its own way. Such a response is not counted
among those that the item's future may have followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Item, Pair, Response, Turn


class DialoguePlaces(NamedTuple):
    """One value per response, in order."""

    is_last: NDArray[np.bool_]
    is_followed: NDArray[np.bool_]


class ResponseCodes(NamedTuple):
    """The item, the dialogue (-1: none) and the system of each response as numbers, the turns before it, whether its
    item has a future and no references, and how many turns its own future has (-1: it has none of its own)."""

    items: NDArray[np.int64]
    dialogues: NDArray[np.int64]
    systems: NDArray[np.int64]
    turns: NDArray[np.int64]
    futures: NDArray[np.bool_]
    own_futures: NDArray[np.int64]


def turns_after(pair: Pair) -> tuple[Turn, ...]:
    """Return what was said after this very reply, as far as it is known."""
    own = read_own_future(pair.response)
    return own if own is not None else pair.item.future if pair.is_followed else ()


def read_own_future(response: Response) -> tuple[Turn, ...] | None:
    """Return the turns that followed a response in its own conversation; None if they are those of its item."""
    turns = response.meta.get("future")
    if not isinstance(turns, list | tuple) or not all(isinstance(one, Mapping) and _is_turn(one) for one in turns):
        return None
    return tuple(Turn(one["text"], one.get("speaker")) for one in turns)


def _is_turn(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("text"), str) and isinstance(value.get("speaker"), str | None)


def count_own_future(response: Response) -> int:
    """Return how many turns a response's own future has; -1 if it has none of its own."""
    own = read_own_future(response)
    return -1 if own is None else len(own)


def find_dialogue_places(codes: ResponseCodes) -> DialoguePlaces:
    """Return the place of each response."""
    if not len(codes.items):
        return DialoguePlaces(np.zeros(0, bool), np.zeros(0, bool))
    conversations = np.where(codes.dialogues >= 0, codes.dialogues, codes.dialogues.max() + 1 + codes.items)
    groups = np.unique(conversations * (codes.systems.max() + 1) + codes.systems, return_inverse=True)[1]
    longest = np.zeros(len(codes.items), np.int64)
    np.maximum.at(longest, groups, codes.turns)
    has_own = codes.own_futures >= 0
    is_alone = np.bincount(codes.items, weights=~has_own)[codes.items] == 1
    is_followed = np.where(has_own, codes.own_futures > 0, codes.futures & is_alone)
    return DialoguePlaces(longest[groups] == codes.turns, is_followed)


def place_responses(items: Sequence[Item], responses: Sequence[Response]) -> DialoguePlaces:
    """Return the place of each response, which answers the item beside it."""
    return find_dialogue_places(
        ResponseCodes(
            _number(item.id for item in items),
            _number(item.dialogue for item in items),
            _number(response.system for response in responses),
            np.array([len(item.context) for item in items], np.int64),
            np.array([bool(item.future) and not item.references for item in items], bool),
            np.array([count_own_future(response) for response in responses], np.int64),
        )
    )


def _number(names: Iterable[str | None]) -> NDArray[np.int64]:
    """A number for each name, -1 for None."""
    numbers: dict[str, int] = {}
    return np.array([-1 if name is None else numbers.setdefault(name, len(numbers)) for name in names], np.int64)
