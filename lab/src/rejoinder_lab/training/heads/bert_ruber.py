"""The recipe of `bert_ruber`'s unreferenced part (Ghazarian et al. 2019): the true reply against a random one.

Negatives are replies to other contexts, drawn anew in each epoch. The layers with the least cross-entropy on the split
``valid`` are kept. No rating is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rejoinder.models.base import Encoder, Vectors
from rejoinder_lab.models.head.model import HeadCard, apply_layers, encode_texts
from rejoinder_lab.models.head.pairs import encode_contexts, join_features
from rejoinder_lab.training.heads.dialogues import HeadData, list_next_turns
from rejoinder_lab.training.heads.layers import train_layers
from rejoinder_lab.training.next_turns import NextTurn
from rejoinder_lab.training.recipes import HeadRecipe


def train_bert_ruber(data: HeadData, target: Path, recipe: HeadRecipe, log: Callable[[str], None] = print) -> HeadCard:
    """Train on the split ``train``, stop by ``valid``, and write the folder."""
    train, valid = list_next_turns(data.train), list_next_turns(data.valid)
    log(f"encoding {len(train):,} contexts and replies")
    contexts, replies = encode_next_turns(data.encoder, train)
    held_out = label_pairs(*encode_next_turns(data.encoder, valid), np.random.default_rng(0))
    weights = train_layers(
        lambda epoch: label_pairs(contexts, replies, np.random.default_rng([recipe.seed, epoch])),
        held_out,
        recipe,
        log,
    )
    odds = apply_layers(weights, held_out[0])
    half = len(odds) // 2
    measured = {"true_above_random": round(float(np.mean(odds[:half] > odds[half:])), 4), "contexts": half}
    return data.write(target, "bert_ruber", weights, measured, "Ghazarian et al. 2019")


def encode_next_turns(
    encoder: Encoder, next_turns: Sequence[NextTurn], turns: int | None = None
) -> tuple[Vectors, Vectors]:
    """Return the vectors of contexts, of all their turns or of the last ones, and of their replies."""
    contexts = encode_contexts(encoder, [one.context[-turns:] if turns else one.context for one in next_turns])
    return contexts, encode_texts(encoder, [one.reply for one in next_turns])


def label_pairs(contexts: Vectors, replies: Vectors, random: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Return the rows of all contexts with their own reply (label 1), then with that of another (label 0)."""
    n = len(contexts)
    others = (np.arange(n) + random.integers(1, n, n)) % n
    rows = [join_features(contexts, replies), join_features(contexts, replies[others])]
    return np.concatenate(rows), np.repeat(np.array([1, 0], np.float32), n)
