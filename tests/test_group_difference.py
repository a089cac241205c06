"""The mean of some rows minus that of the others: Welch's test without clusters, the right error rate with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from rejoinder.stats.group_difference import group_difference


def test_without_clusters_it_is_welchs_test() -> None:
    random = np.random.default_rng(1)
    x, first = random.normal(size=60), np.arange(60) < 17
    x[first] = x[first] * 3 + 1
    found = group_difference(x, first)
    welch = ttest_ind(x[first], x[~first], equal_var=False)
    assert found.p == pytest.approx(welch.pvalue, rel=1e-9)
    interval = welch.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert (found.n_first, found.n_second) == (17, 43)


def test_a_pair_in_each_cluster_by_hand() -> None:
    # Each cluster has one row in each group, and the second is always 1 lower: the difference has no error at all.
    x = np.array([1.0, 0.0, 5.0, 4.0, 9.0, 8.0])
    found = group_difference(x, np.array([True, False] * 3), np.array([0, 0, 1, 1, 2, 2]))
    assert found.value == pytest.approx(1.0)
    assert found.high - found.low < 1e-6


@pytest.mark.parametrize("nested", [True, False])
def test_clusters_do_not_raise_false_alarms(nested: bool) -> None:
    random = np.random.default_rng(2)
    clusters = np.repeat(np.arange(40), 5)
    first = clusters < 12 if nested else np.arange(200) % 5 < 2
    alarms = []
    for _ in range(1500):
        x = random.normal(size=40)[clusters] * 2 + random.normal(size=200)
        alarms.append(group_difference(x, first, clusters).p < 0.05)
    assert 0.035 <= np.mean(alarms) <= 0.065


def test_missing_values_and_empty_groups_have_a_reason() -> None:
    nan = math.nan
    found = group_difference([1.0, nan, 2.0, 4.0, 6.0], np.array([True, True, True, False, False]))
    assert (found.n_first, found.value) == (2, pytest.approx(-3.5))
    assert group_difference([nan, 1.0], np.array([True, False])).reason == "no values"
    assert group_difference([1.0, 1.0], np.array([True, True])).reason == "no other values"
    assert group_difference([1.0, 1.0, 2.0], np.array([True, False, False])).reason == "fewer than 2 clusters"
    constant = group_difference([1.0, 1.0, 2.0, 2.0], np.array([True, True, False, False]))
    assert constant.reason == "no variance"
    assert math.isnan(constant.p)
