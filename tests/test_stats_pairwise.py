"""Pairwise accuracy with ties: by hand and against a double loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.errors import InputError
from rejoinder.stats import pairwise_accuracy as pairwise
from rejoinder.stats.pairwise_accuracy import calibrated_accuracy, pairwise_accuracy


def plain(x, y, groups, epsilon):
    """The mean over groups of the share of pairs that are ordered alike."""
    shares = []
    for group in dict.fromkeys(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        right = []
        for place, i in enumerate(rows):
            for j in rows[place + 1 :]:
                by_score = 0 if abs(x[i] - x[j]) <= epsilon else np.sign(x[i] - x[j])
                right.append(by_score == np.sign(y[i] - y[j]))
        if right:
            shares.append(np.mean(right))
    return np.mean(shares)


def test_accuracy_by_hand() -> None:
    # Of the pairs (1,2) (1,3) (2,3) the ratings say less, less, equal; the scores say less, less, less.
    found = pairwise_accuracy([0.1, 0.5, 0.6], [1, 2, 2])
    assert found[:4] == (pytest.approx(2 / 3), 0.0, 3, 1)
    best = calibrated_accuracy([0.1, 0.5, 0.6], [1, 2, 2])
    assert best.value == pytest.approx(1.0)
    assert best.epsilon == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(6))
def test_calibration_finds_the_best_epsilon(seed) -> None:
    random = np.random.default_rng(seed)
    n = 40
    groups = random.integers(0, 8, n).tolist()
    y = random.integers(0, 3, n).astype(float)
    x = np.round(y + random.normal(size=n), 1)
    epsilons = sorted(
        {0.0, *(2 * abs(x[i] / 2 - x[j] / 2) for i in range(n) for j in range(n) if groups[i] == groups[j])}
    )
    accuracies = [plain(x, y, groups, e) for e in epsilons]
    found = calibrated_accuracy(x, y, groups)
    assert found.value == pytest.approx(max(accuracies), abs=1e-10)
    assert found.epsilon == epsilons[int(np.argmax(np.array(accuracies) >= max(accuracies) - 1e-12))]
    for epsilon in (0.0, 0.35, 1.05):
        assert pairwise_accuracy(x, y, groups, epsilon).value == pytest.approx(plain(x, y, groups, epsilon), abs=1e-10)


def test_without_ties_and_groups_it_is_kendall() -> None:
    from scipy.stats import kendalltau

    x, y = np.random.default_rng(7).normal(size=(2, 30))
    tau = kendalltau(x, y).statistic
    assert pairwise_accuracy(x, y).value == pytest.approx((tau + 1) / 2)


def test_missing_rows_are_counted_and_groups_without_a_pair_are_not() -> None:
    found = pairwise_accuracy([1, 2, 3, math.nan], [1, 2, 3, 4], ["a", "a", "b", "b"])
    assert (found.value, found.n_pairs, found.n_groups, found.n_missing) == (1.0, 1, 1, 1)


def test_too_many_pairs_ask_for_groups(monkeypatch) -> None:
    monkeypatch.setattr(pairwise, "MOST_PAIRS", 10)
    with pytest.raises(InputError, match="there are 15 pairs, more than 10; pass groups"):
        pairwise_accuracy([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
    with pytest.raises(InputError, match="epsilon must be 0 or more"):
        pairwise_accuracy([1, 2], [1, 2], epsilon=-1)


def test_where_all_ratings_tie_there_is_no_accuracy() -> None:
    for ratings, groups in (([3, 3, 3, 3], None), ([1, 1, 2, 2], ["a", "a", "b", "b"])):
        for found in (
            pairwise_accuracy([1, 2, 3, 4], ratings, groups),
            calibrated_accuracy([1, 2, 3, 4], ratings, groups),
        ):
            assert math.isnan(found.value)
            assert found.reason == "all ratings that are compared are the same"
    # One pair that differs is enough; tied pairs count beside it.
    assert pairwise_accuracy([1, 1, 2], [1, 1, 2]).value == 1.0
