"""The dialogues that heads are trained on: the first ones of a split, and what a card says about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rejoinder.errors import InputError, nearest
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.training.licence import derived_licence
from rejoinder.training.next_turns import MAX_TURNS, NextTurn
from rejoinder.types import Dialogue


def select_dialogues(dialogues: Sequence[Dialogue], split: str, wanted: int, corpus: str | None) -> list[list[str]]:
    """Return the turns of the first dialogues of a split that have at least three."""
    names = {dialogue.corpus or "" for dialogue in dialogues}
    if corpus is not None and corpus not in names:
        raise InputError(f"no dialogue belongs to the corpus {corpus!r}; {nearest(corpus, names)}")
    turns = [
        [turn.text for turn in dialogue.turns if turn.text.strip()]
        for dialogue in dialogues
        if (dialogue.split or "train") == split and corpus in (None, dialogue.corpus)
    ]
    usable = [texts for texts in turns if len(texts) > 2][:wanted]
    if len(usable) < 2:
        raise InputError(
            f"the split {split!r} has fewer than two dialogues of three turns or more; give more dialogues, or set "
            "the 'split' of some"
        )
    return usable


def list_next_turns(dialogues: Iterable[Sequence[str]]) -> list[NextTurn]:
    """Return every reply of the dialogues with its context."""
    return [
        NextTurn(tuple(turns[max(0, i - MAX_TURNS) : i]), turns[i]) for turns in dialogues for i in range(1, len(turns))
    ]


def describe_training(dialogues: Iterable[Dialogue], corpus: str | None, encoder: str) -> dict[str, Any]:
    """Return what a card says about its data and licence."""
    corpora = sorted({corpus} if corpus else {dialogue.corpus or "" for dialogue in dialogues})
    return {
        "data": {"corpora": corpora, "split": "train"},
        "licence": derived_licence(corpora, open_turn_encoder(encoder)),
    }
