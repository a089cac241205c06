"""What a ranker in training reads for a candidate, by input: every statement, or those that a chooser would choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rejoinder.data.situations import RELEVANT, REQUEST, WHOLE
from rejoinder.models.aptness_calibration import Ids
from rejoinder.models.ranker_choosing import Floats, chosen, likeness, weights_of
from rejoinder.models.ranker_network import Chooser
from rejoinder.training.ranker_chooser import labels_of, odds_of, train_chooser
from rejoinder.training.ranker_examples import Example
from rejoinder.training.ranker_recipe import RankerRecipe
from rejoinder.training.ranker_start import Start

FAR = "15"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """The inputs to train with (each as often as it stands here), and the statements to read for a candidate."""

    inputs: tuple[str, ...]
    read: Callable[[Example, int, str], Sequence[Ids]]
    chooser: Chooser | None = None
    weights: Floats | None = None
    measured: dict[str, Any] = field(default_factory=dict)


def every_statement(given: str) -> Reading:
    """All statements of an input."""

    def read(example: Example, candidate: int, given: str) -> Sequence[Ids]:
        return [one.ids for one in example.situations.get(given, ())]

    return Reading((given,), read)


def situated_reading(
    start: Start,
    examples: Sequence[Example],
    held: Sequence[Example],
    recipe: RankerRecipe,
    device: torch.device,
    drawn: random.Random,
    say: Say,
) -> Reading:
    """What choosers choose: for a training question one that has not seen its request, for the others the last one."""
    texts = [text for one in examples for text in _texts(one)]
    weights = weights_of(texts, start.words.count)
    labelled = {one.id: labels_of(one, start.words, weights) for one in examples}
    known: dict[tuple[str, str], Floats] = {}
    requests = sorted({one.asked for one in examples})
    drawn.shuffle(requests)
    part = {request: n % recipe.inner for n, request in enumerate(requests)}

    def learn(some: Sequence[Example]) -> Chooser:
        return train_chooser(start.trunk, some, labelled, recipe, start.marks, device, drawn)

    def tell(chooser: Chooser, some: Sequence[Example]) -> None:
        pairs = [(one, given) for one in some for given in one.situations]
        asked = [(one.request, [s.ids for s in one.situations[given]]) for one, given in pairs]
        told = odds_of(chooser, asked, start.marks, recipe, device)
        known.update(((one.id, given), odds) for (one, given), odds in zip(pairs, told, strict=True))

    for n in range(recipe.inner):
        others = [one for one in examples if part[one.asked] != n]
        tell(learn(others or examples), [one for one in examples if part[one.asked] == n])
    chooser = learn(examples)
    tell(chooser, [one for one in held if (one.id, WHOLE) not in known])
    measured = {"chooser_auc": {given: round(_auc(held, known, given), 4) for given in (WHOLE, FAR)}}
    say(f"chooser: held-out AUC {measured['chooser_auc'][WHOLE]:.3f}")
    alike: dict[tuple[str, str, Ids], Floats] = {}

    def read(example: Example, candidate: int, given: str) -> Sequence[Ids]:
        statements = [one.ids for one in example.situations.get(given, ())]
        if not statements:
            return []
        key = (example.id, given, example.candidates[candidate].ids)
        if key not in alike:
            alike[key] = likeness(statements, [key[2]], start.words, weights)[0]
        return [statements[place] for place in chosen(known[key[:2]], alike[key], recipe.choice)]

    return Reading(_inputs(examples, recipe), read, chooser, weights, measured)


def _inputs(examples: Sequence[Example], recipe: RankerRecipe) -> tuple[str, ...]:
    """The request alone, what matters, twice the whole situation, and one with many distractors; as far as known."""
    wanted = [REQUEST, RELEVANT, WHOLE, WHOLE, *([FAR] if recipe.distractors else [])]
    return tuple(given for given in wanted if given == REQUEST or all(given in one.situations for one in examples))


def _texts(example: Example) -> list[Ids]:
    best = max(example.candidates, key=lambda one: one.grade)
    return [example.request, best.ids, *(one.ids for one in example.situations[WHOLE])]


def _auc(examples: Sequence[Example], known: dict[tuple[str, str], Floats], given: str) -> float:
    """How often a statement that matters is ahead of one that does not, in one situation; NaN where none is known."""
    values = []
    for one in examples:
        told = [s.relevant for s in one.situations.get(given, ())]
        matters, others = (np.array([flag is wanted for flag in told], bool) for wanted in (True, False))
        if matters.any() and others.any() and (one.id, given) in known:
            odds = known[one.id, given]
            gaps = odds[matters][:, None] - odds[others][None]
            values.append(float((gaps > 0).mean() + 0.5 * (gaps == 0).mean()))
    return float(np.mean(values)) if values else float("nan")
