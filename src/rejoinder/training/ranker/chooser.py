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
from rejoinder.models.aptness.card import SpecialTokens
from rejoinder.models.batching import pad
from rejoinder.models.ranker.model import span_weights
from rejoinder.models.ranker.network import ChooserNetwork, copy_first_layers
from rejoinder.models.ranker.rows import SituationRow, situation_rows
from rejoinder.models.ranker.statement_choice import Floats, WordTable, choose_statements, word_similarity, word_weights
from rejoinder.training.ranker.examples import RankerExample
from rejoinder.training.ranker.recipe import RankerRecipe
from rejoinder.training.ranker.start import RankerStart
from rejoinder.training.ranker.steps import RankerOptimizer, autocast_half, freeze_words, split_batch

_SIMILARITY_MARGIN = 0.1  # how much more similar to the best candidate a statement must be to count
_KEEP_SHARE, _MIX_SHARE, _MAX_DISTRACTORS = 0.85, 0.5, 10
LabelledStatement = tuple[Ids, float]  # a statement and 1 (relevant), 0 (not) or NaN (not known)


def label_statements(example: RankerExample, words: WordTable, weights: Floats) -> list[LabelledStatement]:
    """Return the statements of an example with what is known of their relevance."""
    statements = example.situations[WHOLE]
    if any(statement.relevant is not None for statement in statements):
        return [(one.ids, math.nan if one.relevant is None else float(one.relevant)) for one in statements]
    alike = word_similarity([one.ids for one in statements], [one.ids for one in example.candidates], words, weights)
    best = max(one.grade for one in example.candidates)
    good = [n for n, one in enumerate(example.candidates) if one.grade == best]
    others = [n for n, one in enumerate(example.candidates) if one.grade < best]
    ahead = alike[good].max(0) - alike[others].max(0)
    told = np.where(ahead > _SIMILARITY_MARGIN, 1.0, np.where(ahead < -_SIMILARITY_MARGIN, 0.0, math.nan))
    return [(one.ids, float(label)) for one, label in zip(statements, told, strict=True)]


def train_chooser(
    trunk: Any,
    examples: Sequence[RankerExample],
    labelled: dict[str, list[LabelledStatement]],
    recipe: RankerRecipe,
    marks: SpecialTokens,
    device: torch.device,
    drawn: random.Random,
) -> ChooserNetwork:
    """Train a chooser that starts from the first layers of a trunk."""
    network = ChooserNetwork(copy_first_layers(trunk, recipe.chooser_layers)).to(device)
    freeze_words(network)
    useful = [example for example in examples if any(label == label for _, label in labelled[example.id])]
    pool = [ids for example in useful for ids, label in labelled[example.id] if label == 1]
    steps = RankerOptimizer(
        network, recipe.chooser_epochs * max(1, math.ceil(len(useful) / recipe.batch)), recipe.chooser_rate, recipe
    )
    for _ in range(recipe.chooser_epochs):
        drawn.shuffle(useful)
        for start in range(0, len(useful), recipe.batch):
            rows, labels = [], []
            for example in useful[start : start + recipe.batch]:
                mixed = _mix_distractors(labelled[example.id], pool, recipe, drawn)
                row = situation_rows([ids for ids, _ in mixed], example.request, marks, recipe.limits)[0]
                rows.append(row)
                labels.append([label for _, label in mixed][: len(row.spans) - 1])
            steps.step(_losses(network, rows, labels, marks.padding, device))
    return network


def _losses(
    network: ChooserNetwork,
    rows: Sequence[SituationRow],
    labels: Sequence[Sequence[float]],
    padding: int,
    device: torch.device,
) -> Iterator[Tensor]:
    """Yield the parts of a batch's loss."""
    known = sum(label == label for of in labels for label in of)
    network.train()
    for part in split_batch([[len(row.ids)] for row in rows], device):
        with autocast_half(device):
            odds = network(*chooser_tensors([rows[n] for n in part], padding, device)).float()
        yield _loss(odds, [labels[n] for n in part], known)


@torch.no_grad()
def odds_of(
    network: ChooserNetwork,
    situations: Sequence[tuple[Ids, Sequence[Ids]]],
    marks: SpecialTokens,
    recipe: RankerRecipe,
    device: torch.device,
) -> list[Floats]:
    """Return the log-odds of the statements of each request and situation."""
    network.eval()
    parts = [situation_rows(statements, request, marks, recipe.limits) for request, statements in situations]
    flat = [row for rows in parts for row in rows]
    told: list[Floats] = []
    for start in range(0, len(flat), 128):
        rows = flat[start : start + 128]
        with autocast_half(device):
            odds = network(*chooser_tensors(rows, marks.padding, device)).float().cpu().numpy()
        told += [of[: len(row.spans) - 1] for of, row in zip(odds, rows, strict=True)]
    found, at = [], 0
    for rows_of in parts:
        found.append(np.concatenate([np.zeros(0, np.float32), *told[at : at + len(rows_of)]]))
        at += len(rows_of)
    return found


def chooser_tensors(rows: Sequence[SituationRow], padding: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the ids, which of them are real, and the weights for the means of requests and statements."""
    tokens, mask = pad([row.ids for row in rows], padding)
    parts = (tokens, mask, span_weights(rows, tokens.shape[1]))
    ids, real, places = (torch.from_numpy(part).to(device, non_blocking=True) for part in parts)
    return ids, real, places


def _mix_distractors(
    own: list[LabelledStatement], pool: list[Ids], recipe: RankerRecipe, drawn: random.Random
) -> list[LabelledStatement]:
    found = list(own)
    if recipe.distractors and drawn.random() < _MIX_SHARE:
        found = [one for one in own if drawn.random() < _KEEP_SHARE] or found
        found += [(drawn.choice(pool), 0.0) for _ in range(drawn.randint(0, _MAX_DISTRACTORS)) if pool]
    drawn.shuffle(found)
    return found


def _loss(odds: Tensor, labels: Sequence[Sequence[float]], over: int) -> Tensor:
    """Return the cross-entropy of the statements whose relevance is known, divided by ``over``."""
    wanted = torch.full(odds.shape, math.nan)
    for n, of in enumerate(labels):
        wanted[n, : len(of)] = torch.tensor(of)
    wanted = wanted.to(odds.device)
    known = ~wanted.isnan()
    lost = functional.binary_cross_entropy_with_logits(odds, wanted.nan_to_num(), reduction="none")
    return (lost * known).sum() / max(1, over)


MANY_DISTRACTORS = "15"
Reporter = Callable[[str], None]


@dataclass(frozen=True)
class ReadingPlan:
    """The inputs to train with (one that is listed twice is used twice as often), and the statements to read."""

    inputs: tuple[str, ...]
    read: Callable[[RankerExample, int, str], Sequence[Ids]]
    chooser: ChooserNetwork | None = None
    weights: Floats | None = None
    measured: dict[str, Any] = field(default_factory=dict)


def read_every_statement(given: str) -> ReadingPlan:
    """Return a plan that reads all statements of an input."""

    def read(example: RankerExample, candidate: int, given: str) -> Sequence[Ids]:
        return [one.ids for one in example.situations.get(given, ())]

    return ReadingPlan((given,), read)


def plan_situated_reading(
    start: RankerStart,
    examples: Sequence[RankerExample],
    held: Sequence[RankerExample],
    recipe: RankerRecipe,
    device: torch.device,
    drawn: random.Random,
    say: Reporter,
) -> ReadingPlan:
    """Return a plan that reads what choosers choose; for a training question, one that has not seen its request."""
    texts = [text for one in examples for text in _texts(one)]
    weights = word_weights(texts, start.words.count)
    labelled = {one.id: label_statements(one, start.words, weights) for one in examples}
    known: dict[tuple[str, str], Floats] = {}
    requests = sorted({one.asked for one in examples})
    drawn.shuffle(requests)
    part = {request: n % recipe.inner for n, request in enumerate(requests)}

    def learn(some: Sequence[RankerExample]) -> ChooserNetwork:
        return train_chooser(start.trunk, some, labelled, recipe, start.marks, device, drawn)

    def tell(chooser: ChooserNetwork, some: Sequence[RankerExample]) -> None:
        pairs = [(one, given) for one in some for given in one.situations]
        asked = [(one.request, [s.ids for s in one.situations[given]]) for one, given in pairs]
        told = odds_of(chooser, asked, start.marks, recipe, device)
        known.update(((one.id, given), odds) for (one, given), odds in zip(pairs, told, strict=True))

    for n in range(recipe.inner):
        others = [one for one in examples if part[one.asked] != n]
        tell(learn(others or examples), [one for one in examples if part[one.asked] == n])
    chooser = learn(examples)
    tell(chooser, [one for one in held if (one.id, WHOLE) not in known])
    measured = {"chooser_auc": {given: round(_auc(held, known, given), 4) for given in (WHOLE, MANY_DISTRACTORS)}}
    say(f"chooser: held-out AUC {measured['chooser_auc'][WHOLE]:.3f}")
    alike: dict[tuple[str, str, Ids], Floats] = {}

    def read(example: RankerExample, candidate: int, given: str) -> Sequence[Ids]:
        statements = [one.ids for one in example.situations.get(given, ())]
        if not statements:
            return []
        key = (example.id, given, example.candidates[candidate].ids)
        if key not in alike:
            alike[key] = word_similarity(statements, [key[2]], start.words, weights)[0]
        return [statements[place] for place in choose_statements(known[key[:2]], alike[key], recipe.choice)]

    return ReadingPlan(_training_inputs(examples, recipe), read, chooser, weights, measured)


def _training_inputs(examples: Sequence[RankerExample], recipe: RankerRecipe) -> tuple[str, ...]:
    """Return the request, what matters, twice the whole situation, and one with many distractors, as far as known."""
    wanted = [REQUEST, RELEVANT, WHOLE, WHOLE, *([MANY_DISTRACTORS] if recipe.distractors else [])]
    return tuple(given for given in wanted if given == REQUEST or all(given in one.situations for one in examples))


def _texts(example: RankerExample) -> list[Ids]:
    best = max(example.candidates, key=lambda one: one.grade)
    return [example.request, best.ids, *(one.ids for one in example.situations[WHOLE])]


def _auc(examples: Sequence[RankerExample], known: dict[tuple[str, str], Floats], given: str) -> float:
    """Return how often a statement that matters is ahead of one that does not; NaN where none is known."""
    values = []
    for one in examples:
        told = [s.relevant for s in one.situations.get(given, ())]
        matters, others = (np.array([flag is wanted for flag in told], bool) for wanted in (True, False))
        if matters.any() and others.any() and (one.id, given) in known:
            odds = known[one.id, given]
            gaps = odds[matters][:, None] - odds[others][None]
            values.append(float((gaps > 0).mean() + 0.5 * (gaps == 0).mean()))
    return float(np.mean(values)) if values else float("nan")
