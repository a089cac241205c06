"""The dialogues that heads are trained on: the first ones of a split, and what a card says about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, nearest
from rejoinder.models.base import Encoder
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.types import Dialogue
from rejoinder_lab.models.head.model import Array, HeadCard, HeadKind, write_head
from rejoinder_lab.training.licence import derived_licence
from rejoinder_lab.training.next_turns import MAX_TURNS, NextTurn


@dataclass(frozen=True)
class HeadData:
    """What a head is trained on: the turns of dialogues, of held-out ones, the encoder, and what its card says."""

    train: list[list[str]]
    valid: list[list[str]]
    encoder_name: str
    encoder: Encoder
    about: dict[str, Any]

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], recipe: Any, corpus: str | None, encoder: str) -> HeadData:
        """Select as many dialogues as the recipe says (``dialogues``, ``held_out``) and open the encoder."""
        known = list(dialogues)
        train = select_dialogues(known, "train", recipe.dialogues, corpus)
        valid = select_dialogues(known, "valid", recipe.held_out, corpus)
        about = {**describe_training(known, corpus, encoder), "recipe": asdict(recipe)}
        about["data"]["dialogues"] = len(train)
        return cls(train, valid, encoder, load_encoder(encoder), about)

    def write(
        self,
        target: Path,
        kind: HeadKind,
        weights: Mapping[str, Array],
        measured: Mapping[str, float],
        citation: str,
        settings: Mapping[str, Any] | None = None,
    ) -> HeadCard:
        """Write the folder of a head that was trained on these."""
        about = {**self.about, "measured": dict(measured), "citation": citation}
        card = HeadCard(kind, self.encoder_name, self.encoder.digest, dict(settings or {}), "", about)
        return write_head(target, card, weights)


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
