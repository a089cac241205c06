"""A ranker's first lessons, from mined pursuits: the offer that serves the goal of a request among offers that do not.

The wordings of requests and offers are ours; the pairs are noisy, so these lessons come before the real questions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.aptness_calibration import Ids
from rejoinder.models.ranker_rows import pair_row
from rejoinder.training.mining import Pursuit
from rejoinder.training.ranker_recipe import RankerRecipe
from rejoinder.training.ranker_steps import Steps, half, tensors

if TYPE_CHECKING:
    from rejoinder.training.ranker_start import Start

Mined = Sequence[Pursuit]
_REQUESTS = (
    "Please {}.",
    "Can you help me {}?",
    "Could you {} for me?",
    "I would like to {}.",
    "Can I {}?",
    "Help me {}.",
)
_OFFERS = (
    "Sure. Would you like me to {} too?",
    "Of course. Shall I also {}?",
    "Yes, I can {} as well.",
    "Certainly. Do you want to {} first?",
    "Sorry, that is not possible now. Would you like to {} instead?",
)
_GOAL = "The user wants to {}."
_OFFERED, _QUESTIONS, _TOLD = 6, 64, 0.3


def train_on_mined(start: Start, mined: Mined, recipe: RankerRecipe, place: torch.device, drawn: random.Random) -> str:
    """Train the reader for some steps; what came of it, in one line."""
    offers = {help_ for one in mined for help_ in one.helps}
    mined = [one for one in mined if len(one.helps) < len(offers)]
    if not mined:
        raise InputError("the mined pursuits all need the same things, so none has a wrong offer; give more knowledge")
    network = start.reader.to(place)
    steps = Steps(network, recipe.mined, recipe.mined_rate, recipe)
    known: dict[str, Ids] = {}
    loss = torch.zeros(())
    for _ in range(recipe.mined):
        texts = [_question(drawn, mined) for _ in range(_QUESTIONS)]
        flat = list(dict.fromkeys(text for parts in texts for text in parts if text not in known))
        known.update(zip(flat, map(tuple, start.encode(flat)), strict=True))
        rows = [
            pair_row([known[goal]] if goal else [], known[asked], known[offer], start.marks, recipe.limits)
            for goal, asked, *offers in texts
            for offer in offers
        ]
        network.train()
        with half(place):
            scores = network(*tensors(rows, start.marks.padding, place)).float().view(-1, _OFFERED)
        loss = -functional.log_softmax(scores, 1)[:, 0].mean()
        steps.step([loss])
    return f"{recipe.mined} steps on {len(mined):,} mined pursuits: loss {float(loss.detach()):.3f}"


def _question(drawn: random.Random, mined: Mined) -> tuple[str, ...]:
    """The goal (mostly not told), a request, the offer that serves the goal, and offers of other pursuits."""
    one = drawn.choice(mined)
    asked = drawn.choice(one.asked)
    helps = drawn.choice([help_ for help_ in one.helps if help_ != asked])
    wording = drawn.choice(_OFFERS)
    others: list[str] = []
    while len(others) < _OFFERED - 1:
        other = drawn.choice(drawn.choice(mined).helps)
        if other not in one.helps:
            others.append(wording.format(other))
    goal = _GOAL.format(one.goal) if drawn.random() < _TOLD else ""
    return (goal, drawn.choice(_REQUESTS).format(asked), wording.format(helps), *others)
