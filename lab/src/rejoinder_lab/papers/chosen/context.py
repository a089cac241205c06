"""Contexts that are spoilt in known steps: that of another dialogue, or without a share of their words."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.seeded import stable_hash
from rejoinder_lab.papers.chosen.answers import Context
from rejoinder_lab.papers.chosen.ladders import DROPPED_SHARES, name_dropped, name_other

_HASH_RANGE = 2**64


def list_spoilt_contexts(system: str, contexts: Sequence[Context]) -> dict[str, list[Context]]:
    """Return what a system reads, by the name it then has: the contexts themselves first, then spoilt ones."""
    half = len(contexts) // 2
    other = [contexts[(number + half) % len(contexts)] for number in range(len(contexts))]
    dropped = {
        name_dropped(system, share): [drop_words(context, share) for context in contexts]
        for share in DROPPED_SHARES[::-1]
    }
    return {system: list(contexts), name_other(system): other, **dropped}


def drop_words(context: Context, share: float) -> Context:
    """Return a context without a random share of its words; a larger share includes the words of a smaller one."""
    return tuple(
        " ".join(
            word
            for place, word in enumerate(text.split())
            if stable_hash("drop", *context, turn, place) >= share * _HASH_RANGE
        )
        for turn, text in enumerate(context)
    )
