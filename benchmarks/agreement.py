"""Aggregation on simulated raters; how often intervals of agreement hold the truth. Run: python -m benchmarks.agreement

The raters are those of the tests, on more draws. Intervals should cover 0.93 to 0.97 (1,000 rounds).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rejoinder.stats.aggregation import Aggregated, Votes, aggregate, minimax_entropy, minimax_entropy_ordinal
from rejoinder.stats.agreement import fleiss_kappa, krippendorff_alpha
from rejoinder.stats.agreement_interval import alpha_interval, cohen_intervals, fleiss_interval
from rejoinder.stats.arrays import Floats
from rejoinder.stats.interval import Interval
from tests.simulated_raters import SCENES, simulate

METHODS: dict[str, Callable[[Floats], Aggregated]] = {
    "mode": lambda m: aggregate(m, "mode"),
    "dawid_skene": lambda m: aggregate(m, "dawid_skene"),
    "minimax_entropy": lambda m: aggregate(m, "minimax_entropy"),
    "minimax_entropy_ordinal": lambda m: aggregate(m, "minimax_entropy_ordinal"),
    "minimax_entropy as published": lambda m: minimax_entropy.aggregate(Votes.of(m), as_published=True),
    "minimax_entropy_ordinal as published": lambda m: minimax_entropy_ordinal.aggregate(Votes.of(m), as_published=True),
}


def accuracies(draws: int = 20) -> list[dict[str, Any]]:
    """The share of units that get their true class, by scene and method."""
    found = []
    for scene in SCENES:
        for method, aggregated in METHODS.items():
            right = [np.mean(aggregated(matrix).values == truth) for matrix, truth in map(_scene(scene), range(draws))]
            found.append({"name": f"{scene}, {method}", "value": round(float(np.mean(right)), 4), "unit": "share"})
    return found


def _scene(scene: str) -> Callable[[int], Any]:
    return lambda seed: simulate(scene, seed)


def coverage(rounds: int = 1000) -> list[dict[str, Any]]:
    """How often the interval of each coefficient holds its value in 400,000 units of the same kind."""
    whole = _ratings(np.random.default_rng(1), 400_000)
    trials: dict[str, tuple[Callable[[Floats], Interval], float]] = {
        "alpha": (lambda m: alpha_interval(m, n_resamples=400), krippendorff_alpha(whole).value),
        "Fleiss": (lambda m: fleiss_interval(m, n_resamples=400), fleiss_kappa(whole).value),
        "Cohen": (_cohen, cohen_intervals(whole, "quadratic", n_resamples=1).mean.value),
    }
    found = []
    for units in (20, 60, 200):
        drawn = [_ratings(np.random.default_rng([units, i]), units) for i in range(rounds)]
        for name, (interval, truth) in trials.items():
            held = [low <= truth <= high for _, low, high, *_ in map(interval, drawn)]
            found.append({"name": f"{name}, {units} units", "value": round(float(np.mean(held)), 3), "unit": "share"})
    return found


def _cohen(matrix: Floats) -> Interval:
    return cohen_intervals(matrix, "quadratic", least_shared=5, n_resamples=400).mean


def _ratings(random: np.random.Generator, units: int) -> Floats:
    """Three raters on a scale of five, a fifth of the ratings missing."""
    noisy = 3 + random.normal(size=(units, 1)) + 0.9 * random.normal(size=(units, 3))
    return np.where(random.random(noisy.shape) < 0.2, np.nan, np.clip(np.rint(noisy), 1, 5))


if __name__ == "__main__":
    for row in [*accuracies(), *coverage()]:
        print(f"{row['name']:60} {row['value']}")
