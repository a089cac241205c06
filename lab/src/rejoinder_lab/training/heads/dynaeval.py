"""The recipe of `dynaeval` (Zhang et al. 2021): a dialogue must score above a damaged copy of itself, by a margin.

A copy is damaged in one of the paper's two ways: one turn is replaced by a turn of another dialogue, or the turns of
one speaker are shuffled. The encoder stays as it is. The epoch that ranks the most dialogues of the split ``valid``
right is kept. No rating is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.models.device import training_device
from rejoinder_lab.models.dynaeval.head import number_turns, score_dialogues
from rejoinder_lab.models.dynaeval.network import DynaEvalNetwork, DynaEvalSizes
from rejoinder_lab.models.head.model import HeadCard, encode_texts
from rejoinder_lab.training.heads.dialogues import HeadData
from rejoinder_lab.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder_lab.training.recipes import DynaEvalRecipe

Rows: TypeAlias = list[int]  # the turns of a dialogue, as rows of a matrix of vectors
Damage: TypeAlias = Literal["replaced", "shuffled"]
_WINDOW = 4  # turns before and after that an utterance is connected to, as it is scored


class DamagedPair(NamedTuple):
    """A stretch of a dialogue and its damaged copy."""

    true: Rows
    damaged: Rows
    damage: Damage


def train_dynaeval(
    data: HeadData,
    target: Path,
    recipe: DynaEvalRecipe,
    device: str | None = None,
    log: Callable[[str], None] = print,
) -> HeadCard:
    """Train on the split ``train``, choose the epoch on ``valid``, and write the folder."""
    texts = [text for dialogue in (*data.train, *data.valid) for text in dialogue]
    log(f"encoding {len(texts):,} turns")
    # The numbers of a vector of length 1 are small: unscaled, the network hardly learns from them.
    scale = data.encoder.dimensions**0.5
    vectors = torch.from_numpy(encode_texts(data.encoder, texts)) * scale
    rows = number_turns([*data.train, *data.valid])
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)  # on a CPU, matrices this small would only wait for each other
    sizes = {"sentence": data.encoder.dimensions, "width": recipe.width, "bases": recipe.bases}
    sizes |= {"first": recipe.width, "second": recipe.width, "hidden": recipe.hidden}
    network = start_dynaeval_network(sizes).to(training_device(device))
    train, valid = rows[: len(data.train)], rows[len(data.train) :]
    measured = fit_dynaeval(network, vectors.to(network.bias.device), train, valid, recipe, log)
    weights = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    weights["narrow.0.weight"] = weights["narrow.0.weight"] * scale  # so that it reads vectors as they come
    return data.write(target, "dynaeval", weights, measured, "Zhang et al. 2021", sizes)


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
    log: Callable[[str], None],
) -> dict[str, float]:
    """Train a network to its best epoch; return the shares of held-out dialogues that it ranks right."""
    last = sum(map(len, train))
    steps = -(-len(train) // recipe.batch)
    schedule = LearningRateSchedule(build_optimizer([(list(network.parameters()), recipe.rate)]), recipe.epochs * steps)
    held_out = [
        pair
        for seed in range(recipe.held_out_copies)
        for pair in damage_dialogues(valid, last, len(vectors), recipe, np.random.default_rng(seed))
    ]
    best, measured = network.state_dict(), {"true_above_damaged": -1.0}
    for epoch in range(recipe.epochs):
        random = np.random.default_rng([recipe.seed, epoch])
        pairs = damage_dialogues(train, 0, last, recipe, random)
        # Dialogues of about one length share a batch; batches come in any order.
        order = sorted(random.permutation(len(pairs)).tolist(), key=lambda i: len(pairs[i].true))
        for step in random.permutation(steps).tolist():
            batch = [pairs[i] for i in order[step * recipe.batch : (step + 1) * recipe.batch]]
            true, damaged = score_pairs(network, vectors, batch)
            schedule.step(torch.relu(recipe.margin - true + damaged).mean(), network)
        found = measure_pairs(network, vectors, held_out)
        share = 100 * found["true_above_damaged"]
        log(f"epoch {epoch + 1} of {recipe.epochs}: {share:.1f}% of held-out dialogues right")
        if found["true_above_damaged"] > measured["true_above_damaged"]:
            measured = found
            best = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    return {**measured, "dialogues": len(valid)}


def score_pairs(network: DynaEvalNetwork, vectors: Tensor, pairs: Sequence[DamagedPair]) -> tuple[Tensor, Tensor]:
    """Return the scores of dialogues, and of their damaged copies."""
    dialogues = [*(pair.true for pair in pairs), *(pair.damaged for pair in pairs)]
    true, damaged = score_dialogues(network, vectors, dialogues, _WINDOW, _WINDOW).chunk(2)
    return true, damaged


def measure_pairs(network: DynaEvalNetwork, vectors: Tensor, pairs: Sequence[DamagedPair]) -> dict[str, float]:
    """Return the share of dialogues that score above their damaged copy, of all and by the kind of damage."""
    with torch.no_grad():
        true, damaged = score_pairs(network, vectors, pairs)
    right = (true > damaged).cpu().numpy()
    kinds = np.array([pair.damage for pair in pairs])
    shares = {"true_above_damaged": right.mean()}
    shares |= {f"true_above_{kind}": right[kinds == kind].mean() for kind in sorted(set(kinds.tolist()))}
    return {name: round(float(share), 4) for name, share in shares.items()}


def damage_dialogues(
    dialogues: Sequence[Rows], first: int, last: int, recipe: DynaEvalRecipe, random: np.random.Generator
) -> list[DamagedPair]:
    """Return a random stretch of each dialogue and its damaged copy; other turns come from rows first to last."""
    pairs = []
    for rows in dialogues:
        length = int(random.integers(2, min(len(rows), recipe.turns) + 1))
        start = int(random.integers(0, len(rows) - length + 1))
        stretch = rows[start : start + length]
        others = [(first, rows[0]), (rows[-1] + 1, last)]  # all but those of the same dialogue
        pairs.append(damage_dialogue(stretch, others, random))
    return pairs


def damage_dialogue(rows: Rows, others: Sequence[tuple[int, int]], random: np.random.Generator) -> DamagedPair:
    """Return a copy with one turn from the ranges of others or, of three turns or more, perhaps shuffled."""
    damaged = list(rows)
    if len(rows) > 2 and random.random() < 0.5:
        places = np.arange(len(rows))[int(random.integers(2)) if len(rows) > 3 else 0 :: 2]
        shuffled = random.permutation(places)
        while (shuffled == places).all():
            shuffled = random.permutation(places)
        for place, other in zip(places, shuffled, strict=True):
            damaged[place] = rows[other]
        return DamagedPair(rows, damaged, "shuffled")
    sizes = [end - begin for begin, end in others]
    chosen = int(random.integers(sum(sizes)))
    row = others[0][0] + chosen if chosen < sizes[0] else others[1][0] + chosen - sizes[0]
    damaged[int(random.integers(len(rows)))] = row
    return DamagedPair(rows, damaged, "replaced")
