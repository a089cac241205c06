"""On raters with a known truth, minimax entropy is at least as accurate as Dawid and Skene's model."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.stats.aggregation import aggregate
from tests.simulated_raters import ORDERED, UNORDERED, simulate

SEEDS = range(6)  # the strength of the penalties was chosen on seeds 100 to 105


def accuracy(method: str, scene: str) -> float:
    """The share of units that get their true class, over all seeds."""
    right = []
    for seed in SEEDS:
        matrix, truth = simulate(scene, seed)
        right.append(np.mean(aggregate(matrix, method).values == truth))
    return float(np.mean(right))


@pytest.mark.parametrize("scene", ORDERED)
def test_on_ordered_classes_minimax_entropy_is_at_least_as_accurate_as_dawid_skene(scene: str) -> None:
    assert accuracy("minimax_entropy_ordinal", scene) >= accuracy("dawid_skene", scene)


@pytest.mark.parametrize("scene", UNORDERED)
def test_on_unordered_classes_minimax_entropy_is_at_least_as_accurate_as_dawid_skene(scene: str) -> None:
    assert accuracy("minimax_entropy", scene) >= accuracy("dawid_skene", scene)
