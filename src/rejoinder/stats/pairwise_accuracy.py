"""Pairwise accuracy with ties (Deutsch, Foster and Freitag 2023, "Ties Matter"): acc_eq and tie calibration.

Of two responses, ratings say which is better or that they are equal, and so do scores: equal when they differ by at
most epsilon. The accuracy is the share of pairs on which both say the same. Calibration takes the smallest epsilon,
among 0 and the differences that occur, with the highest accuracy; as epsilon is chosen on the data, so is the accuracy.

With groups (usually items) only pairs inside a group count, and the accuracy is the mean over the groups that have a
pair; without, it is over all pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, as_finite, check_same_length, encode_labels

MOST_PAIRS = 20_000_000


class PairwiseAccuracy(NamedTuple):
    """The share of pairs that scores and ratings order the same way, and the largest difference of equal scores."""

    value: float
    epsilon: float
    n_pairs: int
    n_groups: int
    n_missing: int
    reason: str | None = None


def pairwise_accuracy(
    scores: Numbers, ratings: Numbers, groups: Labels | None = None, epsilon: float = 0.0
) -> PairwiseAccuracy:
    """The accuracy (acc_eq) at an epsilon."""
    if not epsilon >= 0:
        raise InputError(f"epsilon must be 0 or more, not {epsilon}")
    distances, weights, empty = _weigh_pairs(scores, ratings, groups)
    if empty.reason:
        return empty
    agree, tied = weights
    near = distances <= epsilon
    return empty._replace(value=float(agree[~near].sum() + tied[near].sum()), epsilon=float(epsilon))


def calibrated_accuracy(scores: Numbers, ratings: Numbers, groups: Labels | None = None) -> PairwiseAccuracy:
    """The accuracy (acc_eq) at the smallest epsilon that maximises it."""
    distances, weights, empty = _weigh_pairs(scores, ratings, groups)
    if empty.reason:
        return empty
    order = np.argsort(distances, kind="stable")
    distances, (agree, tied) = distances[order], weights[:, order]
    # Raising epsilon past a pair makes its scores equal: right where the ratings are, wrong where they agreed.
    accuracies = agree.sum() + np.concatenate([[0.0], np.cumsum(tied - agree)])
    epsilons = np.concatenate([[0.0], distances])
    last = np.append(epsilons[1:] != epsilons[:-1], True)  # all pairs at one distance become equal together
    accuracies, epsilons = accuracies[last], epsilons[last]
    best = int(np.flatnonzero(accuracies >= accuracies.max() - 1e-12)[0])
    return pairwise_accuracy(scores, ratings, groups, float(epsilons[best]))


def _weigh_pairs(scores: Numbers, ratings: Numbers, groups: Labels | None) -> tuple[Floats, Floats, PairwiseAccuracy]:
    """Each pair's distance in scores, its weights if ordered the same way and if its ratings tie, and the counts."""
    x, y = as_finite(scores, "scores"), as_finite(ratings, "ratings")
    check_same_length(scores=x, ratings=y)
    codes = np.zeros(len(x), dtype=np.int64)
    if groups is not None:
        check_same_length(scores=x, groups=groups)
        codes, _ = encode_labels(groups, "groups")
    rows = np.flatnonzero(~np.isnan(x + y))
    first, second, group = pairs_within(codes[rows])
    n_groups = len(np.unique(group))
    empty = PairwiseAccuracy(NAN, NAN, len(first), n_groups, len(x) - len(rows))
    if not len(first):
        return np.empty(0), np.empty((2, 0)), empty._replace(reason="no two rows to compare")
    x, y = x[rows], y[rows]
    weight = 1 / (n_groups * np.bincount(group)[group])
    score, rating = x[first] / 2 - x[second] / 2, np.sign(y[first] / 2 - y[second] / 2)
    if not rating.any():
        return np.empty(0), np.empty((2, 0)), empty._replace(reason="all ratings that are compared are the same")
    agree = np.where((rating != 0) & (np.sign(score) == rating), weight, 0.0)
    tied = np.where(rating == 0, weight, 0.0)
    return 2 * np.abs(score), np.stack([agree, tied]), empty


def pairs_within(codes: Ints) -> tuple[Ints, Ints, Ints]:
    """All pairs of rows inside each group: first row, second row, group."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if n_pairs > MOST_PAIRS:
        raise InputError(f"there are {n_pairs:,} pairs, more than {MOST_PAIRS:,}; pass groups, such as the items")
    starts = np.cumsum(sizes) - sizes
    parts = [[np.empty(0, dtype=np.int64)] * 3]
    for size in np.unique(sizes[sizes > 1]):
        group_codes = np.flatnonzero(sizes == size)
        left, right = np.triu_indices(int(size), 1)
        group_starts = starts[group_codes][:, None]
        parts.append(
            [order[group_starts + left].ravel(), order[group_starts + right].ravel(), np.repeat(group_codes, len(left))]
        )
    first, second, group = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return first, second, group
