"""Contexts and the replies that followed them: what a scorer of next turns learns from; needs no torch."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError, nearest
from rejoinder.types import Dialogue

MAX_TURNS = 7  # of a context: as many as HUMOD has at most


class NextTurn(NamedTuple):
    """A context and the reply that followed it."""

    context: tuple[str, ...]
    reply: str


def sample_next_turns(
    dialogues: Iterable[Dialogue], wanted: int, corpus: str | None = None, split: str = "train"
) -> list[NextTurn]:
    """Return replies with their contexts: one from each dialogue, or more where there are few dialogues.

    Dialogues are ordered by a hash of their ids, so neither the order of the file nor a seed matters. Those of the
    first half and those of the second come from different dialogues.
    """
    spoken: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    for dialogue in dialogues:
        seen[dialogue.corpus or ""] += 1
        if (dialogue.split or "train") == split and corpus in (None, dialogue.corpus):
            turns = [turn.text for turn in dialogue.turns if turn.text.strip()]
            if len(turns) > 1:
                spoken[dialogue.id] = turns
    _check_dialogues(spoken, seen, corpus, split)
    each = _turns_per_dialogue([len(turns) - 1 for turns in spoken.values()], wanted)
    found: list[NextTurn] = []
    for name in sorted(spoken, key=_hash_id):
        turns = spoken[name]
        random = np.random.default_rng(int.from_bytes(_hash_id(name)[:8], "little"))
        at = random.permutation(np.arange(1, len(turns)))[:each]
        found += [NextTurn(tuple(turns[max(0, i - MAX_TURNS) : i]), turns[i]) for i in sorted(at.tolist())]
    if len(found) < wanted:
        raise InputError(
            f"{wanted:,} contexts are wanted and the dialogues of the split {split!r} have {len(found):,}; "
            "give more dialogues or ask for fewer contexts"
        )
    return found[:wanted]


def _turns_per_dialogue(room: Sequence[int], wanted: int) -> int:
    """Return how many replies to take per dialogue: the same for all, and more where some dialogues are too short."""
    each = -(-wanted // len(room))
    while each < max(room) and sum(min(each, most) for most in room) < wanted:
        each += 1
    return each


def _check_dialogues(spoken: dict[str, list[str]], seen: Counter[str], corpus: str | None, split: str) -> None:
    if corpus is not None and corpus not in seen:
        raise InputError(f"no dialogue belongs to the corpus {corpus!r}; {nearest(corpus, seen)}")
    if not spoken:
        raise InputError(f"the split {split!r} has no dialogue of two turns or more to train on")


def shuffle_responses(of: Sequence[NextTurn]) -> list[str]:
    """Return the replies in another order, which is always the same, whatever the seed."""
    order = np.random.default_rng(0).permutation(len(of))
    return [of[i].reply for i in order]


def _hash_id(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
