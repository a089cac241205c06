"""How well chosen and random sets order a ladder: set for set, on the same questions.

A system chooses the candidate with the highest score. Scores are computed in two ways: minus the loss of a candidate
after its context (Sato et al. 2020, section 4.1), and how much the context lowers its loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from rejoinder.seeded import stable_hash
from rejoinder.stats.correlation import midranks
from rejoinder.stats.interval import Interval
from rejoinder.stats.resampling import percentile_interval
from rejoinder_lab.papers.chosen.ladders import AT_RANDOM, KnownOrder, Rung
from rejoinder_lab.papers.chosen.stored import CandidateKind, Losses, Positions, StoredLosses

Values = NDArray[np.float64]
RESAMPLES = 1_000


class Scoring(Enum):
    """Two ways to score a candidate."""

    LOSS = "loss"
    ADDED = "what the context adds"


@dataclass(frozen=True)
class LadderMeasures:
    """A ladder on both kinds of sets: where each rung chose the true reply; rungs, sets, questions."""

    order: KnownOrder
    scoring: Scoring
    right: Mapping[CandidateKind, Values]

    @property
    def row(self) -> str:
        """The name of its row in tables."""
        return f"{self.order.name}; by {self.scoring.value}"

    def accuracies(self, kind: CandidateKind) -> Values:
        """Return the accuracies: rungs, sets."""
        means: Values = self.right[kind].mean(axis=2)
        return means

    def coefficients(self, kind: CandidateKind) -> list[float]:
        """Return Spearman of each set's accuracies with the known order."""
        return [float(value) for value in spearman_with_order(self.accuracies(kind).T)]

    def summaries(self) -> dict[str, Interval]:
        """Return mean and standard deviation of the coefficients over sets for each kind, and CHOSEN minus RANDOM.

        Questions are resampled, in all sets and both kinds together. A set in which all rungs are equal has no
        coefficient and counts as 0: it orders nothing.
        """
        n = self.right[CandidateKind.CHOSEN].shape[2]
        counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES) / n
        weights = np.concatenate([np.full((1, n), 1 / n), counts])
        by_kind = {kind: self._resampled_coefficients(kind, weights) for kind in CandidateKind}
        samples: dict[str, Values] = {}
        for name, summary in (("mean", np.mean), ("standard deviation", _deviation)):
            for kind, coefficients in by_kind.items():
                samples[f"{kind.value} {name}"] = summary(coefficients, axis=1)
            chosen, random = (samples[f"{kind.value} {name}"] for kind in CandidateKind)
            samples[f"difference of {name}s"] = chosen - random
        return {
            name: percentile_interval(float(values[0]), values[1:], n, 0, n, kind="percentile")
            for name, values in samples.items()
        }

    def _resampled_coefficients(self, kind: CandidateKind, weights: Values) -> Values:
        """Return the coefficients by row of weights and set."""
        means = np.einsum("rsq,wq->wsr", self.right[kind], weights)
        flat = np.nan_to_num(spearman_with_order(means.reshape(-1, means.shape[2])))
        coefficients: Values = flat.reshape(means.shape[:2])
        return coefficients


def _deviation(values: Values, axis: int) -> Values:
    deviations: Values = values.std(axis=axis, ddof=1)
    return deviations


def measure_ladder(stored: StoredLosses, order: KnownOrder, scoring: Scoring) -> LadderMeasures | None:
    """Measure a ladder; None if the losses of one of its systems are not stored."""
    needed = {name for rung in order.rungs for name in (rung.system, rung.otherwise) if name != AT_RANDOM}
    if not needed <= set(stored.systems):
        return None
    scores = [score_rung(stored, rung, scoring) for rung in order.rungs]
    right = {
        kind: np.stack([np.stack([score_choices(one, at) for at in sets]) for one in scores])
        for kind, sets in stored.positions.items()
    }
    return LadderMeasures(order, scoring, right)


def score_rung(stored: StoredLosses, rung: Rung, scoring: Scoring) -> Losses:
    """Return the score of each candidate by a rung."""
    scores = _score_system(stored, rung.system, scoring)
    if not rung.share:
        return scores
    spoilt = draw_spoilt(int(stored.owners.max()) + 1, rung.share)[stored.owners]
    return np.where(spoilt, _score_system(stored, rung.otherwise, scoring), scores)


def _score_system(stored: StoredLosses, name: str, scoring: Scoring) -> Losses:
    if name == AT_RANDOM:
        return np.random.default_rng(0).random(len(stored.owners), dtype=np.float32)
    losses = stored.systems[name]
    return -losses.after if scoring is Scoring.LOSS else losses.alone - losses.after


def draw_spoilt(n: int, share: float) -> NDArray[np.bool_]:
    """Return which of n questions are spoilt at a share; a larger share includes the questions of a smaller one."""
    return np.array([stable_hash("spoilt", number) / 2**64 < share for number in range(n)])


def score_choices(scores: Losses, at: Positions) -> Values:
    """Return 1 per question if the true reply (the first) has the highest score, a fraction if others tie with it.

    A candidate without a score is never chosen.
    """
    candidates = np.where(np.isnan(scores[at]), -np.inf, scores[at].astype(np.float64))
    tied = candidates == candidates.max(axis=1, keepdims=True)
    return np.where(tied[:, 0], 1.0 / tied.sum(axis=1), 0.0)


def spearman_with_order(rows: Values) -> Values:
    """Return Spearman's rho of each row's values with their order; NaN for a row of equal values."""
    ranks = np.stack([midranks(row) for row in np.asarray(rows, np.float64)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    order = np.arange(ranks.shape[1]) - (ranks.shape[1] - 1) / 2
    scale = np.sqrt((ranks**2).sum(axis=1) * (order**2).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        coefficients: Values = (ranks @ order) / scale
    return coefficients


def score_network_replies(
    metrics: Mapping[str, str], contexts: Sequence[Sequence[str]], truths: Sequence[str], replies: Sequence[str]
) -> dict[str, list[float]]:
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
        values[[int(pair.item.id) for pair in nonempty]] = np.nan_to_num(np.array(parse(spec).score(nonempty)))
        scores_by_metric[name] = [round(float(value), 4) for value in values]
    return scores_by_metric
