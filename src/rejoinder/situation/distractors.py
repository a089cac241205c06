"""Distractors by Algorithms 1 and 2 of SUGAR (Otani et al. 2023, Appendix B.1).

Algorithm 1 draws replies that are unlikely to be right, by cheap filters. The prose and the pseudo-code of the paper
differ on what is compared by embeddings (two replies; a request and a reply), and on what must not overlap (two
replies; two requests). Here, embeddings compare two replies, and words compare two requests and two goals.

Algorithm 2 replaces distractors that a regression sees through. As in the pseudo-code: J rounds; in each, the questions
in K folds; a logistic regression on the vectors of the request, S1 and a reply learns from the other folds whether the
reply is the reference; f is its probability. A distractor r with f(r) + gamma <= f(r1) is replaced by a random r' with
f(r') - gamma > f(r1) that Algorithm 1 accepts; if there is none, it stays. (The last line's D_K is read as D_J.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.situation.seed_vectors import SeedVectors
from rejoinder.stats.arrays import Bools, Floats

Distractors = tuple[tuple[int, ...], ...]  # for each seed, the places of the seeds whose replies are its distractors


def draw_distractors(vectors: SeedVectors) -> Distractors:
    """Draw up to m - 1 distractors of each seed, one by one; replies nearly the same as one leave the pool.

    A seed whose pool runs out has fewer, or none.
    """
    random = np.random.default_rng([vectors.settings.seed, 1])
    return tuple(_draw_for_seed(vectors, place, random) for place in range(len(vectors.seeds)))


def _draw_for_seed(vectors: SeedVectors, place: int, random: np.random.Generator) -> tuple[int, ...]:
    pool = vectors.pool(place)
    distractors: list[int] = []
    while len(distractors) < vectors.settings.candidates - 1 and pool.any():
        choice = int(random.choice(np.flatnonzero(pool)))
        distractors.append(choice)
        pool &= ~vectors.near(choice)
    return tuple(distractors)


class DistractorRegression(NamedTuple):
    """Weights and intercept."""

    weights: Floats
    intercept: float


def fit_distractor_regression(rows: Floats, labels: Bools, penalty: float = 1.0) -> DistractorRegression:
    """Minimise the summed log loss plus the penalty on half the squared weights; the intercept has no penalty.

    This equals scikit-learn's regression with C = 1 / penalty.
    """
    from scipy.optimize import minimize

    signs = np.where(labels, 1.0, -1.0)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, intercept = point[:-1], point[-1]
        margins = signs * (rows @ weights + intercept)
        gradient = -signs * np.exp(-np.logaddexp(0.0, margins))
        total = float(np.logaddexp(0.0, -margins).sum() + penalty / 2 * (weights @ weights))
        return total, np.append(rows.T @ gradient + penalty * weights, gradient.sum())

    result = minimize(
        loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 500}
    )
    return DistractorRegression(result.x[:-1], float(result.x[-1]))


def logistic_curve(scores: Floats) -> Floats:
    """The logistic curve."""
    values: Floats = np.exp(-np.logaddexp(0.0, -scores))
    return values


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FilterRound:
    """The result of one round: how many distractors it looked at, how many were easy, and how many were replaced.

    ``right`` is the share of questions whose reference has the highest f, before the round's replacements.
    """

    distractors: int
    easy: int
    replaced: int
    right: float


def filter_adversarially(
    vectors: SeedVectors, chosen: Distractors, progress: Progress | None = None
) -> tuple[Distractors, list[FilterRound]]:
    """Return the distractors after J rounds, and the result of each round; seeds without distractors take no part."""
    current = [list(distractors) for distractors in chosen]
    places = np.array([place for place, distractors in enumerate(current) if distractors], np.int64)
    folds = min(vectors.settings.folds, len(places))
    rounds: list[FilterRound] = []
    for number in range(vectors.settings.rounds if folds > 1 else 0):
        random = np.random.default_rng([vectors.settings.seed, 2, number])
        parts = np.array_split(random.permutation(places), folds)
        counts, right = np.zeros(3, np.int64), 0
        # All folds of a round use the set as it was before the round.
        before = [tuple(distractors) for distractors in current]
        for fold, part in enumerate(parts, start=1):
            rest = np.setdiff1d(places, part)
            regression = _train_regression(vectors, before, rest.tolist())
            for place in np.sort(part).tolist():
                scores = score_possible_distractors(vectors, regression, place)
                right += bool(scores[place] > max(scores[other] for other in before[place]))
                counts += _replace_easy(vectors, current[place], place, scores, random)
            if progress is not None:
                progress(number * folds + fold, vectors.settings.rounds * folds)
        rounds.append(FilterRound(int(counts[0]), int(counts[1]), int(counts[2]), right / len(places)))
    return tuple(tuple(distractors) for distractors in current), rounds


def score_possible_distractors(vectors: SeedVectors, regression: DistractorRegression, place: int) -> Floats:
    """f of every seed's reply, given the request and the statements of the seed at that place."""
    requests, situations, replies = np.split(regression.weights, 3)
    constant = vectors.requests[place] @ requests + vectors.situations[place] @ situations + regression.intercept
    return logistic_curve(vectors.replies @ replies + constant)


def _train_regression(
    vectors: SeedVectors, chosen: Sequence[tuple[int, ...]], places: Sequence[int]
) -> DistractorRegression:
    pairs = [(place, reply) for place in places for reply in (place, *chosen[place])]
    seeds, replies = np.array(pairs, np.int64).T
    rows = np.concatenate([vectors.requests[seeds], vectors.situations[seeds], vectors.replies[replies]], axis=1)
    return fit_distractor_regression(rows, seeds == replies, vectors.settings.penalty)


def _replace_easy(
    vectors: SeedVectors, distractors: list[int], place: int, scores: Floats, random: np.random.Generator
) -> tuple[int, int, int]:
    """Replace the easy distractors of a seed in place; return how many there are, were easy, and were replaced."""
    margin, reference = vectors.settings.margin, scores[place]
    easy = replaced = 0
    for number, reply in enumerate(list(distractors)):
        if scores[reply] + margin > reference:
            continue
        easy += 1
        others = distractors[:number] + distractors[number + 1 :]
        pool = vectors.pool(place) & (scores - margin > reference)
        for other in others:
            pool &= ~vectors.near(other)
        if pool.any():  # never the easy one itself: its score is too low
            distractors[number] = int(random.choice(np.flatnonzero(pool)))
            replaced += 1
    return len(distractors), easy, replaced
