"""A question of a situated set, put together: candidates, the situation, and the longer situations for robustness.

Everything stands in an order that is drawn from the seed and the question's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rejoinder.annotation.order import draw
from rejoinder.data.seed import REFERENCE, Seed
from rejoinder.data.situations import DISTRACTORS
from rejoinder.situating.choosing import Choosing, Situation, further, situation_of
from rejoinder.situating.matter import Matter
from rejoinder.situating.shelf import Shelf
from rejoinder.types import Candidate, Question, Statement, Turn

DISTRACTOR = "distractor"


def situation_for(matter: Matter, shelf: Shelf, place: int, picked: Sequence[int]) -> Situation:
    """The statements of a seed's question, given its distractors."""
    seed, settings = matter.seeds[place], matter.settings
    relevant = list(dict.fromkeys(shelf.place(one) for one in seed.statements))
    shown = [place, *picked]
    texts = [matter.seeds[one].reply for one in shown]
    choosing = Choosing(shelf, texts, matter.replies[shown], relevant, settings.overlap)
    near = np.zeros(len(shelf.statements), bool)
    near[[shelf.place(one) for other in picked for one in matter.seeds[other].statements]] = True
    found = situation_of(choosing, relevant, near, settings.statements)
    more = max(0, int(DISTRACTORS[-1]) - len(found.added))
    return Situation(found.relevant, found.near, found.filled, further(choosing, more, _random(matter, seed, "more")))


def question_of(matter: Matter, shelf: Shelf, place: int, picked: Sequence[int], found: Situation) -> Question:
    """The question of a seed; its candidates have no grades yet."""
    seed = matter.seeds[place]
    shown = [place, *picked]
    candidates = [
        Candidate(matter.seeds[one].reply, matter.seeds[one].id, source=REFERENCE if one == place else DISTRACTOR)
        for one in shown
    ]
    order = _random(matter, seed, "candidates").permutation(len(shown))
    situation, _ = _ordered(matter, shelf, seed, found.relevant, found.added, "situation")
    expanded, places = _ordered(matter, shelf, seed, found.relevant, (*found.added, *found.further), "expanded")
    meta: dict[str, Any] = {
        "goal": seed.goal,
        "polarity": seed.polarity,
        "has_bad": None,  # until people have graded the candidates
        "expanded": [{"text": one.text, "category": one.category, "relevant": one.relevant} for one in expanded],
        "distractors": {n: places[: int(n)] for n in DISTRACTORS if int(n) <= len(places)},
    }
    turns = (Turn(seed.request, "user"),)
    return Question(seed.id, turns, tuple(candidates[n] for n in order), situation, split=seed.split, meta=meta)


def _ordered(
    matter: Matter, shelf: Shelf, seed: Seed, relevant: Sequence[int], added: Sequence[int], what: str
) -> tuple[tuple[Statement, ...], list[int]]:
    """The statements in a drawn order, and where those that were added stand, in the order of their adding."""
    whole = [*((place, True) for place in relevant), *((place, False) for place in added)]
    order = _random(matter, seed, what).permutation(len(whole))
    statements = tuple(
        Statement(shelf.statements[whole[n][0]].text, shelf.statements[whole[n][0]].category, whole[n][1])
        for n in order
    )
    stands = {int(n): place for place, n in enumerate(order)}
    return statements, [stands[n] for n in range(len(relevant), len(whole))]


def _random(matter: Matter, seed: Seed, what: str) -> np.random.Generator:
    return np.random.default_rng(draw(matter.settings.seed, what, seed.id))
