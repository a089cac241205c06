"""Every regression that the IDK paper trains, on the vectors of one frozen pair encoder: three seeds each.

HUMOD's train split and the whole of Topical-Chat are public, but not here: 3,750 contexts of the Cornell film corpus
stand for H, 3,750 of our Topical-Chat for TC-S, all from the train split. A seed decides the initial weights and the
order of the dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from rejoinder.models.idk.pair_encoder import PairEncoder
from rejoinder.types import Dialogue
from rejoinder_lab.training.idk import (
    DEFAULT_CONTEXTS,
    IdkRecipe,
    IdkRegression,
    Loss,
    Negative,
    Regularization,
    fit_idk_regression,
    idk_training_vectors,
)
from rejoinder_lab.training.next_turns import sample_next_turns

SETS = {"H": "cornell", "TC-S": "topical_chat"}
SEEDS = (0, 1, 2)
_REGULARIZATIONS: tuple[Regularization, ...] = ("l1", "l2", "none")
_NEGATIVES: tuple[Negative, ...] = ("idk", "random")
_LOSSES: tuple[Loss, ...] = ("bce", "triplet")
_PRINTED = {"idk": "IDK", "random": "Rand3750", "l1": "L1", "l2": "L2"}


@dataclass(frozen=True)
class IdkVariant:
    """One way to train the regression."""

    data: str
    negative: Negative = "idk"
    regularization: Regularization = "l1"
    loss: Loss = "bce"

    @property
    def short(self) -> str:
        """Its name in Table 10."""
        parts = [self.data, _PRINTED.get(self.negative, self.negative.upper()), "bce" if self.loss == "bce" else ""]
        return "_".join(filter(None, [*parts, _PRINTED.get(self.regularization, "")]))

    @property
    def long(self) -> str:
        """Its name in Tables 5 and 9."""
        return ", ".join([self.data, *(["L1"] if self.regularization == "l1" else []), self.negative])

    @property
    def metric(self) -> str:
        """Its name in Tables 3, 4 and 11."""
        own = {"ics": "IDK-ICS", "ok": "IDK-OK"}.get(self.negative, "IDK")
        return f"{own} ({self.data})"


def list_variants() -> Iterator[IdkVariant]:
    """All of Table 10, and the other two negatives."""
    for data in SETS:
        for loss, negative, regularization in product(_LOSSES, _NEGATIVES, _REGULARIZATIONS):
            yield IdkVariant(data, negative, regularization, loss)
        yield IdkVariant(data, "ics")
        yield IdkVariant(data, "ok")


Runs = Mapping[IdkVariant, Sequence[IdkRegression]]


def train_all_variants(encoder: PairEncoder, dialogues: Sequence[Dialogue], contexts: int = DEFAULT_CONTEXTS) -> Runs:
    """Three runs of every variant."""
    runs: dict[IdkVariant, list[IdkRegression]] = {}
    for data, corpus in SETS.items():
        places = sample_next_turns(dialogues, 2 * contexts, corpus)
        variants = [variant for variant in list_variants() if variant.data == data]
        for negative in dict.fromkeys(variant.negative for variant in variants):
            true, false = idk_training_vectors(encoder, places, IdkRecipe(negative=negative, contexts=contexts))
            for variant in (v for v in variants if v.negative == negative):
                recipes = [IdkRecipe("paper", negative, variant.regularization, variant.loss, seed=s) for s in SEEDS]
                runs[variant] = [fit_idk_regression(true, false, recipe) for recipe in recipes]
    return runs
