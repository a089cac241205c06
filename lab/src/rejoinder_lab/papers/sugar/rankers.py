"""The rankers that ``reproduce sugar`` needs: their kind, their training inputs, and the inputs to evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rejoinder.data.questions import DISTRACTORS, INPUTS, RELEVANT, REQUEST, WHOLE
from rejoinder.models.ranker.settings import RankerKind
from rejoinder_lab.papers.sugar.folds import FOLDS
from rejoinder_lab.training.recipes import RankerRecipe

TFIDF = "TF-IDF"  # the row of the baseline, which is not trained
SEEDS = 5
RATES = (2e-5, 5e-5)  # for encoders of BERT's size
TRIAL_FOLDS = (0, 1)  # whose validation splits choose the rate
Changes = tuple[tuple[str, Any], ...]


class RankerVariant(NamedTuple):
    """A way to train: a row of the tables.

    One that is ``own`` is trained on each of its inputs and evaluated on the same, as in the paper; another is trained
    once and evaluated on all of them. ``changes`` are those to the usual recipe. The scores of up to ``seeds`` seeds
    are averaged. Of several ``rates``, the validation splits choose one.
    """

    name: str
    row: str
    kind: RankerKind
    trained: tuple[str, ...]
    own: bool
    changes: Changes = ()
    seeds: int = 1
    rates: tuple[float, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs that it is evaluated on."""
        return self.trained if self.own else INPUTS

    @property
    def same_candidates(self) -> bool:
        """Whether it is trained on the candidates that the paper trains on."""
        return ALL_CANDIDATES[0] in self.changes


ALL_CANDIDATES: Changes = (("own", False),)  # as the paper does: also those that are references of held-out questions
PAPER: Changes = (("epochs", 10), ("negatives", 0))  # its candidates and no others
MPNET: Changes = (("encoder", "hf:mpnet"),)
OURS = RankerVariant("situated", "our ranker, held-out references left out", "situated", (WHOLE,), False)
OURS_EVERY = RankerVariant(
    "situated-every", "our ranker, as the paper trains", "situated", (WHOLE,), False, ALL_CANDIDATES
)
OURS_AS_GIVEN = RankerVariant(
    "situated-given",
    "our ranker, held-out references left out, no added distractors",
    "situated",
    (WHOLE,),
    False,
    (("distractors", False),),
)
OURS_MPNET = RankerVariant(
    "situated-mpnet",
    "our ranker, MPNet as reader, seeds averaged, as the paper trains",
    "situated",
    (WHOLE,),
    False,
    (*ALL_CANDIDATES, *MPNET, ("epochs", 5)),
    SEEDS,
    RATES,
)
CROSS = RankerVariant(
    "cross", "plain cross-encoder, as the paper trains", "cross", INPUTS, True, (*PAPER, *ALL_CANDIDATES)
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
    (REQUEST, RELEVANT, WHOLE, DISTRACTORS[-1]),
    True,
    (*PAPER, *ALL_CANDIDATES, *MPNET, ("epochs", 4)),
    rates=RATES,
)
# The slowest first.
VARIANTS = (OURS_MPNET, CROSS_MPNET, OURS_EVERY, OURS, OURS_AS_GIVEN, CROSS, CROSS_OWN)


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

    @property
    def is_trial(self) -> bool:
        """Whether it is trained with every rate, so that one can be chosen."""
        return self.seed == 0 and self.input_name == WHOLE and self.fold in TRIAL_FOLDS and bool(self.variant.rates)

    def recipe(self, rate: float | None = None) -> RankerRecipe:
        """How it is trained."""
        changes = dict(self.variant.changes) | ({} if rate is None else {"rate": rate})
        return RankerRecipe(kind=self.variant.kind, input=self.input_name, seed=self.seed, **changes)


def list_ranker_jobs(only: Sequence[str] = ()) -> list[RankerJob]:
    """Every ranker to be trained, or those of some variants; the further seeds of a variant come last."""
    jobs = [
        RankerJob(variant, input_name, fold, seed)
        for variant in VARIANTS
        if not only or variant.name in only
        for seed in range(variant.seeds)
        for input_name in variant.trained
        for fold in FOLDS
    ]
    return sorted(jobs, key=lambda job: job.seed)
