"""Pairs of a context and a reply without the blank ones, which have no score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Contexts: TypeAlias = Sequence[Sequence[str]]


def select_spoken(contexts: Contexts, replies: Sequence[str]) -> tuple[list[bool], Contexts, Sequence[str]]:
    """Return which pairs have a context and a reply, and those contexts and replies without blank utterances."""
    turn_lists = [[text for text in context if text.strip()] for context in contexts]
    known = [bool(context) and bool(reply.strip()) for context, reply in zip(turn_lists, replies, strict=True)]
    chosen = [i for i, is_known in enumerate(known) if is_known]
    return known, [turn_lists[i] for i in chosen], [replies[i] for i in chosen]


def fill_known(known: list[bool], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array with the values at the known indices and NaN at the others."""
    result = np.full(len(known), np.nan)
    result[known] = values
    return result
