"""Requests and offers that belong together, mined from common sense (SUGAR, section 3.2 and Limitations).

A user who asks for one thing that a goal needs may be offered another; goals and what they need are those of
``data/goals.py``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from rejoinder.data.goals import MIN_REQUESTS, count_requested_phrases, phrase_key, read_goal_needs
from rejoinder.errors import InputError
from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.ranker.rows import candidate_row
from rejoinder.types import Dialogue
from rejoinder_lab.training.ranker.steps import RankerOptimizer, autocast_half, row_tensors
from rejoinder_lab.training.recipes import RankerRecipe

if TYPE_CHECKING:
    from rejoinder_lab.training.ranker.start import RankerStart


@dataclass(frozen=True)
class GoalPursuit:
    """A goal and what helps to reach it; ``requested`` is the part of it that people ask for."""

    goal: str
    requested: tuple[str, ...]
    helps: tuple[str, ...]


def mine_pursuits(
    knowledge: Sequence[Path], dialogues: Iterable[Dialogue], min_requests: int = MIN_REQUESTS
) -> list[GoalPursuit]:
    """Return the pursuits in which a user may ask for one thing and be offered another."""
    needs = read_goal_needs(knowledge)
    counts = count_requested_phrases(dialogues, {phrase_key(need) for helps in needs.values() for need in helps})
    pursuits = []
    for goal, helps in sorted(needs.items()):
        requested = tuple(sorted(need for need in helps if counts[phrase_key(need)].total() >= min_requests))
        if requested and len(helps) > 1:
            pursuits.append(GoalPursuit(goal, requested, tuple(sorted(helps))))
    if not pursuits:
        raise InputError(
            "nothing could be mined: no verb phrase of the knowledge occurs in five requests of the corpus"
        )
    return pursuits


Pursuits = Sequence[GoalPursuit]
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
_OFFER_COUNT, _QUESTIONS, _GOAL_SHARE = 6, 64, 0.3


def train_on_pursuits(
    start: RankerStart, mined: Pursuits, recipe: RankerRecipe, device: torch.device, rng: random.Random
) -> str:
    """Train the reader for some steps and return the result in one line."""
    offers = {help_ for one in mined for help_ in one.helps}
    mined = [one for one in mined if len(one.helps) < len(offers)]
    if not mined:
        raise InputError("the mined pursuits all need the same things, so none has a wrong offer; give more knowledge")
    network = start.reader.to(device)
    steps = RankerOptimizer(network, recipe.mined, recipe.mined_rate, recipe)
    token_ids: dict[str, Ids] = {}
    loss = torch.zeros(())
    for _ in range(recipe.mined):
        texts = [_make_question(rng, mined) for _ in range(_QUESTIONS)]
        flat = list(dict.fromkeys(text for parts in texts for text in parts if text not in token_ids))
        token_ids.update(zip(flat, map(tuple, start.encode(flat)), strict=True))
        rows = [
            candidate_row(
                [token_ids[goal]] if goal else [], token_ids[request], token_ids[offer], start.marks, recipe.limits
            )
            for goal, request, *offers in texts
            for offer in offers
        ]
        network.train()
        with autocast_half(device):
            scores = network(*row_tensors(rows, start.marks.padding, device)).float().view(-1, _OFFER_COUNT)
        loss = -functional.log_softmax(scores, 1)[:, 0].mean()
        steps.step([loss])
    return f"{recipe.mined} steps on {len(mined):,} mined pursuits: loss {float(loss.detach()):.3f}"


def _make_question(rng: random.Random, mined: Pursuits) -> tuple[str, ...]:
    """Return the goal (mostly ""), a request, the offer that serves the goal, and offers of other pursuits."""
    pursuit = rng.choice(mined)
    request = rng.choice(pursuit.requested)
    helps = rng.choice([help_ for help_ in pursuit.helps if help_ != request])
    wording = rng.choice(_OFFERS)
    others: list[str] = []
    while len(others) < _OFFER_COUNT - 1:
        other = rng.choice(rng.choice(mined).helps)
        if other not in pursuit.helps:
            others.append(wording.format(other))
    goal = _GOAL.format(pursuit.goal) if rng.random() < _GOAL_SHARE else ""
    return (goal, rng.choice(_REQUESTS).format(request), wording.format(helps), *others)
