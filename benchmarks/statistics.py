"""How fast the statistics are, each beside a plain loop over scipy. Run: python -m benchmarks.statistics"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.correlation import kendall
from rejoinder.stats.paired_difference import difference_interval
from rejoinder.stats.permutation import permutation_test

ROWS = 10_000
METRICS = 5
RESAMPLES = 1_000
TURNS = 5
LOOPS = 10  # rounds of the plain loop in a turn; its time for all resamples is that of a round times their number


def measure() -> list[dict[str, Any]]:
    return [_bootstrap(tied=True), _bootstrap(tied=False), _permutation(), _difference(), _kendall()]


def _bootstrap(tied: bool) -> dict[str, Any]:
    from scipy.stats import spearmanr

    random = np.random.default_rng(0)
    ratings = random.integers(1, 6, ROWS).astype(np.float64) if tied else random.normal(size=ROWS)
    scores = {f"metric {k}": ratings + (k + 1) * random.normal(size=ROWS) for k in range(METRICS)}

    def plain() -> None:
        rows = random.integers(0, ROWS, ROWS)
        for x in scores.values():
            spearmanr(x[rows], ratings[rows])

    ours, theirs = _race(
        lambda: correlation_intervals(scores, ratings, BootstrapPlan(n_resamples=RESAMPLES)),
        plain,
    )
    kind = "ratings of five grades" if tied else "ratings without ties"
    name = f"bootstrap of {METRICS} Spearman correlations, {ROWS:,} rows, {RESAMPLES:,} resamples, {kind}"
    return _entry(name, ours, "a loop over scipy.stats.spearmanr", theirs * RESAMPLES, 18.0)


def _permutation() -> dict[str, Any]:
    from scipy.stats import spearmanr

    random = np.random.default_rng(1)
    z = random.normal(size=2_000)
    x, y = z + random.normal(size=(2, len(z)))

    def plain() -> None:
        swapped = random.random(len(z)) < 0.5
        spearmanr(np.where(swapped, y, x), z)
        spearmanr(np.where(swapped, x, y), z)

    ours, theirs = _race(lambda: permutation_test(x, y, z, n_permutations=RESAMPLES), plain)
    name = f"permutation test of two Spearman correlations, 2,000 rows, {RESAMPLES:,} swaps"
    return _entry(name, ours, "a loop over scipy.stats.spearmanr", theirs * RESAMPLES, 8.0)


def _difference() -> dict[str, Any]:
    random = np.random.default_rng(2)
    x, y = random.normal(size=(2, ROWS))
    dialogues = np.arange(ROWS) // 5

    def plain() -> None:
        drawn = random.integers(0, ROWS // 5, ROWS // 5)
        rows = (drawn[:, None] * 5 + np.arange(5)).ravel()
        (x[rows] - y[rows]).mean()

    ours, theirs = _race(lambda: difference_interval(x, y, dialogues, n_resamples=RESAMPLES), plain)
    name = f"clustered bootstrap of a mean difference, {ROWS:,} pairs, {RESAMPLES:,} resamples"
    return _entry(name, ours, "a loop over numpy", theirs * RESAMPLES, 3.0)


def _kendall() -> dict[str, Any]:
    from scipy.stats import kendalltau

    random = np.random.default_rng(3)
    x, y = random.normal(size=(2, ROWS))
    name = f"Kendall's tau of {ROWS:,} rows"
    ours, theirs = _race(lambda: [kendall(x, y) for _ in range(LOOPS)], lambda: kendalltau(x, y))
    ours /= LOOPS
    return _entry(name, ours, "scipy.stats.kendalltau", theirs, 1.0)


def _race(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """CPU time of one round of each, by turns, so that a busy machine slows both; theirs is short, so it has more."""
    spent = [0.0, 0.0]
    for _ in range(TURNS):
        for place, (run, rounds) in enumerate(((ours, 1), (theirs, LOOPS))):
            start = time.process_time()
            for _ in range(rounds):
                run()
            spent[place] += time.process_time() - start
    return spent[0] / TURNS, spent[1] / TURNS / LOOPS


def _entry(name: str, ours: float, against: str, theirs: float, floor: float | None = None) -> dict[str, Any]:
    against = f"{against}: {theirs:.3g} s"
    ratio = round(theirs / ours, 1)
    return {"name": name, "value": round(ours, 4), "unit": "s", "against": against, "ratio": ratio, "floor": floor}


if __name__ == "__main__":
    for entry in measure():
        print(f"{entry['name']}: {entry['value']} s ({entry['against']}; {entry['ratio']} times as fast)")
