"""The recipe of a ranker: questions with graded candidates to a folder that `rejoinder rank` reads.

A *cross* ranker reads every statement that it is given (SUGAR's transformer rankers). A *situated* one first learns
which statements matter; its reader then learns from what a chooser that was trained on other questions would have it
read. The epoch with the highest nDCG@3 on the held-out questions is kept.
"""

from __future__ import annotations

import copy
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rejoinder.data.questions import REQUEST, shown
from rejoinder.errors import InputError
from rejoinder.models.aptness.cross_encoder import Row
from rejoinder.models.ranker.rows import pair_row
from rejoinder.stats.ndcg import ndcg
from rejoinder.training.aptness.recipe import device_of
from rejoinder.training.ranker.chooser import Reading, every_statement, situated_reading
from rejoinder.training.ranker.examples import Example, best_replies, examples_of, with_negatives, without_others
from rejoinder.training.ranker.mining import Mined, train_on_mined
from rejoinder.training.ranker.recipe import RankerRecipe
from rejoinder.training.ranker.start import Start, finish, start_of
from rejoinder.training.ranker.steps import Steps, half, margin_loss, pairs_of, parts_of, scores_of, tensors
from rejoinder.types import Question

Say = Callable[[str], None]


def train_ranker(
    train: Sequence[Question],
    valid: Sequence[Question],
    target: Path,
    recipe: RankerRecipe,
    about: dict[str, Any],
    mined: Mined | None = None,
    device: str | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Train on ``train``, keep the epoch that is best on ``valid``, write the folder; what was measured."""
    begun = time.time()
    place = device_of(device)
    _check(train, valid, recipe)
    torch.manual_seed(recipe.seed)
    drawn = random.Random(recipe.seed)
    start = start_of(recipe)
    recipe = replace(recipe, limits=start.limits)
    examples, same = examples_of(train, start.encode, start.marks, recipe.limits)
    fair = [question for question in valid if question.meta.get("has_bad") is not False]  # as the paper does
    held, _ = examples_of(fair or valid, start.encode, start.marks, recipe.limits)
    learned = without_others(examples) if recipe.own else examples
    if not learned:
        raise InputError(
            "there is nothing to train a ranker on: no question keeps candidates of different grades without those "
            "that were written for other questions; train on them too with --all-candidates"
        )
    say(f"{len(learned):,} questions to train on ({same} with one grade left out), {len(held)} held out, on {place}")
    if mined is not None and recipe.mined:
        say(train_on_mined(start, mined, recipe, place, drawn))
    reading = _reading(start, learned, held, recipe, place, drawn, say)
    measured = _fit(start, learned, held, reading, recipe, place, drawn, say)
    measured |= reading.measured | {"seconds": round(time.time() - begun), "questions": len(learned)}
    finish(start, reading, recipe, {**about, "recipe": asdict(recipe), "measured": measured}, target)
    return measured


def _check(train: Sequence[Question], valid: Sequence[Question], recipe: RankerRecipe) -> None:
    """Raise where a question stands twice, or has not what a cross ranker is to be shown."""
    seen: set[str] = set()
    for question in (*train, *valid):
        if question.id in seen:
            raise InputError(
                f"question {question.id} stands twice among those to train on and the held-out ones; give each "
                "question an id of its own, and hold none out that is trained on"
            )
        seen.add(question.id)
    if recipe.kind == "cross":
        shown([*train, *valid], recipe.given)


def _reading(
    start: Start,
    examples: Sequence[Example],
    held: Sequence[Example],
    recipe: RankerRecipe,
    place: torch.device,
    drawn: random.Random,
    say: Say,
) -> Reading:
    if recipe.kind == "cross":
        return every_statement(recipe.given)
    return situated_reading(start, examples, held, recipe, place, drawn, say)


def _fit(
    start: Start,
    examples: Sequence[Example],
    held: Sequence[Example],
    reading: Reading,
    recipe: RankerRecipe,
    place: torch.device,
    drawn: random.Random,
    say: Say,
) -> dict[str, Any]:
    """Train the reader; it ends as it was after its best epoch."""
    network = start.reader.to(place)
    steps = Steps(network, recipe.epochs * math.ceil(len(examples) / recipe.batch), recipe.rate, recipe)
    order = list(examples)
    others = best_replies(examples)
    best: tuple[float, dict[str, float], int, Any] = (-1.0, {}, 0, None)
    for epoch in range(1, recipe.epochs + 1):
        drawn.shuffle(order)
        lost = []
        for at in range(0, len(order), recipe.batch):
            batch = [with_negatives(one, others, recipe.negatives, drawn) for one in order[at : at + recipe.batch]]
            lost.append(steps.step(_losses(start, batch, reading, recipe, place, drawn)))
        found = held_out(start, held, reading, recipe, place)
        mean = float(np.mean(list(found.values())))
        told = ", ".join(f"{given} {value:.3f}" for given, value in found.items())
        say(f"epoch {epoch} of {recipe.epochs}: loss {float(torch.stack(lost).mean()):.3f}, held-out nDCG@3 {told}")
        if mean > best[0]:
            best = (mean, found, epoch, copy.deepcopy(network.state_dict()))
    network.load_state_dict(best[3])
    return {"held_out_ndcg3": {given: round(value, 4) for given, value in best[1].items()}, "epoch": best[2]}


def _losses(
    start: Start,
    batch: Sequence[Example],
    reading: Reading,
    recipe: RankerRecipe,
    place: torch.device,
    drawn: random.Random,
) -> Iterator[torch.Tensor]:
    """The parts of a batch's loss."""
    rows: list[list[Row]] = []
    given = drawn.choice(reading.inputs)  # one for the batch: rows of about the same length
    for example in batch:
        rows.append([])
        by_goal = example.goal and recipe.goal and drawn.random() < recipe.goal
        for c, candidate in enumerate(example.candidates):
            statements = list(reading.read(example, c, given))
            drawn.shuffle(statements)
            request = example.goal if by_goal else example.request
            rows[-1].append(pair_row(statements, request, candidate.ids, start.marks, recipe.limits))
    graded = [[one.grade for one in example.candidates] for example in batch]
    pairs = int(pairs_of(*_graded(graded, range(len(batch)))).sum())
    start.reader.train()
    for part in parts_of([[len(row.ids) for row in of] for of in rows], place):
        grades, questions = (found.to(place) for found in _graded(graded, part))
        with half(place):
            read = tensors([row for n in part for row in rows[n]], start.marks.padding, place)
            scores = start.reader(*read).float()
        yield margin_loss(scores, grades, questions, recipe.margin, pairs)


def _graded(graded: Sequence[Sequence[float]], part: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The grades of the candidates of some questions, and which question each is of."""
    found = torch.tensor([[grade, n] for n in part for grade in graded[n]])
    return found[:, 0], found[:, 1]


def held_out(
    start: Start, held: Sequence[Example], reading: Reading, recipe: RankerRecipe, place: torch.device
) -> dict[str, float]:
    """nDCG@3 on held-out questions, by input."""
    found = {}
    for given in dict.fromkeys(reading.inputs):
        some = [example for example in held if given == REQUEST or given in example.situations]
        rows = [
            pair_row(reading.read(example, c, given), example.request, one.ids, start.marks, recipe.limits)
            for example in some
            for c, one in enumerate(example.candidates)
        ]
        if not rows:
            continue
        scores = scores_of(start.reader, rows, start.marks.padding, place)
        at, values = 0, []
        for example in some:
            n = len(example.candidates)
            values.append(ndcg([one.grade for one in example.candidates], scores[at : at + n].tolist()))
            at += n
        found[given] = float(np.mean(values))
    return found
