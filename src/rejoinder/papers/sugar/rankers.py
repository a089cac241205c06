"""The rankers that ``reproduce sugar`` needs: their kind, their training inputs, and the inputs to evaluate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.questions import INPUTS, RELEVANT, REQUEST, WHOLE
from rejoinder.papers.sugar.folds import FOLDS

TFIDF = "TF-IDF"  # the row of the baseline, which is not trained
SEEDS = 5
PARAMETERS = "ranker(folder={folder!r})"


class RankerVariant(NamedTuple):
    """A way to train: a row of the tables.

    One that is ``own`` is trained on each of its inputs and evaluated on the same, as in the paper; another is trained
    once and evaluated on all of them. The scores of several ``seeds`` are averaged.
    """

    name: str
    row: str
    kind: str
    trained: tuple[str, ...]
    own: bool
    options: tuple[str, ...] = ()
    seeds: int = 1

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that it is evaluated on."""
        return self.trained if self.own else INPUTS

    @property
    def like_for_like(self) -> bool:
        """Whether it is trained on the candidates that the paper trains on."""
        return ALL_CANDIDATES in self.options


ALL_CANDIDATES = "--all-candidates"  # as the paper does: also those that are references of held-out questions
PAPER = ("--epochs", "10", "--negatives", "0")  # its candidates and no others
OURS = RankerVariant("situated", "our ranker, held-out references left out", "situated", (WHOLE,), False)
OURS_EVERY = RankerVariant(
    "situated-every", "our ranker, as the paper trains", "situated", (WHOLE,), False, (ALL_CANDIDATES,)
)
OURS_AS_GIVEN = RankerVariant(
    "situated-given",
    "our ranker, held-out references left out, no added distractors",
    "situated",
    (WHOLE,),
    False,
    ("--no-distractors",),
)
OURS_MPNET, OURS_GTE = (
    RankerVariant(
        f"situated-{name}",
        f"our ranker, {label} as reader, {SEEDS} seeds, as the paper trains",
        "situated",
        (WHOLE,),
        False,
        (ALL_CANDIDATES, "--encoder", f"hf:{name}"),
        SEEDS,
    )
    for name, label in (("mpnet", "MPNet"), ("gte-small", "gte-small"))
)
CROSS = RankerVariant(
    "cross", "plain cross-encoder, as the paper trains", "cross", INPUTS, True, (*PAPER, ALL_CANDIDATES)
)
CROSS_OWN = RankerVariant(
    "cross-own",
    "plain cross-encoder, held-out references left out",
    "cross",
    (REQUEST, RELEVANT, WHOLE),
    True,
    PAPER,
)
CROSS_MPNET = RankerVariant(
    "cross-mpnet",
    "plain MPNet cross-encoder, as the paper trains",
    "cross",
    INPUTS,
    True,
    (*PAPER, ALL_CANDIDATES, "--encoder", "hf:mpnet"),
)
# The slowest first.
VARIANTS = (OURS_MPNET, OURS_GTE, OURS_EVERY, OURS, OURS_AS_GIVEN, CROSS_MPNET, CROSS, CROSS_OWN)


class RankerJob(NamedTuple):
    """One ranker to be trained: a variant, its input, a fold and a seed."""

    variant: RankerVariant
    input_name: str
    fold: int
    seed: int = 0

    @property
    def name(self) -> str:
        """What its files are called."""
        ending = f"-{self.seed}" if self.variant.seeds > 1 else ""
        return f"{self.variant.name}-{self.input_name}-{self.fold}{ending}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that it is evaluated on."""
        return (self.input_name,) if self.variant.own else INPUTS

    def command(self, folder: Path, program: Sequence[str] = ()) -> list[str]:
        """The command that trains it."""
        start = [*(program or (sys.executable, "-m", "rejoinder")), "train", "ranker"]
        data = ["--train", f"dataset:sugar/{self.fold}/train", "--valid", f"dataset:sugar/{self.fold}/dev"]
        how = ["--kind", self.variant.kind, "--input", self.input_name, "--seed", str(self.seed)]
        return [*start, *data, *how, *self.variant.options, "-o", str(folder)]


def list_ranker_jobs(only: Sequence[str] = ()) -> list[RankerJob]:
    """Every ranker to be trained, or those of some variants."""
    return [
        RankerJob(variant, input_name, fold, seed)
        for variant in VARIANTS
        if not only or variant.name in only
        for seed in range(variant.seeds)
        for input_name in variant.trained
        for fold in FOLDS
    ]
