"""Dialogues and an encoder small enough to train heads on in a test."""

from __future__ import annotations

import random
from typing import Any

from rejoinder_lab.training.heads.dialogues import HeadData

from rejoinder.types import Dialogue, Turn

TOPICS = (
    ("the train leaves at nine", "what train", "the fast train", "see you at the train", "train is good"),
    ("my cat sat on the mat", "what cat", "the good cat", "i like the cat", "cat ran fast"),
    ("good night to you", "night is good", "see you at night", "fine night", "yes good night"),
    ("how can i help", "help me do it", "i can help you", "thanks for the help", "help is fine"),
)


def make_dialogues(n: int = 60, seed: int = 0) -> list[Dialogue]:
    """Dialogues that stay with one topic; every fifth is for valid."""
    draw = random.Random(seed)
    dialogues = []
    for i in range(n):
        texts = draw.choices(draw.choice(TOPICS), k=draw.randint(4, 7))
        turns = tuple(Turn(text, "AB"[j % 2]) for j, text in enumerate(texts))
        dialogues.append(Dialogue(f"d{i}", turns, corpus="tiny", split="valid" if i % 5 == 0 else "train"))
    return dialogues


def make_data(recipe: Any, corpus: str | None = None) -> HeadData:
    """What a head is trained on: the dialogues above and the encoder minilm."""
    return HeadData.of(make_dialogues(), recipe, corpus, "minilm")
