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
    texts_of_dialogue: dict[str, list[str]] = {}
    corpus_counts: Counter[str] = Counter()
    for dialogue in dialogues:
        corpus_counts[dialogue.corpus or ""] += 1
        if (dialogue.split or "train") == split and corpus in (None, dialogue.corpus):
            turns = [turn.text for turn in dialogue.turns if turn.text.strip()]
            if len(turns) > 1:
                texts_of_dialogue[dialogue.id] = turns
    _check_dialogues(texts_of_dialogue, corpus_counts, corpus, split)
    each = _turns_per_dialogue([len(turns) - 1 for turns in texts_of_dialogue.values()], wanted)
    next_turns: list[NextTurn] = []
    for name in sorted(texts_of_dialogue, key=_hash_id):
        turns = texts_of_dialogue[name]
        random = np.random.default_rng(int.from_bytes(_hash_id(name)[:8], "little"))
        chosen = random.permutation(np.arange(1, len(turns)))[:each]
        next_turns += [NextTurn(tuple(turns[max(0, i - MAX_TURNS) : i]), turns[i]) for i in sorted(chosen.tolist())]
    if len(next_turns) < wanted:
        raise InputError(
            f"{wanted:,} contexts are wanted and the dialogues of the split {split!r} have {len(next_turns):,}; "
            "give more dialogues or ask for fewer contexts"
        )
    return next_turns[:wanted]


def _turns_per_dialogue(available: Sequence[int], wanted: int) -> int:
    """Return how many replies to take per dialogue: the same for all, and more where some dialogues are too short."""
    each = -(-wanted // len(available))
    while each < max(available) and sum(min(each, most) for most in available) < wanted:
        each += 1
    return each


def _check_dialogues(
    texts_of_dialogue: dict[str, list[str]], corpus_counts: Counter[str], corpus: str | None, split: str
) -> None:
    if corpus is not None and corpus not in corpus_counts:
        raise InputError(f"no dialogue belongs to the corpus {corpus!r}; {nearest(corpus, corpus_counts)}")
    if not texts_of_dialogue:
        raise InputError(f"the split {split!r} has no dialogue of two turns or more to train on")


def shuffle_responses(next_turns: Sequence[NextTurn]) -> list[str]:
    """Return the replies in another order, which is always the same, whatever the seed."""
    order = np.random.default_rng(0).permutation(len(next_turns))
    return [next_turns[i].reply for i in order]


def _hash_id(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
