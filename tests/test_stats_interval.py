"""Intervals of a mean: by hand, against another implementation, and by coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rejoinder.errors import InputError
from rejoinder.stats.interval import (
    Interval,
    equal_shares_interval,
    mean_interval,
    share_interval,
    skewed_mean_interval,
)
from rejoinder.stats.resampling import percentile_interval
from rejoinder.stats.student import t_quantile


def test_without_clusters_it_is_the_t_interval() -> None:
    x = np.random.default_rng(1).normal(size=30)
    low, high = stats.t.interval(0.9, 29, x.mean(), stats.sem(x))
    found = mean_interval(x, level=0.9)
    assert found[:3] == pytest.approx((x.mean(), low, high), abs=1e-12)
    assert found[3:] == (30, 0, 30, None)


def test_the_table_of_quantiles_is_that_of_scipy() -> None:
    table = [t_quantile(degrees, 0.975) for degrees in range(1, 1003)]  # the last two are computed
    np.testing.assert_allclose(table, stats.t.ppf(0.975, range(1, 1003)), rtol=1e-12)
    assert t_quantile(7, 0.95) == pytest.approx(stats.t.ppf(0.95, 7), rel=1e-12)


def test_clusters_by_hand() -> None:
    # mean 2.5; cluster sums of deviations -2 and 2; se^2 = 2/1 * (4 + 4) / 16 = 1; t(.975, 1) = 12.706204736
    found = mean_interval([1, 2, 3, 4], ["a", "a", "b", "b"])
    assert found[:3] == pytest.approx((2.5, 2.5 - 12.7062047361747, 2.5 + 12.7062047361747), rel=1e-10)
    assert found.n_clusters == 2


def test_clusters_agree_with_statsmodels() -> None:
    from statsmodels.regression.linear_model import OLS

    random = np.random.default_rng(2)
    groups = random.integers(0, 12, 100)
    x = random.normal(size=100) + random.normal(size=12)[groups]
    fit = OLS(x, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    found = mean_interval(x, groups)
    half = stats.t.ppf(0.975, 11) * fit.bse[0] * math.sqrt(12 / 11)
    assert (found.high - found.low) / 2 == pytest.approx(half, abs=1e-10)


def test_missing_values_are_left_out_and_counted_with_their_clusters() -> None:
    found = mean_interval([1, None, 3, math.nan, 5], ["a", "b", "c", "b", "a"])
    assert found == mean_interval([1, 3, 5], ["a", "c", "a"])._replace(n_missing=2)


@pytest.mark.parametrize(
    ("values", "clusters", "expected"),
    [
        ([], None, Interval(math.nan, math.nan, math.nan, 0, 0, 0, "no values")),
        ([math.nan, None], None, Interval(math.nan, math.nan, math.nan, 0, 2, 0, "no values")),
        ([3], None, Interval(3, math.nan, math.nan, 1, 0, 1, "fewer than 2 clusters")),
        ([3, 5], ["a", "a"], Interval(4, math.nan, math.nan, 2, 0, 1, "fewer than 2 clusters")),
        ([0.1] * 7, None, Interval(0.1, 0.1, 0.1, 7, 0, 7, None)),
        ([1, math.inf], None, Interval(math.nan, math.nan, math.nan, 2, 0, 2, "infinite values")),
    ],
)
def test_degenerate_values(values, clusters, expected) -> None:
    found = mean_interval(values, clusters)
    assert repr(found) == repr(expected) or found == pytest.approx(expected, nan_ok=True)
    assert found.reason == expected.reason


def test_a_row_without_a_cluster_is_an_error() -> None:
    with pytest.raises(InputError, match="row 2 of clusters has no label"):
        mean_interval([1, 2], ["a", None])
    with pytest.raises(InputError, match="values 2, clusters 1"):
        mean_interval([1, 2], ["a"])


def test_a_level_in_percent_is_an_error() -> None:
    with pytest.raises(InputError, match="level must lie between 0 and 1, not 95"):
        mean_interval([1, 2, 3], level=95)


@pytest.mark.parametrize("n_clusters", [10, 40, 150])
def test_an_interval_of_95_percent_covers_the_mean(n_clusters) -> None:
    random = np.random.default_rng(n_clusters)
    clusters = np.repeat(np.arange(n_clusters), 4)
    rounds, covered = 3000, 0
    for _ in range(rounds):
        x = random.normal(size=n_clusters)[clusters] + random.normal(size=len(clusters))
        found = mean_interval(x, clusters)
        covered += found.low <= 0 <= found.high
    assert 0.93 <= covered / rounds <= 0.97


def test_a_share_has_wilsons_interval() -> None:
    # Wilson 1927 with t(29) = 2.04523 for z: 30 of 30 right gives 30 / (30 + t^2) = 0.87764 as the low end.
    always = share_interval(np.ones(30))
    assert always[:3] == pytest.approx((1.0, 0.877635, 1.0), abs=1e-5)
    assert share_interval(np.zeros(30))[:3] == pytest.approx((0.0, 0.0, 1 - 0.877635), abs=1e-5)
    # Three rows per dialogue add nothing where nothing varies: ten dialogues are worth ten rows.
    clustered = share_interval(np.ones(30), np.repeat(np.arange(10), 3))
    assert clustered.low == pytest.approx(share_interval(np.ones(10)).low)
    half = share_interval([0.0, 1.0] * 50)
    theirs = proportion_confint(50, 100, method="wilson")
    assert (half.low, half.high) == pytest.approx(theirs, abs=0.002)  # t(99) is a little wider than z


def test_shares_that_are_all_the_same_are_not_certain() -> None:
    assert equal_shares_interval(1.0, 30, 30)[:3] == pytest.approx((1.0, 0.877635, 1.0), abs=1e-5)
    assert equal_shares_interval(0.0, 30, 30)[:3] == pytest.approx((0.0, 0.0, 0.122365), abs=1e-5)
    assert equal_shares_interval(0.5, 60, 30)[:3] == pytest.approx((0.5, 0.438817, 0.561183), abs=1e-5)


@pytest.mark.parametrize("kind", ["percentile", "expanded", "corrected"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_an_estimate_never_lies_outside_its_interval(kind, level) -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        samples = np.round(random.normal(random.normal(), 1, size=60), 1)
        found = percentile_interval(0.0, samples, 20, 0, 20, level=level, kind=kind)
        assert found.reason or found.low <= found.value <= found.high


def test_a_skewed_interval_reaches_further_on_the_side_of_the_tail() -> None:
    values = -np.random.default_rng(0).exponential(size=40)
    plain, skewed = mean_interval(values), skewed_mean_interval(values)
    assert skewed.value == plain.value
    assert skewed.low < plain.low
    assert skewed.high == plain.high
    mirrored = skewed_mean_interval(-values)
    assert (mirrored.low, mirrored.high) == pytest.approx((-skewed.high, -skewed.low))


def test_a_skewed_interval_without_skewness_is_the_t_interval() -> None:
    values = [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert skewed_mean_interval(values)[:3] == pytest.approx(mean_interval(values)[:3])
    for few in ([], [1.0], [1.0, 2.0], [3.0, 3.0, 3.0]):
        assert str(skewed_mean_interval(few)) == str(mean_interval(few))


def test_a_skewed_interval_counts_clusters() -> None:
    values, clusters = [0.0, -1.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0], [0, 0, 1, 1, 2, 2, 3, 3]
    halves = [-0.5, 0.0, -1.5, 0.0]
    assert skewed_mean_interval(values, clusters)[:3] == pytest.approx(skewed_mean_interval(halves)[:3])


def test_a_skewed_interval_covers_skewed_values_from_below() -> None:
    random, n, missed, plain = np.random.default_rng(5), 30, 0, 0
    for _ in range(1500):
        values = -random.exponential(size=n)
        missed += skewed_mean_interval(values).low > -1
        plain += mean_interval(values).low > -1
    assert missed / 1500 < 0.045 < plain / 1500
