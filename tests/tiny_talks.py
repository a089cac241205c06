"""Dialogues that tests train speaker-sensitive scorers on: permanent speakers, topics, and words of the tiny models."""

from __future__ import annotations

import random

from rejoinder.types import Dialogue, Turn

TOPICS = ("cat dog sat mat ran fast", "train leaves nine see soon night", "like love good bad fine day")
SPLITS = ("train", "train", "train", "train", "valid", "test")
NAMES = ("Ann", "Bob", "Cem", "Dora", "Eve", "Finn")


def talks(
    n: int = 120, turns: int = 6, seed: int = 0, split: bool = True, names: tuple[str, ...] = NAMES
) -> list[Dialogue]:
    """Dialogues of two speakers each; a reply keeps to the topic and takes up a word of the turn before it."""
    r = random.Random(seed)
    made = []
    for number in range(n):
        words = r.choice(TOPICS).split()
        two = r.sample(names, 2) if len(names) > 1 else names * 2
        said: list[Turn] = []
        for place in range(turns):
            before = said[-1].text.split()[-1:] if said else []
            said.append(Turn(" ".join([*before, *r.choices(words, k=4)]), two[place % 2]))
        made.append(Dialogue(f"d{number}", tuple(said), "talks", SPLITS[number % 6] if split else None))
    return made
