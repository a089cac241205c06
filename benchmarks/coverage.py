"""How often intervals of 95% hold the truth, and tests at 5% raise a false alarm. Run: python -m benchmarks.coverage

The tests of the suite do the same with fewer rounds. Intervals should cover 0.93 to 0.97 (2,000 rounds), alarms should
lie between 0.04 and 0.06 (8,000 rounds).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.bounded_mean import bounded_mean_ends
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.levels import Level
from rejoinder.stats.paired_difference import difference_interval, sign_flip_test
from rejoinder.stats.permutation import Swap, permutation_test
from rejoinder.stats.resampling import ResamplingUnit

Random = np.random.Generator
R_WITHIN, R_BETWEEN = 0.5, 0.7


def measure(rounds: int = 2000) -> list[dict[str, Any]]:
    trials: dict[str, Callable[[Random, int], bool]] = {}
    for n in (10, 40, 150):
        trials[f"mean_interval, {n} clusters of 4"] = lambda r, s, n=n: _mean(r, n)  # type: ignore[misc]
        trials[f"difference_interval, {n} clusters of 4"] = lambda r, s, n=n: _difference(r, s, n)  # type: ignore[misc]
    for n in (20, 50, 100):
        trials[f"mean_interval, {n} skewed ratings"] = lambda r, s, n=n: _skewed(r, n)[0]  # type: ignore[misc]
        trials[f"bounded_mean_ends, {n} skewed ratings"] = lambda r, s, n=n: _skewed(r, n)[1]  # type: ignore[misc]
    methods: tuple[Method, ...] = ("pearson", "spearman", "kendall")
    for method in methods:
        for n in (20, 60, 200):
            for rho in (0.2, 0.8):
                trials[f"bootstrap of {method} {rho}, {n} rows"] = (
                    lambda r, s, m=method, n=n, rho=rho: _correlation(r, s, m, n, rho)  # type: ignore[misc]
                )
    for n in (10, 20, 40):
        trials[f"bootstrap of spearman between {n} systems, both drawn"] = (
            lambda r, s, n=n: _level(r, s, "system", "both", n, 40)  # type: ignore[misc]
        )
    for n in (20, 60, 200):
        trials[f"bootstrap of spearman within 6 systems, {n} items drawn"] = (
            lambda r, s, n=n: _level(r, s, "within_system", "items", 6, n)  # type: ignore[misc]
        )
    swaps: tuple[tuple[Level, Swap], ...] = (
        ("pooled", "items"), ("pooled", "both"), ("within_system", "items"), ("system", "both"),
    )  # fmt: skip
    for at, swap in swaps:
        trials[f"false alarms of permutation_test, {at}, {swap} swapped"] = (
            lambda r, s, at=at, swap=swap: _permutation(r, s, at, swap)  # type: ignore[misc]
        )
    trials["false alarms of sign_flip_test, 25 clusters of 4"] = _sign_flips
    return [
        {"name": name, "value": _share(trial, 4 * rounds if "alarms" in name else rounds), "unit": "share"}
        for name, trial in trials.items()
    ]


def _share(trial: Callable[[Random, int], bool], rounds: int) -> float:
    random = np.random.default_rng(0)
    return sum(trial(random, seed) for seed in range(rounds)) / rounds


def _clustered(random: Random, n: int) -> tuple[Any, Any]:
    clusters = np.repeat(np.arange(n), 4)
    return random.normal(size=n)[clusters] + random.normal(size=4 * n), clusters


def _mean(random: Random, n: int) -> bool:
    x, clusters = _clustered(random, n)
    found = mean_interval(x, clusters)
    return found.low <= 0 <= found.high


def _skewed(random: Random, n: int) -> tuple[bool, bool]:
    """Ratings of which 87% are 5, 10% are 4 and 3% are 1."""
    x, truth = random.choice([5.0, 4.0, 1.0], n, p=[0.87, 0.1, 0.03]), 0.87 * 5 + 0.1 * 4 + 0.03
    found, ends = mean_interval(x), bounded_mean_ends(x, (1.0, 5.0))
    return found.low <= truth <= found.high, ends.low <= truth <= ends.high


def _difference(random: Random, seed: int, n: int) -> bool:
    x, clusters = _clustered(random, n)
    found = difference_interval(x, np.zeros(len(x)), clusters, n_resamples=1000, seed=seed)
    return found.low <= 0 <= found.high


def _population(rho: float, method: Method) -> float:
    """The correlation of two normal variables whose product-moment correlation is rho."""
    if method == "pearson":
        return rho
    return 6 / math.pi * math.asin(rho / 2) if method == "spearman" else 2 / math.pi * math.asin(rho)


def _correlation(random: Random, seed: int, method: Method, n: int, rho: float) -> bool:
    x, noise = random.normal(size=(2, n))
    y = rho * x + math.sqrt(1 - rho**2) * noise
    found = correlation_intervals({"x": x}, y, BootstrapPlan(method=method, n_resamples=600, seed=seed))["x"]
    return found.low <= _population(rho, method) <= found.high


def _level(random: Random, seed: int, at: Level, unit: ResamplingUnit, n_systems: int, n_items: int) -> bool:
    systems, items = np.repeat(np.arange(n_systems), n_items), np.tile(np.arange(n_items), n_systems)
    sides = []
    for size, r in ((n_systems, R_BETWEEN), (n_systems * n_items, R_WITHIN)):
        x, noise = random.normal(size=(2, size))
        sides.append((x, r * x + math.sqrt(1 - r * r) * noise))
    x, y = (sides[0][k][systems] + sides[1][k] for k in range(2))
    of_means = (R_BETWEEN + R_WITHIN / n_items) / (1 + 1 / n_items)
    truth = _population(of_means if at == "system" else R_WITHIN, "spearman")
    plan = BootstrapPlan(at=at, resample=unit, n_resamples=600, seed=seed)
    found = correlation_intervals({"x": x}, y, plan, systems=systems, items=items)["x"]
    return found.low <= truth <= found.high


def _permutation(random: Random, seed: int, at: Level, swap: Swap) -> bool:
    systems, items = np.repeat(np.arange(8), 12), np.tile(np.arange(12), 8)
    ratings = random.normal(size=8)[systems] + random.normal(size=96)
    first, second = ratings + random.normal(size=(2, 96))
    found = permutation_test(
        first, second, ratings, systems=systems, items=items, at=at, swap=swap, n_permutations=199, seed=seed
    )
    return found.p <= 0.05


def _sign_flips(random: Random, seed: int) -> bool:
    x, clusters = _clustered(random, 25)
    return sign_flip_test(x, np.zeros(100), clusters, n_permutations=199, seed=seed).p <= 0.05


if __name__ == "__main__":
    for entry in measure():
        print(f"{entry['name']}: {entry['value']:.3f}", flush=True)
