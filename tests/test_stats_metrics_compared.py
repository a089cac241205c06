"""Levels of correlation and tests between two metrics, against nlpstats 0.0.1 and by simulation.

The golden numbers were made with nlpstats 0.0.1 (Deutsch et al. 2021) on the arrays of ``judged``; its levels input and
global are within_item and pooled here. Its permutation p-values and bootstrap ends are random: 1,500 to 4,000 draws.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.grouped import correlate_at_levels, correlate_between, correlate_within
from rejoinder.stats.permutation import permutation_test
from rejoinder.stats.williams import williams_from_correlations, williams_test

CORRELATIONS = {
    "system": {
        "pearson": (0.997192832140873, 0.9766761003623597),
        "spearman": (1.0, 0.9761904761904763),
        "kendall": (0.9999999999999998, 0.9285714285714285),
    },
    "within_item": {
        "pearson": (0.9160107724020027, 0.8645382724696049),
        "spearman": (0.875951443555024, 0.8163359229812732),
        "kendall": (0.7604718611140332, 0.6858402994247988),
    },
    "pooled": {
        "pearson": (0.9050226224195954, 0.876545020922936),
        "spearman": (0.8950762002755179, 0.8814890380775336),
        "kendall": (0.7394760630031213, 0.7044001358277729),
    },
}
# p of the permutation test on Spearman's rho; ends of the percentile interval of the first metric
RESAMPLED = {
    ("system", "items"): (0.77775, 0.9048, 1.0000),
    ("system", "systems"): (0.49525, 1.0000, 1.0000),
    ("system", "both"): (0.78025, 0.7297, 1.0000),
    ("within_item", "items"): (0.18133, 0.8338, 0.9150),
    ("within_item", "systems"): (0.072, 0.7593, 0.9057),
    ("within_item", "both"): (0.032, 0.7212, 0.9251),
    ("pooled", "items"): (0.296, 0.8729, 0.9142),
    ("pooled", "systems"): (0.42175, 0.8652, 0.9027),
    ("pooled", "both"): (0.33075, 0.8284, 0.9233),
}


def judged():
    """Two metrics and ratings of 8 systems on 25 items, made by counting, so that they are the same everywhere."""
    s, i = (part.ravel() for part in np.meshgrid(np.arange(8), np.arange(25), indexing="ij"))
    ratings = ((s * 31 + i * 17 + s * i * 7) % 23) / 4 + s / 2
    first = ratings + ((s * 53 + i * 29 + s * i * 11) % 37) / 12
    second = ratings + ((s * 41 + i * 13 + s * i * 5) % 43) / 11
    return first, second, ratings, s, i


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_correlations_at_every_level_equal_nlpstats(method) -> None:
    first, second, ratings, systems, items = judged()
    for scores, which in ((first, 0), (second, 1)):
        found = correlate_at_levels(scores, ratings, systems, items, method)
        for level, golden in CORRELATIONS.items():
            assert getattr(found, level).value == pytest.approx(golden[method][which], abs=1e-10)


def test_the_mean_inside_systems_is_that_of_scipy() -> None:
    first, _, ratings, systems, _ = judged()
    found = correlate_within(first, ratings, systems)
    each = [stats.spearmanr(first[systems == s], ratings[systems == s]).statistic for s in range(8)]
    assert found.values == pytest.approx(each, abs=1e-12)
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)
    assert (found.n_groups, found.n_left_out, found.groups) == (8, 0, tuple(range(8)))
    assert found.sizes.tolist() == [25] * 8


def test_groups_without_a_correlation_are_left_out_and_counted() -> None:
    found = correlate_within([1, 2, 3, 1, 2, 3, 5, None], [1, 3, 2, 4, 4, 4, 1, 1], ["a"] * 3 + ["b"] * 3 + ["c", "d"])
    assert found.value == pytest.approx(0.5)
    assert (found.n_groups, found.n_left_out, found.n, found.n_missing) == (1, 3, 7, 1)
    assert found.values.tolist() == pytest.approx([0.5, math.nan, math.nan, math.nan], nan_ok=True)


def test_systems_are_compared_over_rows_that_have_both() -> None:
    scores, ratings = [1, 9, 2, 3, 4], [1, None, 2, 3, None]
    found = correlate_between(scores, ratings, ["a", "a", "b", "c", "d"])
    assert (found.value, found.n, found.n_missing) == (1.0, 3, 2)


@pytest.mark.parametrize(("level", "unit"), RESAMPLED)
def test_permutation_and_bootstrap_agree_with_nlpstats(level, unit) -> None:
    first, second, ratings, systems, items = judged()
    p, low, high = RESAMPLED[level, unit]
    named = {"systems": systems, "items": items}
    found = permutation_test(first, second, ratings, **named, at=level, swap=unit, n_permutations=3000)
    golden = CORRELATIONS[level]["spearman"]
    assert found.statistic == pytest.approx(golden[0] - golden[1], abs=1e-10)
    assert found.p == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) * (1 / 3000 + 1 / 1500)))
    plan = BootstrapPlan(at=level, resample=unit, kind="percentile", n_resamples=2000)
    interval = correlation_intervals({"first": first}, ratings, plan, **named)["first"]
    if not interval.reason:
        assert interval[1:3] == pytest.approx((low, high), abs=0.02)


def test_the_permutation_test_equals_trying_every_swap() -> None:
    random = np.random.default_rng(1)
    x, y, z = random.normal(size=(3, 8))
    x, y = (stats.zscore(v) for v in (x + z, y + z / 2))
    differences = []
    for swapped in itertools.product([False, True], repeat=8):
        a, b = np.where(swapped, y, x), np.where(swapped, x, y)
        differences.append(stats.spearmanr(a, z).statistic - stats.spearmanr(b, z).statistic)
    exact = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    found = permutation_test(x, y, z, n_permutations=20000)
    assert found.statistic == pytest.approx(differences[0], abs=1e-10)
    assert found.p == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize(("level", "swap"), [("pooled", "items"), ("pooled", "both")])
def test_equally_good_metrics_raise_a_false_alarm_in_one_of_twenty(level, swap) -> None:
    random = np.random.default_rng(7)
    n_systems, n_items, rounds = 6, 10, 2000
    systems, items = np.repeat(np.arange(n_systems), n_items), np.tile(np.arange(n_items), n_systems)
    alarms = 0
    for turn in range(rounds):
        ratings = random.normal(size=n_systems)[systems] + random.normal(size=len(systems))
        first, second = ratings + random.normal(size=(2, len(systems)))
        found = permutation_test(
            first, second, ratings, systems=systems, items=items, at=level, swap=swap, n_permutations=99, seed=turn
        )
        alarms += found.p <= 0.05
    assert 0.04 <= alarms / rounds <= 0.06


def test_dialogues_that_matter_raise_no_more_false_alarms_when_swapped_whole() -> None:
    random = np.random.default_rng(3)
    dialogues = np.repeat(np.arange(30), 4)
    alarms = {"items": 0, "dialogues": 0}
    for turn in range(400):
        noise = 2 * random.normal(size=(3, 30))[:, dialogues] + random.normal(size=(3, 120))
        ratings, first, second = noise[0], noise[0] + noise[1], noise[0] + noise[2]
        for swap in alarms:
            found = permutation_test(
                first, second, ratings, dialogues=dialogues, swap=swap, n_permutations=99, seed=turn
            )
            alarms[swap] += found.p <= 0.05
    assert alarms["items"] / 400 > 0.12
    assert 0.02 <= alarms["dialogues"] / 400 <= 0.08


def test_swapping_whole_dialogues_equals_trying_every_swap() -> None:
    random = np.random.default_rng(1)
    dialogues = np.repeat(np.arange(6), 3)
    x, y, z = random.normal(size=(3, 18))
    x, y = (stats.zscore(v) for v in (x + z, y + z / 2))
    differences = []
    for swapped in itertools.product([False, True], repeat=6):
        rows = np.array(swapped)[dialogues]
        a, b = np.where(rows, y, x), np.where(rows, x, y)
        differences.append(stats.spearmanr(a, z).statistic - stats.spearmanr(b, z).statistic)
    exact = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    found = permutation_test(x, y, z, dialogues=dialogues, swap="dialogues", n_permutations=20000)
    assert found.p == pytest.approx(exact, abs=0.015)


def test_williams_equals_nlpstats() -> None:
    first, second, ratings, _, _ = judged()
    assert williams_test(first, second, ratings).p == pytest.approx(0.07342546596377943, abs=1e-10)
    assert williams_test(first, second, ratings, "spearman").p == pytest.approx(0.40580122001016705, abs=1e-10)
    # over the means of the eight systems
    means = [[v[s * 25 : s * 25 + 25].mean() for s in range(8)] for v in (first, second, ratings)]
    assert williams_test(*means).p == pytest.approx(0.03689903246945748, abs=1e-10)


def test_williams_changes_sign_with_the_order_of_the_metrics() -> None:
    one, two = (williams_from_correlations(a, b, 0.6, 100) for a, b in ((0.5, 0.3), (0.3, 0.5)))
    assert one.statistic == -two.statistic > 0
    assert one.p == two.p
    assert williams_from_correlations(0.5, 0.5, 1.0, 100).reason == "the metrics agree perfectly"
