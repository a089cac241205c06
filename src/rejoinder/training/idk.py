"""The recipe of `idk` (Berlot-Attwell and Rudzicz 2022, section 5): dialogues to a regression on frozen pair vectors.

A positive is a context with its own reply, its negative the same context with one fixed reply (or, as an ablation, with
a reply of the next dialogues). No torch is needed with the default vectors, which are kept in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models import idk as cards
from rejoinder.models.contract import Vectors
from rejoinder.models.idk import IdkCard, probabilities
from rejoinder.models.pair_encoder import DEFAULT, PairEncoder, load_pair_encoder
from rejoinder.training.idk_exact import fit_exactly
from rejoinder.training.idk_steps import Fitted, Loss, Regularization, fit_by_steps
from rejoinder.training.next_turns import Place, places, shuffled_replies
from rejoinder.types import Dialogue

Negative: TypeAlias = Literal["idk", "ics", "ok", "random"]
Mode: TypeAlias = Literal["paper", "exact"]
NEGATIVES = {"idk": "i don't know.", "ics": "i couldn't say", "ok": "i'm ok."}
CONTEXTS = 3_750  # as many as HUMOD's train split has


@dataclass(frozen=True)
class IdkRecipe:
    """All that decides the regression, beside the dialogues and the vectors."""

    mode: Mode = "paper"
    negative: Negative = "idk"
    regularization: Regularization = "l1"
    loss: Loss = "bce"
    weight: float = 1.0  # of the regularisation
    seed: int = 0
    contexts: int = CONTEXTS

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise InputError(f"idk: {name} must be one of {', '.join(get_args(kind))}, not {getattr(self, name)!r}")
        if self.mode == "exact" and self.loss != "bce":
            raise InputError("idk: the triplet loss is not convex and has no exact mode; take the mode 'paper'")


_CHOICES: dict[str, Any] = {"mode": Mode, "negative": Negative, "regularization": Regularization, "loss": Loss}


def train_idk(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: IdkRecipe,
    corpus: str | None = None,
    encoder: str = DEFAULT,
) -> IdkCard:
    """Train on the split ``train`` and write the folder; its card says how well true replies are told apart there."""
    opened = load_pair_encoder(encoder)
    found = places(dialogues, recipe.contexts * (2 if recipe.negative == "random" else 1), corpus)
    true, false = pair_vectors(opened, found, recipe)
    fitted = fit(true, false, recipe)
    card = card_of(fitted, opened, recipe, corpus, told_apart(fitted, true, false))
    cards.write(target, card)
    return card


def pair_vectors(encoder: PairEncoder, found: Sequence[Place], recipe: IdkRecipe) -> tuple[Vectors, Vectors]:
    """The vectors of contexts with their true replies, and with their negatives."""
    chosen, others = found[: recipe.contexts], found[recipe.contexts : 2 * recipe.contexts]
    contexts = [place.context for place in chosen]
    if recipe.negative == "random":
        negatives = shuffled_replies(others)
    else:
        negatives = [NEGATIVES[recipe.negative]] * len(chosen)
    return encoder.features(contexts, [place.reply for place in chosen]), encoder.features(contexts, negatives)


def fit(true: Vectors, false: Vectors, recipe: IdkRecipe) -> Fitted:
    """The regression of a recipe."""
    if recipe.mode == "exact":
        return fit_exactly(true, false, recipe.regularization, recipe.weight)
    return fit_by_steps(true, false, recipe.seed, recipe.regularization, recipe.loss, recipe.weight)


def told_apart(fitted: Fitted, true: Vectors, false: Vectors) -> float:
    """How often a true reply scores above the negative of its context."""
    above, below = (probabilities(part, *fitted) for part in (true, false))
    return float(np.mean((above > below) + 0.5 * (above == below)))


def card_of(fitted: Fitted, encoder: PairEncoder, recipe: IdkRecipe, corpus: str | None, apart: float) -> IdkCard:
    """The card of a regression; its weights are derived from the encoder's, and so is its licence."""
    weights = tuple(round(float(value), 9) for value in fitted.weights)
    about = {
        "recipe": asdict(recipe),
        "negative": NEGATIVES.get(recipe.negative, "replies of other dialogues, shuffled"),
        "data": {"corpus": corpus or "all of the files", "split": "train", "contexts": recipe.contexts},
        "licence": encoder.licence,
        "citation": "Berlot-Attwell and Rudzicz 2022",
        "measured": {
            "true_above_negative_in_training": round(apart, 4),
            "weights_above_0.01": int(np.sum(np.abs(fitted.weights) > 0.01)),
        },
    }
    return IdkCard(encoder.name, encoder.digest, weights, round(fitted.bias, 9), about)
