"""Where each reply stands in its dialogue: whether it is its system's last one, and whether turns followed it.

A whole dialogue is scored once for each system, at the system's last reply: the one with the longest context. An item
without a dialogue is a dialogue by itself. Several replies of a system to its last item are so many ends.

The future of an item followed one reply at most. It is taken to have followed the only response to the item, if there
are no references: with references, it followed one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Item, Response


class DialoguePlaces(NamedTuple):
    """One value per response, in order."""

    is_last: NDArray[np.bool_]
    is_followed: NDArray[np.bool_]


class ResponseCodes(NamedTuple):
    """The item, the dialogue (-1: none) and the system of each response as numbers, the turns before it, and whether
    its item has a future and no references."""

    items: NDArray[np.int64]
    dialogues: NDArray[np.int64]
    systems: NDArray[np.int64]
    turns: NDArray[np.int64]
    futures: NDArray[np.bool_]


def find_dialogue_places(codes: ResponseCodes) -> DialoguePlaces:
    """Return the place of each response."""
    if not len(codes.items):
        return DialoguePlaces(np.zeros(0, bool), np.zeros(0, bool))
    conversations = np.where(codes.dialogues >= 0, codes.dialogues, codes.dialogues.max() + 1 + codes.items)
    groups = np.unique(conversations * (codes.systems.max() + 1) + codes.systems, return_inverse=True)[1]
    longest = np.zeros(len(codes.items), np.int64)
    np.maximum.at(longest, groups, codes.turns)
    is_alone = np.bincount(codes.items)[codes.items] == 1
    return DialoguePlaces(longest[groups] == codes.turns, codes.futures & is_alone)


def place_responses(items: Sequence[Item], responses: Sequence[Response]) -> DialoguePlaces:
    """Return the place of each response, which answers the item beside it."""
    return find_dialogue_places(
        ResponseCodes(
            _number(item.id for item in items),
            _number(item.dialogue for item in items),
            _number(response.system for response in responses),
            np.array([len(item.context) for item in items], np.int64),
            np.array([bool(item.future) and not item.references for item in items], bool),
        )
    )


def _number(names: Iterable[str | None]) -> NDArray[np.int64]:
    """A number for each name, -1 for None."""
    numbers: dict[str, int] = {}
    return np.array([-1 if name is None else numbers.setdefault(name, len(numbers)) for name in names], np.int64)
