"""The recipe of a ranker: questions with graded candidates to a folder that `rejoinder rank` reads.

A *cross* ranker reads every statement of its input (SUGAR's transformer rankers). A *situated* one first learns which
statements matter; its reader then learns from the statements that a chooser trained on other questions chooses. The
epoch with the highest nDCG@3 on the held-out questions is kept.
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

from rejoinder.data.questions import REQUEST, limit_situation
from rejoinder.errors import InputError
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.device import training_device
from rejoinder.models.ranker.rows import candidate_row
from rejoinder.stats.ndcg import ndcg
from rejoinder.types import Question
from rejoinder_lab.training.ranker.chooser import ReadingPlan, plan_situated_reading, read_every_statement
from rejoinder_lab.training.ranker.examples import (
    RankerExample,
    add_negatives,
    add_reader_ids,
    build_ranker_examples,
    collect_best_responses,
    drop_held_out_references,
)
from rejoinder_lab.training.ranker.mining import Pursuits, train_on_pursuits
from rejoinder_lab.training.ranker.start import RankerStart, open_ranker_start, write_trained_ranker
from rejoinder_lab.training.ranker.steps import (
    RankerOptimizer,
    better_pairs,
    compute_reader_scores,
    ranker_margin_loss,
    score_ranker_rows,
    split_ranker_batch,
)
from rejoinder_lab.training.recipes import RankerRecipe

Log = Callable[[str], None]


def train_ranker(
    train: Sequence[Question],
    valid: Sequence[Question],
    target: Path,
    recipe: RankerRecipe,
    about: dict[str, Any],
    mined: Pursuits | None = None,
    device: str | None = None,
    log: Log = print,
) -> dict[str, Any]:
    """Train on ``train``, keep the epoch that is best on ``valid``, write the folder and return what was measured."""
    start_time = time.time()
    torch_device = training_device(device)
    _check_questions(train, valid, recipe)
    torch.manual_seed(recipe.seed)
    rng = random.Random(recipe.seed)
    start = open_ranker_start(recipe)
    recipe = replace(recipe, limits=start.limits)
    examples, same = _build_examples(train, start)
    fair = [question for question in valid if question.meta.get("has_bad") is not False]  # as the paper does
    held_out, _ = _build_examples(fair or valid, start)
    training_examples = drop_held_out_references(examples) if recipe.own else examples
    if not training_examples:
        raise InputError(
            "no questions to train a ranker on: none has candidates of different grades without those that were "
            "written for other questions; train on these too (own=False in the recipe)"
        )
    log(
        f"{len(training_examples):,} questions to train on ({same} with one grade left out), {len(held_out)} held out, "
        f"on {torch_device}"
    )
    if mined is not None and recipe.mined:
        log(train_on_pursuits(start, mined, recipe, torch_device, rng))
    reading = _plan_reading(start, training_examples, held_out, recipe, torch_device, rng, log)
    measured = _fit_reader(start, training_examples, held_out, reading, recipe, torch_device, rng, log)
    measured |= reading.measured | {"seconds": round(time.time() - start_time), "questions": len(training_examples)}
    write_trained_ranker(start, reading, recipe, {**about, "recipe": asdict(recipe), "measured": measured}, target)
    return measured


def _build_examples(questions: Sequence[Question], start: RankerStart) -> tuple[list[RankerExample], int]:
    """Return the examples of questions, and how many questions were left out."""
    encode = start.chooser_tokenizer.pieces
    examples, left_out = build_ranker_examples(questions, encode, start.chooser_marks, start.limits)
    if start.tokenizer is not start.chooser_tokenizer:
        as_read, _ = build_ranker_examples(questions, start.encode, start.marks, start.limits)
        examples = add_reader_ids(examples, as_read)
    return examples, left_out


def _check_questions(train: Sequence[Question], valid: Sequence[Question], recipe: RankerRecipe) -> None:
    """Raise where a question occurs twice, or lacks the input of a cross ranker."""
    known_ids: set[str] = set()
    for question in (*train, *valid):
        if question.id in known_ids:
            raise InputError(
                f"question {question.id} occurs twice among the training and the held-out questions; give each "
                "question an id of its own, and do not train on held-out ones"
            )
        known_ids.add(question.id)
    if recipe.kind == "cross":
        limit_situation([*train, *valid], recipe.input)


def _plan_reading(
    start: RankerStart,
    examples: Sequence[RankerExample],
    held_out: Sequence[RankerExample],
    recipe: RankerRecipe,
    device: torch.device,
    rng: random.Random,
    log: Log,
) -> ReadingPlan:
    if recipe.kind == "cross":
        return read_every_statement(recipe.input)
    return plan_situated_reading(start, examples, held_out, recipe, device, rng, log)


def _fit_reader(
    start: RankerStart,
    examples: Sequence[RankerExample],
    held_out: Sequence[RankerExample],
    reading: ReadingPlan,
    recipe: RankerRecipe,
    device: torch.device,
    rng: random.Random,
    log: Log,
) -> dict[str, Any]:
    """Train the reader, which ends with the weights of its best epoch, and return what was measured."""
    network = start.reader.to(device)
    steps = RankerOptimizer(network, recipe.epochs * math.ceil(len(examples) / recipe.batch), recipe.rate, recipe)
    order = list(examples)
    others = collect_best_responses(examples)
    best: tuple[float, dict[str, float], int, Any] = (-1.0, {}, 0, None)
    for epoch in range(1, recipe.epochs + 1):
        rng.shuffle(order)
        losses = []
        for first in range(0, len(order), recipe.batch):
            batch = [add_negatives(one, others, recipe.negatives, rng) for one in order[first : first + recipe.batch]]
            losses.append(steps.step(_reader_losses(start, batch, reading, recipe, device, rng)))
        measured = measure_ranker_held_out(start, held_out, reading, recipe, device)
        mean = float(np.mean(list(measured.values())))
        figures = ", ".join(f"{input_name} {value:.3f}" for input_name, value in measured.items())
        log(
            f"epoch {epoch} of {recipe.epochs}: loss {float(torch.stack(losses).mean()):.3f}, held-out nDCG@3 {figures}"
        )
        if mean > best[0]:
            best = (mean, measured, epoch, copy.deepcopy(network.state_dict()))
    network.load_state_dict(best[3])
    return {"held_out_ndcg3": {input_name: round(value, 4) for input_name, value in best[1].items()}, "epoch": best[2]}


def _reader_losses(
    start: RankerStart,
    batch: Sequence[RankerExample],
    reading: ReadingPlan,
    recipe: RankerRecipe,
    device: torch.device,
    rng: random.Random,
) -> Iterator[torch.Tensor]:
    """Yield the parts of a batch's loss."""
    rows: list[list[PairRow]] = []
    input_name = rng.choice(reading.inputs)  # one for the batch: rows of about the same length
    for example in batch:
        rows.append([])
        by_goal = bool(example.goal and recipe.goal and rng.random() < recipe.goal)
        request = example.request_to_read(by_goal)
        for c, candidate in enumerate(example.candidates):
            statements = list(reading.read(example, c, input_name))
            rng.shuffle(statements)
            rows[-1].append(candidate_row(statements, request, candidate.to_read, start.marks, recipe.limits))
    graded = [[one.grade for one in example.candidates] for example in batch]
    pairs = int(better_pairs(*_collect_grades(graded, range(len(batch)))).sum())
    start.reader.train()
    for part in split_ranker_batch([[len(row.ids) for row in question_rows] for question_rows in rows], device):
        grades, questions = (values.to(device) for values in _collect_grades(graded, part))
        flat = [row for n in part for row in rows[n]]
        scores = compute_reader_scores(start.reader, flat, start.marks.padding, device)
        yield ranker_margin_loss(scores, grades, questions, recipe.margin, pairs)


def _collect_grades(graded: Sequence[Sequence[float]], part: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the grades of the candidates of some questions, and the question of each."""
    pairs = torch.tensor([[grade, n] for n in part for grade in graded[n]])
    return pairs[:, 0], pairs[:, 1]


def measure_ranker_held_out(
    start: RankerStart,
    held_out: Sequence[RankerExample],
    reading: ReadingPlan,
    recipe: RankerRecipe,
    device: torch.device,
) -> dict[str, float]:
    """Return nDCG@3 on held-out questions, by input."""
    by_input = {}
    for input_name in dict.fromkeys(reading.inputs):
        usable = [example for example in held_out if input_name == REQUEST or input_name in example.situations]
        rows = [
            candidate_row(
                reading.read(example, c, input_name), example.request_to_read(), one.to_read, start.marks, recipe.limits
            )
            for example in usable
            for c, one in enumerate(example.candidates)
        ]
        if not rows:
            continue
        scores = score_ranker_rows(start.reader, rows, start.marks.padding, device)
        first, values = 0, []
        for example in usable:
            n = len(example.candidates)
            values.append(ndcg([one.grade for one in example.candidates], scores[first : first + n].tolist()))
            first += n
        by_input[input_name] = float(np.mean(values))
    return by_input
