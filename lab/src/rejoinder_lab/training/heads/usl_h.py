"""The recipe of `usl_h`'s understandable part (Phy et al. 2020): replies against the same replies with damaged words.

The words of a reply are shuffled, dropped or repeated. The layers with the least cross-entropy on the split ``valid``
are kept. The quartiles of how rare the words of training replies are come from the same dialogues. No rating is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rejoinder.models.base import Encoder, Vectors
from rejoinder.text.rarity import mean_rarity
from rejoinder_lab.models.head.model import HeadCard, apply_layers, encode_texts
from rejoinder_lab.training.heads.dialogues import HeadData
from rejoinder_lab.training.heads.layers import train_layers
from rejoinder_lab.training.recipes import UslHRecipe

_FEWEST = 4  # words of a reply that can be damaged


def train_usl_h(data: HeadData, target: Path, recipe: UslHRecipe, log: Callable[[str], None] = print) -> HeadCard:
    """Train on the split ``train``, stop by ``valid``, and write the folder."""
    train, valid = ([text for turns in part for text in turns] for part in (data.train, data.valid))
    log(f"encoding {len(train):,} turns, and damaged copies")
    rows, held_out = (label_turns(data.encoder, texts, recipe.seed) for texts in (train, valid))
    weights = train_layers(lambda epoch: rows, held_out, recipe, log)
    right = (apply_layers(weights, held_out[0]) > 0) == held_out[1]
    low, high = np.quantile([mean_rarity(text) for text in train], [0.25, 0.75])
    measured = {"whole_or_damaged_right": round(float(np.mean(right)), 4), "turns": len(right) // 2}
    settings = {"rarity": [round(float(low), 4), round(float(high), 4)]}
    return data.write(target, "usl_h", weights, measured, "Phy, Zhao and Aizawa 2020", settings)


def label_turns(encoder: Encoder, texts: Sequence[str], seed: int) -> tuple[Vectors, Vectors]:
    """Return the rows of the turns that can be damaged (label 1), and of their damaged copies (label 0)."""
    random = np.random.default_rng(seed)
    whole = [text for text in dict.fromkeys(texts) if len(text.split()) >= _FEWEST]
    damaged = [damage_words(text, random) for text in whole]
    vectors = encode_texts(encoder, [*whole, *damaged]) * np.float32(encoder.dimensions**0.5)
    return vectors, np.repeat(np.array([1, 0], np.float32), len(whole))


def damage_words(text: str, random: np.random.Generator) -> str:
    """Return a text whose words are shuffled, of which up to half are missing, or of which some are said again."""
    words = text.split()
    how, share = random.integers(3), random.uniform(0, 0.5)
    while True:
        if how == 0:
            damaged = [words[i] for i in random.permutation(len(words))]
        elif how == 1:
            damaged = [word for word in words if random.random() > share]
        else:
            damaged = [word for word in words for _ in range(1 + 2 * int(random.random() < 0.15))]
        if damaged and (damaged != words or len(set(words)) == 1):
            return " ".join(damaged)
