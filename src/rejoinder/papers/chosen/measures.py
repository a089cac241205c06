"""How well systems do on test sets, and how well a ranking agrees with a ladder of known order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.seeded import stable_hash
from rejoinder.stats.correlation import midranks
from rejoinder.stats.interval import Interval
from rejoinder.stats.resampling import percentile_interval

Values = NDArray[np.float64]
RESAMPLES = 1_000
CORRUPTED_SHARES = (0.8, 0.6, 0.4, 0.2, 0.1, 0.0)  # of what is spoilt, from the worst rung to the best


class CoefficientSpread(NamedTuple):
    """The rank correlations of many sets of one kind."""

    mean: float
    deviation: float
    low: float
    high: float
    all: tuple[float, ...]


def score_choices(losses: NDArray[np.float32], at: NDArray[np.int64]) -> Values:
    """Return 1 per question if the true reply (the first) has the lowest loss, a fraction if others tie with it.

    A candidate without a loss is never chosen.
    """
    candidate_losses = np.where(np.isnan(losses[at]), np.inf, losses[at].astype(np.float64))
    lowest = candidate_losses.min(axis=1, keepdims=True)
    tied = candidate_losses == lowest
    return np.where(tied[:, 0], 1.0 / tied.sum(axis=1), 0.0)


def align_to_contexts(values: Values, contexts: NDArray[np.int64], size: int) -> Values:
    """Return questions' values in the order of all contexts, NaN where there is no question."""
    aligned = np.full(size, np.nan)
    aligned[contexts] = values
    return aligned


def rank_correlation(values: Values, places: Sequence[int], seed: int = 0) -> Interval:
    """Return Spearman of the systems' mean values (systems, contexts) with their places, resampling contexts together.

    There is no value if all systems are equal.
    """
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    size = values.shape[1]
    random = np.random.default_rng(seed)
    counts = random.multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(np.float64)
    weights = np.concatenate([np.ones((1, size)), counts])
    means = (weights @ filled.T) / np.maximum(weights @ known.T.astype(np.float64), 1e-12)
    correlations = np.array([spearman_with_places(row, places) for row in means])
    return percentile_interval(float(correlations[0]), correlations[1:], size, 0, size, kind="percentile")


def spearman_with_places(values: Values, places: Sequence[int]) -> float:
    """Return Spearman's rho, NaN if one side is constant."""
    first, second = midranks(np.asarray(values, np.float64)), midranks(np.asarray(places, np.float64))
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum() / scale) if scale else float("nan")


def summarise_spread(coefficients: Sequence[float]) -> CoefficientSpread:
    """Return mean, standard deviation, minimum and maximum of coefficients; NaN values are left out."""
    known = np.array([c for c in coefficients if not np.isnan(c)])
    return CoefficientSpread(
        float(known.mean()), float(known.std(ddof=1)), float(known.min()), float(known.max()), tuple(known.tolist())
    )


def measure_set_agreement(accuracies: Values) -> CoefficientSpread:
    """How similarly sets of one kind rank the same systems: Spearman of each set's ranking with that of all others.

    ``accuracies``: sets, systems.
    """
    total = accuracies.sum(axis=0)
    return summarise_spread([_correlate_with(row, total - row) for row in accuracies])


def _correlate_with(row: Values, others: Values) -> float:
    return spearman_with_places(row, list(others))


def draw_corrupted(names: Sequence[str], share: float, *what: object) -> NDArray[np.bool_]:
    """Return which contexts are corrupted at a share; a larger share includes the contexts of a smaller one."""
    return np.array([stable_hash(*what, name) / 2**64 < share for name in names])


def corrupt_losses(
    losses: NDArray[np.float32], owners: NDArray[np.int64], which: NDArray[np.bool_], seed: int = 0
) -> NDArray[np.float32]:
    """Return the losses, with those of some contexts replaced by noise; ``owners`` is the context of each loss."""
    noise = np.random.default_rng(seed).random(len(losses), dtype=np.float32)
    return np.where(which[owners], noise, losses)


def corrupt_replies(replies: Sequence[str], which: NDArray[np.bool_], seed: int = 0) -> list[str]:
    """Return the replies, with those to some contexts replaced by replies to other contexts."""
    steps = np.random.default_rng(seed).integers(1, len(replies), len(replies))
    return [
        replies[(place + int(step)) % len(replies)] if bad else reply
        for place, (reply, bad, step) in enumerate(zip(replies, which, steps, strict=True))
    ]


def score_network_replies(
    metrics: Mapping[str, str], contexts: Sequence[Sequence[str]], truths: Sequence[str], replies: Sequence[str]
) -> dict[str, Values]:
    """Return the scores of one system's replies, with the true replies as references, by metric name."""
    from rejoinder.metric import parse
    from rejoinder.types import Item, Pair, Reference, Response, Turn

    pairs = []
    for n, (context, truth, reply) in enumerate(zip(contexts, truths, replies, strict=True)):
        item = Item(str(n), tuple(Turn(text) for text in context), (Reference(truth),))
        pairs.append(Pair(item, Response(f"{n}/r", str(n), "system", reply)))
    nonempty = [pair for pair in pairs if pair.response.text.strip()]
    scores_by_metric = {}
    for name, spec in metrics.items():
        values = np.zeros(len(pairs))  # a system that says nothing gets nothing for it
        scores = parse(spec).score(nonempty)
        values[[int(pair.item.id) for pair in nonempty]] = np.nan_to_num(np.array(scores))
        scores_by_metric[name] = values
    return scores_by_metric


# systems, sets, contexts: 1 where the true reply was chosen, NaN: no question
Right: TypeAlias = Mapping["CandidateKind", Values]


class CandidateKind(Enum):
    """Two kinds of false candidates."""

    CHOSEN = "CHOSEN"
    RANDOM = "RANDOM"


@dataclass(frozen=True)
class Ladder:
    """One system from its worst rung to its best: what it chose, and how its replies score."""

    name: str
    right: Right
    replies: Mapping[str, Values] = field(default_factory=dict)  # by metric: rungs, contexts

    @property
    def places(self) -> range:
        """The known order."""
        return range(next(iter(self.right.values())).shape[0])

    def accuracies(self, kind: CandidateKind) -> Values:
        """Return the accuracies: rungs, sets."""
        means: Values = np.nanmean(self.right[kind], axis=2)
        return means

    def coefficients(self, kind: CandidateKind) -> list[float]:
        """Return Spearman of each set's accuracies with the known order, without the first chosen set, which is built
        from the whole repository."""
        first = 1 if kind is CandidateKind.CHOSEN else 0
        return [spearman_with_places(column, self.places) for column in self.accuracies(kind).T[first:]]


@dataclass(frozen=True)
class ChosenMeasures:
    """Everything that the tables are made from."""

    names: Sequence[str]  # of the ten systems
    right: Right
    replies: Mapping[str, Values]
    ladders: Sequence[Ladder]
