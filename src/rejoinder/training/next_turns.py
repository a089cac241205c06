"""Places in dialogues where somebody replied: what a scorer of next turns learns from; needs no torch."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError, nearest
from rejoinder.types import Dialogue

MOST_TURNS = 7  # of a context: as many as HUMOD has at most


class Place(NamedTuple):
    """A context and the reply that followed it."""

    context: tuple[str, ...]
    reply: str


def places(dialogues: Iterable[Dialogue], wanted: int, corpus: str | None = None, split: str = "train") -> list[Place]:
    """Replies with their contexts: from each dialogue one, or as many as it takes where dialogues are few.

    Dialogues are taken by a hash of their ids, so neither the order of the file nor a seed decides. Those of the first
    half and those of the second come from different dialogues.
    """
    spoken: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for dialogue in dialogues:
        seen[dialogue.corpus or ""] += 1
        if (dialogue.split or "train") == split and corpus in (None, dialogue.corpus):
            turns = [turn.text for turn in dialogue.turns if turn.text.strip()]
            if len(turns) > 1:
                spoken[dialogue.id] = turns
    _check(spoken, seen, corpus, split)
    each = _each([len(turns) - 1 for turns in spoken.values()], wanted)
    found: list[Place] = []
    for name in sorted(spoken, key=_mark):
        turns = spoken[name]
        random = np.random.default_rng(int.from_bytes(_mark(name)[:8], "little"))
        at = random.permutation(np.arange(1, len(turns)))[:each]
        found += [Place(tuple(turns[max(0, i - MOST_TURNS) : i]), turns[i]) for i in sorted(at.tolist())]
    if len(found) < wanted:
        raise InputError(
            f"{wanted:,} contexts are wanted and the dialogues of the split {split!r} have {len(found):,}; "
            "give more dialogues or ask for fewer (--contexts)"
        )
    return found[:wanted]


def _each(room: Sequence[int], wanted: int) -> int:
    """How many places a dialogue gives: the same for all, and more where some are too short to give as many."""
    each = -(-wanted // len(room))
    while each < max(room) and sum(min(each, most) for most in room) < wanted:
        each += 1
    return each


def _check(spoken: dict[str, list[str]], seen: Counter[str], corpus: str | None, split: str) -> None:
    if corpus is not None and corpus not in seen:
        raise InputError(f"no dialogue is of the corpus {corpus!r}; {nearest(corpus, seen)}")
    if not spoken:
        raise InputError(f"there is no dialogue of two turns or more in the split {split!r} to train on")


def shuffled_replies(of: Sequence[Place]) -> list[str]:
    """The replies of places in another order, always the same: a seed decides what is learnt from them, not them."""
    order = np.random.default_rng(0).permutation(len(of))
    return [of[i].reply for i in order]


def _mark(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
