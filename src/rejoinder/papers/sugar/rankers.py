"""The rankers that ``reproduce sugar`` needs: their kind, their training inputs, and the inputs to evaluate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.questions import INPUTS, RELEVANT, REQUEST, WHOLE
from rejoinder.papers.sugar.folds import FOLDS

TFIDF = "TF-IDF"  # the row of the baseline, which is not trained
SEED = 0
PARAMETERS = "ranker(folder={folder!r})"


class RankerVariant(NamedTuple):
    """A way to train: a row of the tables.

    One that is ``own`` is trained on each of its inputs and evaluated on the same, as in the paper; another is trained
    once and evaluated on all of them.
    """

    name: str
    row: str
    kind: str
    trained: tuple[str, ...]
    own: bool
    options: tuple[str, ...] = ()


ALL_CANDIDATES = "--all-candidates"  # as the paper does: also those that are references of held-out questions
PAPER = ("--epochs", "10", "--negatives", "0")  # its candidates and no others
OURS = RankerVariant("situated", "our ranker", "situated", (WHOLE,), False)
OURS_EVERY = RankerVariant(
    "situated-every", "our ranker, all candidates", "situated", (WHOLE,), False, (ALL_CANDIDATES,)
)
OURS_AS_GIVEN = RankerVariant(
    "situated-given",
    "our ranker, no added distractors",
    "situated",
    (WHOLE,),
    False,
    ("--no-distractors",),
)
CROSS = RankerVariant("cross", "plain cross-encoder", "cross", INPUTS, True, (*PAPER, ALL_CANDIDATES))
CROSS_OWN = RankerVariant(
    "cross-own", "plain cross-encoder, own candidates", "cross", (REQUEST, RELEVANT, WHOLE), True, PAPER
)
VARIANTS = (OURS, OURS_EVERY, OURS_AS_GIVEN, CROSS, CROSS_OWN)  # the slowest first


class RankerJob(NamedTuple):
    """One ranker to be trained: a variant, its input and a fold."""

    variant: RankerVariant
    input_name: str
    fold: int

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.variant.name}-{self.input_name}-{self.fold}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that it is evaluated on."""
        return (self.input_name,) if self.variant.own else INPUTS

    def command(self, folder: Path, program: Sequence[str] = ()) -> list[str]:
        """The command that trains it."""
        start = [*(program or (sys.executable, "-m", "rejoinder")), "train", "ranker"]
        data = ["--train", f"dataset:sugar/{self.fold}/train", "--valid", f"dataset:sugar/{self.fold}/dev"]
        how = ["--kind", self.variant.kind, "--input", self.input_name, "--seed", str(SEED), *self.variant.options]
        return [*start, *data, *how, "-o", str(folder)]


def list_ranker_jobs(only: Sequence[str] = ()) -> list[RankerJob]:
    """Every ranker to be trained, or those of some variants."""
    return [
        RankerJob(variant, input_name, fold)
        for variant in VARIANTS
        if not only or variant.name in only
        for input_name in variant.trained
        for fold in FOLDS
    ]


def find_ranker_job(variant: RankerVariant, input_name: str, fold: int) -> RankerJob:
    """Return the ranker of a variant that is evaluated on an input."""
    return RankerJob(variant, input_name if variant.own else variant.trained[0], fold)
