"""The chooser of statements, and what a ranker in training reads per candidate: all statements, or chosen ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.data.questions import RELEVANT, REQUEST, WHOLE
from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.batching import pad_token_ids
from rejoinder.models.ranker.model import span_weights
from rejoinder.models.ranker.network import ChooserNetwork, copy_first_layers
from rejoinder.models.ranker.rows import SituationRow, situation_rows
from rejoinder.models.ranker.statement_choice import (
    Floats,
    WordTable,
    choose_statements_to_read,
    word_similarity,
    word_weights,
)
from rejoinder_lab.training.ranker.examples import RankerExample
from rejoinder_lab.training.ranker.start import RankerStart
from rejoinder_lab.training.ranker.steps import RankerOptimizer, autocast_half, freeze_words, split_ranker_batch
from rejoinder_lab.training.recipes import RankerRecipe

_SIMILARITY_MARGIN = 0.1  # how much more similar to the best candidate a statement must be to count
_KEEP_SHARE, _MIX_SHARE, _MAX_DISTRACTORS = 0.85, 0.5, 10
LabelledStatement = tuple[Ids, float]  # a statement and 1 (relevant), 0 (not) or NaN (not known)


def label_statements(example: RankerExample, words: WordTable, weights: Floats) -> list[LabelledStatement]:
    """Return the statements of an example with what is known of their relevance."""
    statements = example.situations[WHOLE]
    if any(statement.relevant is not None for statement in statements):
        return [(one.ids, math.nan if one.relevant is None else float(one.relevant)) for one in statements]
    similarity = word_similarity(
        [one.ids for one in statements], [one.ids for one in example.candidates], words, weights
    )
    best = max(one.grade for one in example.candidates)
    good = [n for n, one in enumerate(example.candidates) if one.grade == best]
    others = [n for n, one in enumerate(example.candidates) if one.grade < best]
    ahead = similarity[good].max(0) - similarity[others].max(0)
    labels = np.where(ahead > _SIMILARITY_MARGIN, 1.0, np.where(ahead < -_SIMILARITY_MARGIN, 0.0, math.nan))
    return [(one.ids, float(label)) for one, label in zip(statements, labels, strict=True)]


def train_chooser(
    trunk: Any,
    examples: Sequence[RankerExample],
    labels_of: dict[str, list[LabelledStatement]],
    recipe: RankerRecipe,
    tokens: SpecialTokens,
    device: torch.device,
    rng: random.Random,
) -> ChooserNetwork:
    """Train a chooser that starts from the first layers of a trunk."""
    network = ChooserNetwork(copy_first_layers(trunk, recipe.chooser_layers)).to(device)
    freeze_words(network)
    usable = [example for example in examples if any(label == label for _, label in labels_of[example.id])]
    pool = [ids for example in usable for ids, label in labels_of[example.id] if label == 1]
    steps = RankerOptimizer(
        network, recipe.chooser_epochs * max(1, math.ceil(len(usable) / recipe.batch)), recipe.chooser_rate, recipe
    )
    for _ in range(recipe.chooser_epochs):
        rng.shuffle(usable)
        for start in range(0, len(usable), recipe.batch):
            rows, labels = [], []
            for example in usable[start : start + recipe.batch]:
                mixed = _mix_distractors(labels_of[example.id], pool, recipe, rng)
                row = situation_rows([ids for ids, _ in mixed], example.request, tokens, recipe.limits)[0]
                rows.append(row)
                labels.append([label for _, label in mixed][: len(row.spans) - 1])
            steps.step(_chooser_losses(network, rows, labels, tokens.padding, device))
    return network


def _chooser_losses(
    network: ChooserNetwork,
    rows: Sequence[SituationRow],
    labels: Sequence[Sequence[float]],
    padding: int,
    device: torch.device,
) -> Iterator[Tensor]:
    """Yield the parts of a batch's loss."""
    known = sum(label == label for row_labels in labels for label in row_labels)
    network.train()
    for part in split_ranker_batch([[len(row.ids)] for row in rows], device):
        with autocast_half(device):
            odds = network(*chooser_tensors([rows[n] for n in part], padding, device)).float()
        yield _statement_loss(odds, [labels[n] for n in part], known)


@torch.no_grad()
def compute_odds(
    network: ChooserNetwork,
    situations: Sequence[tuple[Ids, Sequence[Ids]]],
    tokens: SpecialTokens,
    recipe: RankerRecipe,
    device: torch.device,
) -> list[Floats]:
    """Return the log-odds of the statements of each request and situation."""
    network.eval()
    parts = [situation_rows(statements, request, tokens, recipe.limits) for request, statements in situations]
    flat = [row for rows in parts for row in rows]
    row_odds: list[Floats] = []
    for start in range(0, len(flat), 128):
        rows = flat[start : start + 128]
        with autocast_half(device):
            odds = network(*chooser_tensors(rows, tokens.padding, device)).float().cpu().numpy()
        row_odds += [values[: len(row.spans) - 1] for values, row in zip(odds, rows, strict=True)]
    odds_of_situation, at = [], 0
    for rows_of in parts:
        odds_of_situation.append(np.concatenate([np.zeros(0, np.float32), *row_odds[at : at + len(rows_of)]]))
        at += len(rows_of)
    return odds_of_situation


def chooser_tensors(rows: Sequence[SituationRow], padding: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ids, which of them are real, and the weights for the means of requests and statements."""
    tokens, mask = pad_token_ids([row.ids for row in rows], padding)
    parts = (tokens, mask, span_weights(rows, tokens.shape[1]))
    ids, real, places = (torch.from_numpy(part).to(device, non_blocking=True) for part in parts)
    return ids, real, places


def _mix_distractors(
    own: list[LabelledStatement], pool: list[Ids], recipe: RankerRecipe, rng: random.Random
) -> list[LabelledStatement]:
    statements = list(own)
    if recipe.distractors and rng.random() < _MIX_SHARE:
        statements = [one for one in own if rng.random() < _KEEP_SHARE] or statements
        statements += [(rng.choice(pool), 0.0) for _ in range(rng.randint(0, _MAX_DISTRACTORS)) if pool]
    rng.shuffle(statements)
    return statements


def _statement_loss(odds: Tensor, labels: Sequence[Sequence[float]], over: int) -> Tensor:
    """Return the cross-entropy of the statements whose relevance is known, divided by ``over``."""
    targets = torch.full(odds.shape, math.nan)
    for n, row_labels in enumerate(labels):
        targets[n, : len(row_labels)] = torch.tensor(row_labels)
    targets = targets.to(odds.device)
    known = ~targets.isnan()
    losses = functional.binary_cross_entropy_with_logits(odds, targets.nan_to_num(), reduction="none")
    return (losses * known).sum() / max(1, over)


MANY_DISTRACTORS = "15"
Log = Callable[[str], None]


@dataclass(frozen=True)
class ReadingPlan:
    """The inputs to train with (one that is listed twice is used twice as often), and the statements to read."""

    inputs: tuple[str, ...]
    read: Callable[[RankerExample, int, str], Sequence[Ids]]
    chooser: ChooserNetwork | None = None
    weights: Floats | None = None
    measured: dict[str, Any] = field(default_factory=dict)


def read_every_statement(input_name: str) -> ReadingPlan:
    """Return a plan that reads all statements of an input."""

    def read(example: RankerExample, candidate: int, input_name: str) -> Sequence[Ids]:
        return [one.to_read for one in example.situations.get(input_name, ())]

    return ReadingPlan((input_name,), read)


def plan_situated_reading(
    start: RankerStart,
    examples: Sequence[RankerExample],
    held_out: Sequence[RankerExample],
    recipe: RankerRecipe,
    device: torch.device,
    rng: random.Random,
    log: Log,
) -> ReadingPlan:
    """Return a plan that reads what choosers choose; for a training question, one that has not seen its request."""
    texts = [text for one in examples for text in _situation_texts(one)]
    weights = word_weights(texts, start.words.count)
    labelled = {one.id: label_statements(one, start.words, weights) for one in examples}
    known_odds: dict[tuple[str, str], Floats] = {}
    requests = sorted({one.request_text for one in examples})
    rng.shuffle(requests)
    part = {request: n % recipe.inner for n, request in enumerate(requests)}

    def train_on(chosen: Sequence[RankerExample]) -> ChooserNetwork:
        return train_chooser(start.trunk, chosen, labelled, recipe, start.chooser_marks, device, rng)

    def store_odds(chooser: ChooserNetwork, chosen: Sequence[RankerExample]) -> None:
        pairs = [(one, input_name) for one in chosen for input_name in one.situations]
        requests_read = [(one.request, [s.ids for s in one.situations[input_name]]) for one, input_name in pairs]
        odds_of_pairs = compute_odds(chooser, requests_read, start.chooser_marks, recipe, device)
        known_odds.update(
            ((one.id, input_name), odds) for (one, input_name), odds in zip(pairs, odds_of_pairs, strict=True)
        )

    for n in range(recipe.inner):
        others = [one for one in examples if part[one.request_text] != n]
        store_odds(train_on(others or examples), [one for one in examples if part[one.request_text] == n])
    chooser = train_on(examples)
    store_odds(chooser, [one for one in held_out if (one.id, WHOLE) not in known_odds])
    measured = {
        "chooser_auc": {
            input_name: round(_statement_auc(held_out, known_odds, input_name), 4)
            for input_name in (WHOLE, MANY_DISTRACTORS)
        }
    }
    log(f"chooser: held-out AUC {measured['chooser_auc'][WHOLE]:.3f}")
    similarity: dict[tuple[str, str, Ids], Floats] = {}

    def read(example: RankerExample, candidate: int, input_name: str) -> Sequence[Ids]:
        statements = example.situations.get(input_name, ())
        if not statements:
            return []
        key = (example.id, input_name, example.candidates[candidate].ids)
        if key not in similarity:
            similarity[key] = word_similarity([one.ids for one in statements], [key[2]], start.words, weights)[0]
        return [
            statements[position].to_read
            for position in choose_statements_to_read(known_odds[key[:2]], similarity[key], recipe.choice)
        ]

    return ReadingPlan(_training_inputs(examples, recipe), read, chooser, weights, measured)


def _training_inputs(examples: Sequence[RankerExample], recipe: RankerRecipe) -> tuple[str, ...]:
    """Return the request, what matters, twice the whole situation, and one with many distractors, as far as known."""
    candidates = [REQUEST, RELEVANT, WHOLE, WHOLE, *([MANY_DISTRACTORS] if recipe.distractors else [])]
    return tuple(
        input_name
        for input_name in candidates
        if input_name == REQUEST or all(input_name in one.situations for one in examples)
    )


def _situation_texts(example: RankerExample) -> list[Ids]:
    best = max(example.candidates, key=lambda one: one.grade)
    return [example.request, best.ids, *(one.ids for one in example.situations[WHOLE])]


def _statement_auc(
    examples: Sequence[RankerExample], known_odds: dict[tuple[str, str], Floats], input_name: str
) -> float:
    """Return how often a statement that matters is ahead of one that does not; NaN where none is known."""
    values = []
    for one in examples:
        flags = [s.relevant for s in one.situations.get(input_name, ())]
        matters, others = (np.array([flag is wanted for flag in flags], bool) for wanted in (True, False))
        if matters.any() and others.any() and (one.id, input_name) in known_odds:
            odds = known_odds[one.id, input_name]
            gaps = odds[matters][:, None] - odds[others][None]
            values.append(float((gaps > 0).mean() + 0.5 * (gaps == 0).mean()))
    return float(np.mean(values)) if values else float("nan")
