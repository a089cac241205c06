"""Comparisons of systems: against scipy and statsmodels, by hand and by coverage."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from benchmarks import compare_coverage
from rejoinder.errors import InputError
from rejoinder.stats import paired_difference as paired_module
from rejoinder.stats.holm import holm
from rejoinder.stats.mcnemar import mcnemar_from_counts, mcnemar_test
from rejoinder.stats.paired_difference import difference_interval, paired_difference, sign_flip_test
from rejoinder.stats.rank_range import rank_ranges


def test_few_clusters_are_flipped_in_every_way_as_in_scipy() -> None:
    random = np.random.default_rng(1)
    for n in (3, 7, 12):
        x, y = random.normal(size=n) + 0.4, random.normal(size=n)
        theirs = stats.permutation_test(
            (x, y), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=10**6
        )
        ours = sign_flip_test(x, y)
        assert ours.statistic == pytest.approx(theirs.statistic)
        assert ours.p == pytest.approx(theirs.pvalue, abs=1e-10)


def test_sign_flips_by_hand() -> None:
    # Differences 1, 2, 3: only all plus and all minus of the eight ways reach 6.
    assert sign_flip_test([1, 2, 3], [0, 0, 0]) == (2.0, 0.25, 3, 0, None)
    # The first two belong together: four ways, two of which reach 6.
    assert sign_flip_test([1, 2, 3], [0, 0, 0], ["a", "a", "b"]).p == 0.5


def test_many_clusters_are_flipped_at_random_close_to_the_exact_p() -> None:
    random = np.random.default_rng(2)
    x, y = random.normal(size=12) + 0.5, random.normal(size=12)
    exact = sign_flip_test(x, y).p
    sampled = sign_flip_test(x, y, n_permutations=4000, seed=1).p
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000))
    assert sampled == sign_flip_test(x, y, n_permutations=4000, seed=1).p


def test_the_data_count_among_random_sign_flips() -> None:
    # All but one in 2^39 ways to flip forty equal differences make a smaller one: p is (1 + 0) / (1 + 99).
    assert sign_flip_test(np.ones(40), np.zeros(40), n_permutations=99).p == 0.01


def test_a_clustered_sign_flip_keeps_its_level() -> None:
    random = np.random.default_rng(3)
    clusters = np.repeat(np.arange(25), 4)
    rounds = 2000
    alarms = 0
    for turn in range(rounds):
        x = random.normal(size=25)[clusters] + random.normal(size=100)
        alarms += sign_flip_test(x, np.zeros(100), clusters, n_permutations=99, seed=turn).p <= 0.05
    assert 0.04 <= alarms / rounds <= 0.06


@pytest.mark.parametrize("n_clusters", [12, 40, 150])
def test_a_difference_of_95_percent_covers_the_truth(n_clusters) -> None:
    random = np.random.default_rng(n_clusters)
    clusters = np.repeat(np.arange(n_clusters), 3)
    rounds, covered = 1500, 0
    for turn in range(rounds):
        x = 0.3 + random.normal(size=n_clusters)[clusters] + random.normal(size=len(clusters))
        found = difference_interval(x, np.zeros(len(x)), clusters, n_resamples=400, seed=turn)
        covered += found.low <= 0.3 <= found.high
    assert 0.93 <= covered / rounds <= 0.97


def test_a_difference_counts_its_pairs() -> None:
    found = difference_interval([1, 2, None, 4], [0, math.nan, 3, 1], n_resamples=50)
    assert (found.value, found.n, found.n_missing, found.n_clusters) == (2.0, 2, 2, 2)
    constant = difference_interval([2, 3, 4], [1, 2, 3], n_resamples=50)
    assert constant[:3] == (1.0, 1.0, 1.0)


def test_a_symmetric_paired_difference_has_the_p_of_sign_flips_as_in_scipy() -> None:
    # Without skewness the corrected t is Student's, whose p is smaller here: that of the sign flips decides.
    x = np.array([1.5, 1.2, 1.1, 1.0, 0.9, 0.8, 0.5, 1.0])
    theirs = stats.permutation_test((x, 0 * x), lambda a, b: np.mean(a - b), permutation_type="samples")
    ours = paired_difference(x, 0 * x)
    assert stats.ttest_1samp(x, 0).pvalue < theirs.pvalue == 2 / 256
    assert (ours.value, ours.p) == pytest.approx((1.0, theirs.pvalue))


def test_a_paired_difference_by_hand() -> None:
    # Differences 1 to 6: 32 ways to cut them in two. p reaches .05 with two of them, the data themselves and one more:
    # the lowest mean of a part is 1 (the part {1}), the highest 6; Hall's interval, without skewness that of Student's
    # t, is 3.5 ± 2.5706 · .7638.
    ours = paired_difference([1, 2, 3, 4, 5, 6], [0] * 6)
    assert (ours.value, ours.p) == (3.5, 2 / 64)
    assert (ours.low, ours.high) == pytest.approx((1.0, 6.0))
    assert 3.5 - 2.5706 * 0.7638 > 1.0


def test_a_skewed_paired_difference_by_hand() -> None:
    # 0.9 eleven times and -3 once: mean 0.575, sum of squared deviations 13.9425, so the standard error is
    # sqrt(13.9425 / 11 / 12) = 0.3250 and t = 1.7692. With skewness g = -sqrt(12) and a = g / (3 sqrt 12) = -1/3,
    # h = t + a t^2 + a^2 t^3 / 3 + g / (6 sqrt 12) = 1.7692 - 1.0434 + 0.2051 - 0.1667 = 0.7643; 11 degrees of freedom.
    ours = paired_difference([0.9] * 11 + [-3.0], [0.0] * 12)
    assert ours.p == pytest.approx(2 * stats.t.sf(0.7643, 11), abs=1e-4)
    assert sign_flip_test([0.9] * 11 + [-3.0], [0.0] * 12).p < ours.p


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_an_interval_leaves_0_out_exactly_where_its_test_finds_a_difference(level: float) -> None:
    random = np.random.default_rng(6)
    n_found = 0
    for turn in range(600):
        n = int(random.integers(2, 25))
        x = np.round(random.exponential(size=n) - random.random(), turn % 4)  # also with many ties
        clusters = random.integers(0, 15, n) if turn % 2 else None
        ours = paired_difference(x, np.zeros(n), clusters, n_permutations=400, level=level)
        found = ours.p < 1 - level
        assert (ours.low > 0 or ours.high < 0) == found, ours
        assert math.isnan(ours.low) or ours.low <= ours.value <= ours.high
        n_found += found
    assert n_found > 50


def test_a_shifted_paired_difference_has_a_shifted_interval() -> None:
    # The ends are where p reaches .05, whatever the true difference.
    x = np.random.default_rng(7).exponential(size=30)
    ours = paired_difference(x, np.zeros(30))
    for end, inwards in ((ours.low, 1e-6), (ours.high, -1e-6)):
        assert (
            paired_difference(x, np.full(30, end + inwards)).p
            >= 0.05
            > paired_difference(x, np.full(30, end - inwards)).p
        )


def test_a_paired_difference_turned_round_is_the_same() -> None:
    random = np.random.default_rng(8)
    x, y, clusters = random.exponential(size=60), random.normal(size=60), np.arange(60) // 3
    one, other = paired_difference(x, y, clusters), paired_difference(y, x, clusters)
    assert (one.p, one.low, one.high) == pytest.approx((other.p, -other.high, -other.low))
    assert (one.n, one.n_clusters) == (60, 20)


def test_the_size_of_batches_changes_no_paired_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(9)
    few, many = random.exponential(size=11), random.exponential(size=40) - 0.7
    whole = [paired_difference(x, 0 * x, n_permutations=1500) for x in (few, many)]
    monkeypatch.setattr(paired_module, "_CELLS", 300)
    for x, before in zip((few, many), whole, strict=True):
        assert paired_difference(x, 0 * x, n_permutations=1500) == pytest.approx(before)


def test_few_clusters_have_a_p_but_no_interval() -> None:
    ours = paired_difference([5, 6, 7, 8, 9], [0] * 5)
    assert (ours.p, ours.reason) == (2 / 32, "fewer than 6 clusters")
    assert math.isnan(ours.low)
    assert paired_difference([5, 6, 7, 8, 9], [0] * 5, level=0.9).low > 0
    assert paired_difference(range(30), [0] * 30, n_permutations=10).reason == "too few flips"


def test_equal_differences_have_the_p_of_sign_flips() -> None:
    assert paired_difference(np.full(8, 0.1), np.zeros(8))[1:4] == pytest.approx((0.1, 0.1, 2 / 256))
    assert paired_difference([2, 2, 2], [2, 2, 2])[:4] == pytest.approx((0, math.nan, math.nan, 1), nan_ok=True)


@pytest.mark.parametrize("n", [8, 80])
def test_a_paired_difference_holds_where_differences_are_skewed(n: int) -> None:
    random, rounds = np.random.default_rng(n), 1500
    alarms = covered = by_flips = 0
    for seed in range(rounds):
        x = random.exponential(size=n) - 1
        ours = paired_difference(x, np.zeros(n), n_permutations=999, seed=seed)
        alarms += ours.p < 0.05
        covered += ours.low <= 0 <= ours.high
        by_flips += sign_flip_test(x, np.zeros(n), n_permutations=999, seed=seed).p < 0.05
    assert 0.03 <= alarms / rounds <= 0.065
    assert 0.935 <= covered / rounds <= 0.97
    assert by_flips > alarms


def test_the_page_shows_what_was_simulated_and_the_simulation_runs() -> None:
    entries = json.loads(compare_coverage.TARGET.read_text("utf-8"))
    assert min(one["rounds"] for one in entries) >= 2000
    assert compare_coverage.TARGET.with_suffix(".md").read_text("utf-8") == compare_coverage.page(entries)
    cells = [cell for cell in compare_coverage.cells() if cell["conversations"] == 8]
    assert all(compare_coverage.measure(cell, 3)["rounds"] == 3 for cell in cells)
    missed = [(one["shape"], one["conversations"]) for one in entries if not compare_coverage.reaches(one)]
    assert set(missed) <= {("lognormal", 8), ("one in ten far worse", 8)}


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 5), (3, 9), (9, 3), (7, 7), (40, 61), (400, 380)])
def test_mcnemar_equals_statsmodels(b, c) -> None:
    table = [[10, b], [c, 20]]
    exact = mcnemar(table, exact=True)
    if b + c:
        assert mcnemar_from_counts(b, c, "exact").p == pytest.approx(exact.pvalue, abs=1e-10)
        mid = exact.pvalue - stats.binom.pmf(min(b, c), b + c, 0.5)  # half the chance in each tail
        assert mcnemar_from_counts(b, c, "mid_p").p == pytest.approx(1.0 if b == c else mid, abs=1e-10)
        for method, corrected in (("chi2", False), ("chi2_corrected", True)):
            theirs = mcnemar(table, exact=False, correction=corrected)
            ours = mcnemar_from_counts(b, c, method)
            if b != c:
                assert ours[:2] == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-10)
    else:
        assert mcnemar_from_counts(b, c, "exact").p == mcnemar_from_counts(b, c).p == 1.0


def test_mcnemar_counts_disagreements_in_rows() -> None:
    first, second = [1, 1, 1, 0, 0, None, 1], [0, 0, 0, 1, 0, 1, 1]
    assert mcnemar_test(first, second, "exact") == mcnemar_from_counts(3, 1, "exact")._replace(n=6, n_missing=1)
    with pytest.raises(InputError, match="apply a threshold"):
        mcnemar_test([0.5, 1], [0, 1])


def test_holm_equals_statsmodels_and_passes_over_missing_tests() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.9]
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
    assert holm([0.01, None, 0.04]).tolist() == pytest.approx([0.02, math.nan, 0.04], nan_ok=True)
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([1.5])


def test_rank_ranges_tell_what_is_sure() -> None:
    items = list(range(40))
    good, fair, equal = (np.sin(np.array(items)) + shift for shift in (5.0, 0.0, 0.0))
    values = np.concatenate([good, fair, equal])
    systems = ["fair-minus"] * 0 + ["good"] * 40 + ["fair"] * 40 + ["equal"] * 40
    found = rank_ranges(values, systems, items * 3, n_resamples=200)
    assert [(r.system, r.rank, r.low, r.high) for r in found.ranges] == [
        ("good", 1, 1, 1),
        ("fair", 2, 2, 3),
        ("equal", 2, 2, 3),
    ]
    turned = rank_ranges(values, systems, items * 3, n_resamples=200, higher_is_better=False)
    assert [(r.system, r.rank, r.low, r.high) for r in turned.ranges][-1] == ("good", 3, 3, 3)
    assert turned.ranges[-1].mean == pytest.approx(good.mean())


def test_rank_ranges_of_two_random_systems_overlap() -> None:
    random = np.random.default_rng(4)
    values = random.normal(size=120)
    found = rank_ranges(values, ["a", "b", "c"] * 40, np.repeat(np.arange(40), 3), n_resamples=500)
    assert all((r.low, r.high) == (1, 3) for r in found.ranges)
    assert [r.mean for r in found.ranges] == sorted((r.mean for r in found.ranges), reverse=True)


def test_a_system_that_no_resample_draws_has_a_rank_without_a_range() -> None:
    found = rank_ranges([1, 2, 3, 4, 5, 9], list("aaaaab"), list("uvwxyz"), n_resamples=1, seed=1)
    of_b = next(r for r in found.ranges if r.system == "b")
    assert of_b.rank == 1
    assert math.isnan(of_b.low) == math.isnan(of_b.high)
