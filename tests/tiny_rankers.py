"""Situated questions of our own, enough to train a ranker on in a test: twelve to learn from, three held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rejoinder.models import aptness_card as card
from rejoinder.types import Candidate, Question, Statement, Turn

# A request, its goal, the reply that was written for it, and what makes that reply fit.
_SEEDS = (
    ("Please open the window.", "breathe fresh air", "Sure. Shall I turn the purifier on, too?", "The room is smoky."),
    ("Wake me at six.", "catch the train", "Sure. Shall I order a taxi to the station?", "[user] has a train ticket."),
    ("Play some music.", "fall asleep", "Sure. Shall I dim the lamp, too?", "It is 11 PM now."),
    ("Find a recipe.", "cook dinner", "Sure. There are eggs left, will an omelette do?", "[user] has six eggs."),
    ("Call my sister.", "wish her well", "Sure. Shall I remind you of her gift?", "It is her birthday today."),
    ("Show me the way home.", "get home dry", "Sure. Shall I find a shop with umbrellas?", "It rains hard."),
    ("Turn the heating up.", "get warm", "Sorry, it is broken. Shall I call a plumber?", "The boiler is broken."),
    ("Book a table.", "celebrate", "Sorry, it is closed. Shall I look for another place?", "The restaurant is closed."),
    ("Order coffee beans.", "drink coffee", "Sorry, none are sold. Would tea do as well?", "The shop is sold out."),
    ("Read me the news.", "pass the time", "Sure. You may sit down over there meanwhile.", "[user] stands in a queue."),
    ("Start the dishwasher.", "have clean plates", "Sure. Shall I order new tablets?", "The tablets are used up."),
    ("Plan a walk.", "see the sea", "Sure. Shall I look up when the tide is out?", "[user] is at the beach."),
    ("Water the garden.", "keep it green", "Sorry, it is forbidden now. Shall I set an alarm?", "There is a drought."),
    ("Send the letter.", "answer in time", "Sure. Shall I print a stamp, too?", "[user] has no stamps."),
    ("Lock the door.", "be safe", "Sure. Shall I close the open window, too?", "A window is open."),
)


def questions(first: int = 0, last: int = 12, flags: bool = True) -> list[Question]:
    """Some of the fifteen; without ``flags`` nobody said which statements matter."""
    return [_question(n, flags) for n in range(first, last)]


def held_out() -> list[Question]:
    """Three that are not among the twelve."""
    return questions(12, 15)


def _question(n: int, flags: bool) -> Question:
    request, goal, reply, matters = _SEEDS[n]
    group = n // 12 * 12
    size = min(12, len(_SEEDS) - group)
    others = [group + (n - group + step) % size for step in range(1, size)]
    far = [_SEEDS[(n + step) % len(_SEEDS)][3] for step in range(1, 13)]
    told = [(matters, True), (f"[someone] wants to {goal}.", True), *((text, False) for text in far)]
    statements = [Statement(text, "environment", matter if flags else None) for text, matter in told]
    meta: dict[str, Any] = {"goal": goal, "polarity": "no" if reply.startswith("Sorry") else "yes"}
    if flags:
        meta["expanded"] = [{"text": text, "category": "time", "relevant": matter} for text, matter in told]
        meta["distractors"] = {"15": list(range(2, 14))}
    candidates = [Candidate(reply, f"q{n}", "Best", "reference")]
    candidates += [
        Candidate(_SEEDS[k][2], f"q{k}", grade, "distractor")
        for k, grade in zip(others, ("Acceptable", "Bad"), strict=False)
    ]
    return Question(f"q{n}", (Turn(request, "user"),), tuple(candidates), tuple(statements[:11]), meta=meta)


def trained(folder: Path, few: int = 12, **changed: Any) -> dict[str, Any]:
    """Train a ranker on the first ones, one epoch unless said otherwise; what was measured."""
    from rejoinder_lab.training.ranker.trainer import train_ranker
    from rejoinder_lab.training.recipes import RankerRecipe

    recipe = RankerRecipe(**{"epochs": 1, "chooser_epochs": 1, "inner": 2, **changed})
    given = questions(0, few)
    return train_ranker(given, held_out(), folder, recipe, {"train": ["made up"]}, None, "cpu", lambda _: None)


def networks(layers: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """A reader and a chooser on the first layers of the shipped networks; the chooser's head nobody trained."""
    import torch

    from rejoinder.models.aptness.network import float_networks
    from rejoinder.models.catalog.manifest import require_model
    from rejoinder.models.ranker.network import ChooserNetwork, copy_first_layers

    bi, cross = float_networks(require_model("aptness"))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        chooser = ChooserNetwork(copy_first_layers(bi.trunk, layers))
        with torch.no_grad():
            chooser.head.weight.mul_(20)  # so that statements differ, as they do in a trained ranker
    cross.trunk = copy_first_layers(cross.trunk, layers)
    return cross.eval(), chooser.eval()


def written(folder: Path, kind: str = "situated", layers: int = 2) -> tuple[Any, Any]:
    """Such a ranker as a folder; its networks."""
    import numpy as np

    from rejoinder.models.catalog.manifest import require_model
    from rejoinder.models.ranker.export import export_ranker
    from rejoinder.models.ranker.settings import RankerLimits, StatementReadingRule
    from rejoinder.models.ranker.statement_choice import WordTable

    reader, chooser = networks(layers)
    aptness = require_model("aptness")
    count = WordTable(aptness / card.EMBEDDINGS, card.read_aptness_card(aptness).dimensions).count
    weights = np.random.default_rng(0).random(count, np.float32)
    of = (chooser, weights) if kind == "situated" else (None, None)
    export_ranker(reader, *of, "u+S", StatementReadingRule(), RankerLimits(), {"licence": "none"}, folder)
    return reader, chooser
