"""Statistics at their edges: too little data, nothing that varies, limits that are met exactly; by hand."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rejoinder.errors import InputError
from rejoinder.stats.aggregation import aggregate
from rejoinder.stats.arrays import encode_labels
from rejoinder.stats.bradley_terry import rank_systems
from rejoinder.stats.ceiling import reachable_by_labels, reachable_by_means
from rejoinder.stats.holm import holm
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.moments import compute_moments
from rejoinder.stats.ndcg import ndcg
from rejoinder.stats.order_uncertainty import strength_uncertainty
from rejoinder.stats.power import detectable_difference, estimate_spread, power_at, rows_needed
from rejoinder.stats.rater_quality import (
    find_disagreeing,
    find_failed_checks,
    find_straight_liners,
    find_too_fast,
    most_frequent_answer,
)
from rejoinder.stats.rating_matrix import compact_ratings
from rejoinder.stats.rating_noise import RatingNoise, estimate_noise, plan_ratings
from rejoinder.stats.resampling import percentile_interval
from rejoinder.stats.williams import williams_from_correlations, williams_test

NAN = math.nan


def test_labels_that_cannot_be_looked_up_are_refused() -> None:
    with pytest.raises(InputError, match="systems must be strings or numbers, one per row; found "):
        encode_labels([["a"], ["b"]], "systems")
    with pytest.raises(InputError, match="row 2 of systems has no label"):
        encode_labels(["a", None], "systems")


def test_strengths_from_one_cluster_have_no_interval() -> None:
    found = rank_systems(["a", "b", "a"], ["b", "a", "b"], [1, 1, 0], clusters=["x", "x", "x"])
    assert found.reason == "no interval: fewer than 2 clusters"
    assert [one.system for one in found.strengths] == ["b", "a"]
    # b won 2 of 3: the odds are 2 to 1, and strengths add up to 0
    assert found.strengths[0].value == pytest.approx(math.log(2) / 2)
    assert all(math.isnan(one.low) and math.isnan(one.high) for one in found.strengths)
    assert [(one.points, one.n) for one in found.strengths] == [(2.0, 3), (1.0, 3)]


def test_shrinkage_of_zero_is_allowed_and_less_is_not() -> None:
    judgements = ["a", "b"], ["b", "a"], [1, 1]
    assert rank_systems(*judgements, shrinkage=0.0).reason is None
    for wrong in (-0.1, NAN):
        with pytest.raises(InputError, match="shrinkage must be 0 or more"):
            rank_systems(*judgements, shrinkage=wrong)


def test_strengths_far_apart_are_found() -> None:
    # 999 to 1 and 1 to 999 in a chain: log 999 between neighbours
    first, second, points = [], [], []
    for one, other in (("a", "b"), ("b", "c")):
        for won in [1] * 999 + [0]:
            first.append(one)
            second.append(other)
            points.append(won)
    found = rank_systems(first, second, points)
    assert [one.value for one in found.strengths] == pytest.approx([math.log(999), 0, -math.log(999)], abs=1e-9)


def test_two_strengths_differ_surely_where_their_intervals_are_far_apart() -> None:
    found = rank_systems(["a"] * 40, ["b"] * 40, [1] * 30 + [0] * 10)
    a, b = found.strengths
    error = math.hypot(a.high - a.low, b.high - b.low) / (2 * 1.96)
    uncertain = strength_uncertainty(found)
    assert uncertain["a", "b"] == pytest.approx(2 * stats.norm.sf((a.value - b.value) / error))
    assert uncertain["a", "b"] == uncertain["b", "a"]
    assert uncertain["a", "a"] == 1.0
    alone = strength_uncertainty(rank_systems(["a", "a"], ["b", "b"], [1, 1]))
    assert alone["a", "b"] == 1.0


def test_what_labels_can_reach_needs_three_units_that_differ() -> None:
    assert reachable_by_labels([1, 2], [1, 2], [0, 0]).reason == "fewer than 3 units state their uncertainty"
    assert reachable_by_labels([2, 2, 2], [1, 2, 3], [0, 0, 0]).reason == "the labels are all the same"
    assert reachable_by_labels([1, 2, 3], [1, 2, 3], [0, 0, 0]).value == pytest.approx(1.0)
    found = reachable_by_labels([1, 2, 3, 4], [1, 2, 3, NAN], [1, 1, 1, 1])
    # labels and expectations vary by 2/3; the truth by 2/3 + 1
    assert (found.n, found.n_missing) == (3, 1)
    assert found.value == pytest.approx((2 / 3) / math.sqrt(2 / 3 * 5 / 3))


def test_what_means_can_reach_needs_three_units_that_differ() -> None:
    assert reachable_by_means([1, 2], [0, 0]).reason == "fewer than 3 units state their uncertainty"
    assert reachable_by_means([2, 2, 2], [1, 1, 1]).reason == "the means are all the same"
    assert reachable_by_means([1, 2, 3], [0.6, 0.6, 0.6]).value == pytest.approx(0.8)  # 1 - .36 of a variance of 1
    noisy = reachable_by_means([1, 2, 3], [1, 1, 1])
    assert (noisy.value, noisy.reason) == (0.0, "the means vary no more than their errors do")


def test_moments_without_values_or_of_infinite_ones_say_so() -> None:
    assert compute_moments([NAN, NAN], ["a", "b"]).interval().reason == "no values"
    assert compute_moments([1.0, math.inf], ["a", "b"]).interval().reason == "infinite values"
    one = compute_moments([1.0, 3.0], ["a", "a"]).interval()
    assert (one.value, one.reason) == (2.0, "fewer than 2 clusters")
    assert math.isnan(one.low)


def test_no_difference_is_needed_for_a_power_below_the_level_of_the_test() -> None:
    found = detectable_difference(20, 1.0, power=0.05, alpha=0.05)
    assert (found.power, found.difference) == (0.05, 0.0)
    assert found.reason == "a test finds a difference that often even where there is none"
    assert detectable_difference(20, 1.0, power=0.06).difference > 0
    assert detectable_difference(1, 1.0).reason == "fewer than 2 clusters"
    assert math.isnan(detectable_difference(1, 1.0).difference)


def test_the_power_of_very_many_rows_is_one() -> None:
    assert power_at(10**11, 1.0, 1.0).power == pytest.approx(1.0)
    assert power_at(10**11, 1e-9, 1.0).power == pytest.approx(0.05, abs=1e-4)


def test_the_power_is_that_of_the_noncentral_t() -> None:
    # 25 rows, a difference of half a standard deviation: noncentrality 2.5, 24 degrees of freedom
    critical = stats.t.ppf(0.975, 24)
    expected = stats.nct.sf(critical, 24, 2.5) + stats.nct.cdf(-critical, 24, 2.5)
    found = power_at(25, 0.5, 1.0)
    assert found.power == pytest.approx(expected, abs=1e-9)
    assert (found.effective_n, found.design_effect) == (25, 1.0)
    # clusters of 5 that correlate by .25: a design effect of 2, 4 degrees of freedom
    found = power_at(25, 0.5, 1.0, cluster_size=5, icc=0.25)
    critical, noncentrality = stats.t.ppf(0.975, 4), 0.5 * math.sqrt(12.5)
    expected = stats.nct.sf(critical, 4, noncentrality) + stats.nct.cdf(-critical, 4, noncentrality)
    assert found.power == pytest.approx(expected, abs=1e-9)
    assert (found.effective_n, found.design_effect) == (12.5, 2.0)


def test_the_rows_needed_are_the_fewest() -> None:
    found = rows_needed(0.5, 1.0)
    assert found.n == 34  # as in tables of the paired t test: d = .5, power .8, two-sided .05
    assert power_at(33, 0.5, 1.0).power < 0.8 <= found.power == power_at(34, 0.5, 1.0).power
    assert rows_needed(100.0, 1.0).n == 2
    assert rows_needed(0.0, 1.0).reason == "a difference of 0 cannot be detected"
    assert rows_needed(1.0, 0.0).reason == "the differences do not vary"
    assert rows_needed(1e-9, 1.0).reason == "more than 1,000,000,000,000 rows"


@pytest.mark.parametrize("wrong", [{"sd": -1.0}, {"cluster_size": 0.5}, {"icc": 1.5}, {"icc": -0.1}, {"sd": math.inf}])
def test_plans_of_nonsense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must"):
        power_at(10, 0.1, **{"sd": 1.0, **wrong})
    for n in (0, -1, math.inf):
        with pytest.raises(InputError, match="n must be a positive number"):
            power_at(n, 0.1, 1.0)


def test_the_spread_of_a_pilot_by_hand() -> None:
    # differences 1, 3 in one dialogue and 5, 7 in another: means 2 and 6, 2 within and 16 between (mean squares)
    found = estimate_spread([1, 3, 5, 7], [0, 0, 0, 0], ["x", "x", "y", "y"])
    assert found.sd == pytest.approx(math.sqrt(20 / 3))
    assert found.icc == pytest.approx((16 - 2) / (16 + 2))
    assert (found.cluster_size, found.n, found.n_clusters) == (2.0, 4, 2)
    assert estimate_spread([1], [0]).reason == "fewer than 2 pairs"
    assert estimate_spread([1, 2], [0, 0], ["x", "x"]).reason == "fewer than 2 clusters"
    assert estimate_spread([1, 2, 4], [0, 0, 0]).icc == 0.0
    alike = estimate_spread([2, 2, 2, 2], [1, 1, 1, 1], ["x", "x", "y", "y"])
    assert (alike.sd, alike.icc) == (0.0, 0.0)


def test_the_noise_of_a_pilot_by_hand() -> None:
    # two raters a reply: first 1 3, 4 6; second 0 2, 1 3; every rating is 1 off its mean
    found = estimate_noise([[1, 3], [4, 6]], [[0, 2], [1, 3]])
    assert found.within == pytest.approx(math.sqrt(2))  # 8 squares over 4 degrees of freedom
    assert found.difference == pytest.approx(2.0)
    assert (found.raters, found.sides, found.n) == (2.0, 2, 2)
    # differences 1 and 3 have a variance of 2, and 2 * 2 / 2 of noise: nothing is left for the items
    assert found.between == pytest.approx(0.0)
    few = estimate_noise([[1, 3], [NAN, NAN]], [[0, 2], [1, 3]])
    assert few.reason == "fewer than 2 items are rated on both sides"
    single = estimate_noise([[1], [4]], [[0], [0]])
    assert (single.within, single.between) == (0.0, pytest.approx(math.sqrt(4.5)))
    assert "no reply has two ratings" in str(single.reason)


def test_a_plan_needs_a_difference_or_a_number_of_items() -> None:
    with pytest.raises(InputError, match="give the difference to detect, or the number of items, or both"):
        plan_ratings(RatingNoise(1.0, 1.0))
    with pytest.raises(InputError, match=r"raters must be 1 or more, not 0\.5"):
        plan_ratings(RatingNoise(1.0, 1.0), 0.5, raters=0.5)
    assert plan_ratings(RatingNoise(1.0, 1.0), 0.5, items=10, raters=1).ratings == 20


def test_more_raters_leave_clusters_more_alike() -> None:
    noise = RatingNoise(1.0, 1.0, icc=0.3, raters=1.0)
    assert noise.icc_at(1.0) == pytest.approx(0.3)
    assert noise.icc_at(2.0) == pytest.approx(0.3 * 3 / 2)  # the variance falls from 3 to 2
    assert noise._replace(icc=0.9).icc_at(2.0) == 1.0
    assert RatingNoise(1.0, 1.0, icc=0.3).icc_at(5.0) == 0.3
    assert RatingNoise(0.0, 0.0, icc=0.3, raters=1.0).icc_at(2.0) == 0.3


def test_williams_needs_four_rows_and_metrics_that_differ() -> None:
    assert williams_from_correlations(0.5, 0.4, 0.3, 3).reason == "fewer than 4 rows"
    assert math.isfinite(williams_from_correlations(0.5, 0.4, 0.3, 4).p)
    assert williams_from_correlations(0.5, 0.5, 1.0, 20).reason == "the metrics agree perfectly"


def test_checks_speed_and_loneliness_are_suspicious_below_their_thresholds_only() -> None:
    # 3 of 4 is not below .75; one check is too few
    assert [one.rater for one in find_failed_checks([3, 2, 0], [4, 4, 1])] == [1]
    assert find_failed_checks([2], [4])[0].value == 0.5
    # a third of 9 is 3: 3 is not below it, 2.9 is
    others = [[9.0] * 5, [9.0] * 5]
    assert find_too_fast([[3.0] * 5, *others]) == []
    (fast,) = find_too_fast([[2.9] * 5, *others])
    assert (fast.rater, fast.value, fast.threshold, fast.n) == (0, 2.9, 3.0, 5)
    assert find_too_fast([[1.0] * 4, *others]) == []
    assert find_too_fast([[1.0] * 4 + [NAN], *others]) == []
    found = find_disagreeing(np.array([0.09, 0.1, 0.05, 0.0]), [10, 10, 9, 10], np.array([0.2, 0.9, 0.9, 0.19]))
    assert [(one.rater, one.n) for one in found] == [(0, 10)]


def test_always_the_same_answer_is_suspicious_where_others_differ() -> None:
    mixed = np.array([1, 2, 3, 4, 5] * 2, dtype=float)
    alike = np.full(10, 3.0)
    (found,) = find_straight_liners(np.stack([alike, mixed], axis=1))
    assert (found.rater, found.value, found.n) == (0, 1.0, 10)
    assert find_straight_liners(np.stack([alike, alike], axis=1)) == []
    assert find_straight_liners(np.stack([alike, mixed], axis=1)[:9]) == []
    few = np.array([3.0] * 9 + [NAN])
    assert [one.rater for one in find_straight_liners(np.stack([few, alike, mixed], axis=1))] == [1]
    nine = np.array([3.0] * 9 + [1.0])
    assert [one.value for one in find_straight_liners(np.stack([nine, mixed], axis=1))] == [0.9]
    eight = np.array([3.0] * 8 + [1.0] * 2)
    assert find_straight_liners(np.stack([eight, mixed], axis=1)) == []
    assert [one.rater for one in find_straight_liners(alike[:, None])] == [0]  # nobody else: nobody says otherwise


def test_a_rater_without_answers_has_no_favourite() -> None:
    assert all(map(math.isnan, most_frequent_answer(np.array([NAN, NAN]))))
    assert most_frequent_answer(np.array([2.0, 1.0, 2.0, NAN])) == (2 / 3, 2.0)


def test_a_mean_has_no_confidence_and_a_majority_has_its_share() -> None:
    ratings = np.array([[1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [NAN, NAN, NAN]])
    assert np.isnan(aggregate(ratings, "mean").confidence).all()
    found = aggregate(ratings, "majority")
    assert found.confidence[:2].tolist() == [pytest.approx(2 / 3), 1.0]
    assert math.isnan(found.confidence[2])


def test_measures_are_no_classes() -> None:
    ratings = np.arange(2000, dtype=float).reshape(1000, 2)
    with pytest.raises(InputError, match="needs classes, but the ratings take 2000 different values"):
        aggregate(ratings, "dawid_skene")


def test_a_ranking_that_cannot_be_measured_is_nan() -> None:
    assert math.isnan(ndcg([1.0, 1.0], [0.2, 0.1]))
    assert math.isnan(ndcg([1.0, 0.0], [NAN, 0.1]))
    # the best comes second: 1 / log2(3)
    assert ndcg([0.0, 1.0], [0.2, 0.1]) == pytest.approx(1 / math.log2(3))
    # the best comes fourth, and only three places count
    assert ndcg([0.0, 0.0, 0.0, 1.0], [4, 3, 2, 1]) == 0.0


def test_crowd_kit_gets_the_votes_in_one_order_and_its_probabilities_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    frames = []

    class Model:
        def __init__(self, **settings: object) -> None:
            self.settings = settings

        def fit_predict_proba(self, frame: Any) -> Any:
            frames.append((self.settings, frame.to_dict("list")))
            # unit 2 is left out, and the columns come the other way round
            return pandas.DataFrame([[0.9, 0.1], [0.3, 0.7]], index=[0, 1], columns=[1, 0])

    library = types.ModuleType("crowdkit.aggregation")
    library.GLAD = library.MACE = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "crowdkit", types.ModuleType("crowdkit"))
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", library)
    ratings = np.array([[3.0, 5.0], [3.0, NAN], [NAN, 5.0], [NAN, NAN]])
    for method in ("glad", "mace"):
        found = aggregate(ratings, method)
        assert found.values[:2].tolist() == [5.0, 3.0]
        assert found.confidence[:2].tolist() == [0.9, 0.7]
        assert np.isnan(found.values[2:]).all()
        assert frames.pop()[1] == {"task": [0, 0, 1, 2], "worker": [0, 1, 0, 1], "label": [0, 1, 0, 1]}
        assert aggregate(np.array([[2.0, 2.0], [2.0, NAN]]), method).values.tolist() == [2.0, 2.0]
        assert frames == []  # one category needs no model


def test_the_quantiles_of_resamples_by_hand() -> None:
    samples = np.arange(101) / 100  # evenly from 0 to 1: the q-quantile is q
    found = percentile_interval(0.5, samples, 30, 2, 10, level=0.9, kind="percentile")
    assert (found.low, found.high) == (pytest.approx(0.05), pytest.approx(0.95))
    assert (found.value, found.n, found.n_missing, found.n_clusters, found.reason) == (0.5, 30, 2, 10, None)
    reach = math.sqrt(10 / 9) * stats.t.ppf(0.95, 9)
    wide = percentile_interval(0.5, samples, 30, 2, 10, level=0.9, kind="expanded")
    assert (wide.low, wide.high) == (pytest.approx(stats.norm.cdf(-reach)), pytest.approx(stats.norm.cdf(reach)))
    # 30 values below .3 and the estimate itself: the share below is 30.5 of 101
    shift = 2 * stats.norm.ppf(30.5 / 101)
    moved = percentile_interval(0.3, samples, 30, 2, 10, level=0.9, kind="corrected")
    assert moved.low == pytest.approx(stats.norm.cdf(shift - reach))
    assert moved.high == pytest.approx(stats.norm.cdf(shift + reach))


def test_resamples_without_a_value_are_told_and_too_many_leave_no_interval() -> None:
    samples = np.concatenate([np.full(10, NAN), np.linspace(0, 1, 90)])
    found = percentile_interval(0.5, samples, 9, 0, 5)
    assert math.isfinite(found.low)
    assert found.reason == "undefined in 10 of 100 resamples"
    more = percentile_interval(0.5, np.concatenate([[NAN], samples[1:], [NAN] * 2]), 9, 0, 5)
    assert math.isnan(more.low)
    assert more.reason == "undefined in 12 of 102 resamples"
    assert percentile_interval(0.5, np.empty(0), 9, 0, 5).reason == "no resamples"
    assert percentile_interval(NAN, samples, 9, 0, 5).reason == "the estimate is undefined"
    assert percentile_interval(0.5, samples, 9, 0, 1).reason == "fewer than 2 units to resample"
    assert math.isfinite(percentile_interval(0.5, samples, 9, 0, 2).low)


def test_resamples_that_miss_the_estimate_leave_no_interval() -> None:
    samples = np.arange(1, 1001) / 1000
    told = "the resamples miss the estimate; resample other units"
    # the estimate equals one sample, which counts half: 24.5 and 25.5 of 1,000 lie below
    assert percentile_interval(0.025, samples, 9, 0, 5).reason == told
    assert percentile_interval(0.026, samples, 9, 0, 5).reason is None
    assert percentile_interval(0.976, samples, 9, 0, 5).reason == told
    assert percentile_interval(0.975, samples, 9, 0, 5).reason is None
    constant = percentile_interval(1.0, np.full(50, 1.0), 9, 0, 5)
    assert (constant.low, constant.high) == (1.0, 1.0)


def test_a_mean_with_clusters_by_hand() -> None:
    # clusters sum to 1 - 3 + 3 - 3 = -2 and 2 around the mean 3: se = sqrt(2 * 8) / 4 = 1
    found = mean_interval([1, 3, NAN, 4, 4], ["a", "a", "a", "b", "b"], level=0.9)
    t = stats.t.ppf(0.95, 1)
    assert (found.value, found.n, found.n_missing, found.n_clusters) == (3.0, 4, 1, 2)
    assert (found.low, found.high) == (pytest.approx(3 - t), pytest.approx(3 + t))
    assert mean_interval([1, 3], ["a", "a"]).reason == "fewer than 2 clusters"
    assert mean_interval([0.1] * 3).value == 0.1
    assert mean_interval([1e308, 1e308, -1e308, 1e308]).value == pytest.approx(5e307)
    assert mean_interval([1.0, math.inf]).reason == "infinite values"
    assert mean_interval([]).reason == "no values"


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, NAN, 0.03])[[0, 1, 3]].tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert math.isnan(holm([0.01, NAN])[1])
    assert holm([0.0, 1.0, 0.6]).tolist() == [0.0, 1.0, 1.0]
    for wrong in (-0.01, 1.01):
        with pytest.raises(InputError, match="p-values must lie between 0 and 1"):
            holm([wrong])


def test_williams_test_of_few_rows_says_so() -> None:
    found = williams_test([1, 2, 3, NAN], [3, 1, 2, 5], [1, 3, 2, 4])
    assert (found.n, found.n_missing, found.reason) == (3, 1, "fewer than 4 rows")
    assert math.isnan(found.p)


def test_ratings_are_moved_to_the_left() -> None:
    moved = compact_ratings([[NAN, 2.0, 1.0], [3.0, NAN, NAN], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(moved, [[2.0, 1.0], [3.0, NAN], [NAN, NAN]])
    assert compact_ratings([[NAN, NAN]]).shape == (1, 0)
    assert compact_ratings(np.empty((0, 3))).shape == (0, 0)
