"""Algorithm 1 of SUGAR (Otani et al. 2023, Appendix B.1): distractors that are hardly right, by cheap filters.

The prose and the pseudo-code of the paper differ on what is compared by embeddings (two replies; a request and a
reply), and on what must not overlap (two replies; two requests). Here, two replies by embeddings, and two requests and
two goals by words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.situation.seed_vectors import SeedVectors
from rejoinder.stats.arrays import Bools, Floats

Distractors = tuple[tuple[int, ...], ...]  # for each seed, the places of the seeds whose replies are its distractors


def draw_distractors(matter: SeedVectors) -> Distractors:
    """Up to m - 1 distractors of each seed, drawn one by one; what says nearly the same as one goes out of the pool.

    A seed whose pool runs dry has fewer, or none.
    """
    random = np.random.default_rng([matter.settings.seed, 1])
    return tuple(_draw_for_seed(matter, place, random) for place in range(len(matter.seeds)))


def _draw_for_seed(matter: SeedVectors, place: int, random: np.random.Generator) -> tuple[int, ...]:
    pool = matter.pool(place)
    picked: list[int] = []
    while len(picked) < matter.settings.candidates - 1 and pool.any():
        drawn = int(random.choice(np.flatnonzero(pool)))
        picked.append(drawn)
        pool &= ~matter.near(drawn)
    return tuple(picked)


class Regression(NamedTuple):
    """Weights and intercept."""

    weights: Floats
    intercept: float


def fit_regression(rows: Floats, labels: Bools, penalty: float = 1.0) -> Regression:
    """The minimum of the summed log loss and the penalty on half the squared weights; the intercept is free.

    The same as scikit-learn's with C = 1 / penalty.
    """
    from scipy.optimize import minimize

    signs = np.where(labels, 1.0, -1.0)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, intercept = point[:-1], point[-1]
        margins = signs * (rows @ weights + intercept)
        pull = -signs * np.exp(-np.logaddexp(0.0, margins))
        total = float(np.logaddexp(0.0, -margins).sum() + penalty / 2 * (weights @ weights))
        return total, np.append(rows.T @ pull + penalty * weights, pull.sum())

    found = minimize(
        loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 500}
    )
    return Regression(found.x[:-1], float(found.x[-1]))


def logistic(scores: Floats) -> Floats:
    """The logistic curve."""
    found: Floats = np.exp(-np.logaddexp(0.0, -scores))
    return found


Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class FilterRound:
    """What one round came to: the distractors that it looked at, those that were easy, and those that gave way.

    ``right`` is the share of questions whose reference has the highest f, before the round's replacements.
    """

    distractors: int
    easy: int
    replaced: int
    right: float


def filter_adversarially(
    matter: SeedVectors, chosen: Distractors, progress: Progress | None = None
) -> tuple[Distractors, list[FilterRound]]:
    """The distractors after J rounds, and what each round came to; a seed without distractors takes no part."""
    current = [list(picked) for picked in chosen]
    places = np.array([place for place, picked in enumerate(current) if picked], np.int64)
    folds = min(matter.settings.folds, len(places))
    told: list[FilterRound] = []
    for number in range(matter.settings.rounds if folds > 1 else 0):
        random = np.random.default_rng([matter.settings.seed, 2, number])
        parts = np.array_split(random.permutation(places), folds)
        counts, right = np.zeros(3, np.int64), 0
        # The folds of a round are all taken from the set as it was before the round.
        before = [tuple(picked) for picked in current]
        for fold, part in enumerate(parts, start=1):
            rest = np.setdiff1d(places, part)
            trained = _trained(matter, before, rest.tolist())
            for place in np.sort(part).tolist():
                scores = scores_of(matter, trained, place)
                right += bool(scores[place] > max(scores[other] for other in before[place]))
                counts += _replace_easy(matter, current[place], place, scores, random)
            if progress is not None:
                progress(number * folds + fold, matter.settings.rounds * folds)
        told.append(FilterRound(int(counts[0]), int(counts[1]), int(counts[2]), right / len(places)))
    return tuple(tuple(picked) for picked in current), told


def scores_of(matter: SeedVectors, trained: Regression, place: int) -> Floats:
    """f of every seed's reply, after the request and the statements of the seed in that place."""
    requests, situations, replies = np.split(trained.weights, 3)
    around = matter.requests[place] @ requests + matter.situations[place] @ situations + trained.intercept
    return logistic(matter.replies @ replies + around)


def _trained(matter: SeedVectors, chosen: Sequence[tuple[int, ...]], places: Sequence[int]) -> Regression:
    shown = [(place, reply) for place in places for reply in (place, *chosen[place])]
    seeds, replies = np.array(shown, np.int64).T
    rows = np.concatenate([matter.requests[seeds], matter.situations[seeds], matter.replies[replies]], axis=1)
    return fit_regression(rows, seeds == replies, matter.settings.penalty)


def _replace_easy(
    matter: SeedVectors, picked: list[int], place: int, scores: Floats, random: np.random.Generator
) -> tuple[int, int, int]:
    """Replace the easy distractors of a seed in place; how many there were, were easy, and gave way."""
    margin, reference = matter.settings.margin, scores[place]
    easy = replaced = 0
    for number, reply in enumerate(list(picked)):
        if scores[reply] + margin > reference:
            continue
        easy += 1
        others = picked[:number] + picked[number + 1 :]
        pool = matter.pool(place) & (scores - margin > reference)
        for other in others:
            pool &= ~matter.near(other)
        if pool.any():  # never the easy one itself, whose score is below
            picked[number] = int(random.choice(np.flatnonzero(pool)))
            replaced += 1
    return len(picked), easy, replaced
