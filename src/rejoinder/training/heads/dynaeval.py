"""The recipe of `dynaeval` (Zhang et al. 2021): a dialogue must score above a damaged copy of itself, by a margin.

A copy is damaged in one of the paper's two ways: turns of one speaker are replaced by turns of other dialogues, or the
turns of one speaker are shuffled. The encoder stays as it is. The epoch that ranks the most dialogues of the split
``valid`` right is kept. No rating is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.models.dynaeval.network import DynaEvalNetwork, DynaEvalSizes
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.head.model import HeadCard, encode_texts, write_head
from rejoinder.training.heads.dialogues import describe_training, select_dialogues
from rejoinder.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder.training.recipes import DynaEvalRecipe
from rejoinder.types import Dialogue

Rows: TypeAlias = list[int]  # the turns of a dialogue, as rows of a matrix of vectors
_WINDOW = 4  # turns before and after that an utterance is connected to, as it is scored


def train_dynaeval(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: DynaEvalRecipe,
    corpus: str | None = None,
    encoder: str = "aptness",
    say: Callable[[str], None] = print,
) -> HeadCard:
    """Train on the split ``train``, choose the epoch on ``valid``, and write the folder."""
    all_dialogues = list(dialogues)
    train, valid = (
        select_dialogues(all_dialogues, split, n, corpus)
        for split, n in (("train", recipe.dialogues), ("valid", recipe.held_out))
    )
    model = load_encoder(encoder)
    texts = [text for dialogue in (*train, *valid) for text in dialogue]
    say(f"encoding {len(texts):,} turns")
    vectors = torch.from_numpy(encode_texts(model, texts))
    places = iter(range(len(texts)))
    rows = [[next(places) for _ in dialogue] for dialogue in (*train, *valid)]
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)  # matrices this small would only wait for each other
    sizes = {"sentence": model.dimensions, "width": recipe.width, "bases": recipe.bases}
    sizes |= {"first": recipe.width, "second": recipe.width, "hidden": recipe.hidden}
    network = start_dynaeval_network(sizes)
    shares = fit_dynaeval(network, vectors, rows[: len(train)], rows[len(train) :], recipe, say)
    about = {
        **describe_training(all_dialogues, corpus, encoder),
        "recipe": asdict(recipe),
        "citation": "Zhang et al. 2021",
        "measured": {"true_above_damaged": round(max(shares), 4), "dialogues": len(valid)},
    }
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    return write_head(target, HeadCard("dynaeval", encoder, model.digest, sizes, "", about), weights)


def start_dynaeval_network(sizes: dict[str, int]) -> DynaEvalNetwork:
    """Return a network with random weights (Glorot and Bengio 2010)."""
    rest = {name: size for name, size in sizes.items() if name != "width"}
    network = DynaEvalNetwork(DynaEvalSizes(narrowed=(sizes["width"],), **rest))
    for parameter in (network.attention, network.bases, network.mixture, network.own, network.others):
        nn.init.xavier_uniform_(parameter)
    return network


def fit_dynaeval(
    network: DynaEvalNetwork,
    vectors: Tensor,
    train: Sequence[Rows],
    valid: Sequence[Rows],
    recipe: DynaEvalRecipe,
    say: Callable[[str], None],
) -> list[float]:
    """Train a network to its best epoch; return after each epoch the share of held-out dialogues that are right."""
    steps = -(-len(train) // recipe.batch)
    schedule = LearningRateSchedule(build_optimizer([(list(network.parameters()), recipe.rate)]), recipe.epochs * steps)
    held_out = damage_dialogues(valid, sum(map(len, train)), len(vectors), recipe, np.random.default_rng(0))
    shares: list[float] = []
    best = network.state_dict()
    for epoch in range(recipe.epochs):
        random = np.random.default_rng([recipe.seed, epoch])
        pairs = damage_dialogues(train, 0, sum(map(len, train)), recipe, random)
        order = random.permutation(len(pairs))
        for step in range(steps):
            losses = [
                torch.relu(recipe.margin - score_rows(network, vectors, true) + score_rows(network, vectors, damaged))
                for true, damaged in (pairs[i] for i in order[step * recipe.batch : (step + 1) * recipe.batch])
            ]
            schedule.step(torch.stack(losses).mean(), network)
        with torch.no_grad():
            right = [
                bool(score_rows(network, vectors, true) > score_rows(network, vectors, damaged))
                for true, damaged in held_out
            ]
        shares.append(float(np.mean(right)))
        say(f"epoch {epoch + 1} of {recipe.epochs}: {100 * shares[-1]:.1f}% of held-out dialogues right")
        if shares[-1] == max(shares):
            best = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    return shares


def score_rows(network: DynaEvalNetwork, vectors: Tensor, rows: Rows) -> Tensor:
    """Return the score of a dialogue."""
    score: Tensor = network(vectors[rows], torch.arange(len(rows)) % 2, _WINDOW, _WINDOW)
    return score


def damage_dialogues(
    dialogues: Sequence[Rows], first: int, last: int, recipe: DynaEvalRecipe, random: np.random.Generator
) -> list[tuple[Rows, Rows]]:
    """Return a random stretch of each dialogue and its damaged copy; other turns come from rows first to last."""
    pairs = []
    for rows in dialogues:
        length = int(random.integers(2, min(len(rows), recipe.turns) + 1))
        start = int(random.integers(0, len(rows) - length + 1))
        stretch = rows[start : start + length]
        pairs.append((stretch, damage_dialogue(stretch, first, last, random)))
    return pairs


def damage_dialogue(rows: Rows, first: int, last: int, random: np.random.Generator) -> Rows:
    """Return a copy in which turns of one speaker are replaced or, where there are two or more, perhaps shuffled."""
    places = np.arange(len(rows))[int(random.integers(2)) :: 2]
    damaged = list(rows)
    if len(places) > 1 and random.random() < 0.5:
        shuffled = random.permutation(places)
        while (shuffled == places).all():
            shuffled = random.permutation(places)
        for place, other in zip(places, shuffled, strict=True):
            damaged[place] = rows[other]
        return damaged
    for place in random.permutation(places)[: int(random.integers(1, len(places) + 1))]:
        damaged[place] = int(random.integers(first, last))
    return damaged
