"""Correlations against scipy.stats, by hand, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.errors import InputError, SpecError
from rejoinder.stats.correlation import correlate, count_inversions, kendall, midranks, pearson, spearman

SCIPY = {pearson: stats.pearsonr, spearman: stats.spearmanr, kendall: stats.kendalltau}
FUNCTIONS = list(SCIPY)


def draws(count: int, seed: int):
    """Arrays of many lengths, with many, few and no ties."""
    random = np.random.default_rng(seed)
    for turn in range(count):
        n, levels = int(random.integers(3, 60)), int(random.integers(2, 40))
        x = random.integers(0, levels, n) / 3 if turn % 2 else random.normal(size=n)
        y = random.integers(0, levels, n) / 7 if turn % 3 else random.normal(size=n) + x
        if np.ptp(x) and np.ptp(y):
            yield x, y


@pytest.mark.parametrize("function", FUNCTIONS)
def test_value_and_p_equal_scipy_with_and_without_ties(function) -> None:
    for x, y in draws(300, seed=1):
        ours, theirs = function(x, y), SCIPY[function](x, y)
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-10)
        if abs(ours.value) < 1 - 1e-12:  # at ±1 the p of three pairs turns the last bit of r into 1e-8
            assert ours.p == pytest.approx(theirs.pvalue, abs=1e-10)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_large_samples_equal_scipy(function) -> None:
    random = np.random.default_rng(2)
    x = np.round(random.normal(size=5000), 1)
    y = np.round(x * 0.03 + random.normal(size=5000), 1)
    ours, theirs = function(x, y), SCIPY[function](x, y)
    assert ours.value == pytest.approx(theirs.statistic, abs=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [34, 60, 200])
def test_kendall_of_a_nearly_sorted_long_array_has_an_exact_p(n) -> None:
    x = np.arange(n)
    swapped = np.r_[1, 0, x[2:]]
    for y in (x, -x, swapped, -swapped):
        assert kendall(x, y).p == pytest.approx(stats.kendalltau(x, y).pvalue, rel=1e-10)


def test_correlations_by_hand() -> None:
    x, y = [1, 2, 3, 4], [1, 3, 2, 4]
    assert spearman(x, y).value == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)
    assert kendall(x, y).value == pytest.approx(4 / 6)  # five pairs agree, one does not
    assert kendall(x, y).p == pytest.approx(2 * 4 / 24)  # four of 24 orders have at most one inversion
    assert pearson([0, 0, 1, 1], [0, 1, 0, 1]).value == pytest.approx(0.0)


def test_pairs_with_a_missing_side_are_left_out_and_counted() -> None:
    x = [1, 2, None, 4, 5, 6]
    y = [2, 1, 3, math.nan, 5, 9]
    for function in FUNCTIONS:
        whole, part = function(x, y), function([1, 2, 5, 6], [2, 1, 5, 9])
        assert (whole.value, whole.p) == (part.value, part.p)
        assert (whole.n, whole.n_missing) == (4, 2)
        assert whole.reason is None


def test_masked_entries_are_missing() -> None:
    x = np.ma.array([1.0, 2.0, 3.0, 99.0], mask=[0, 0, 0, 1])
    assert spearman(x, [1, 2, 3, 0]) == spearman([1, 2, 3], [1, 2, 3])._replace(n_missing=1)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([], [], "fewer than 3 pairs"),
        ([1, 2], [1, 2], "fewer than 3 pairs"),
        ([math.nan] * 4, [1, 2, 3, 4], "fewer than 3 pairs"),
        ([5, 5, 5], [1, 2, 3], "the first variable is constant"),
        ([1, 2, 3], [5, 5, 5], "the second variable is constant"),
    ],
)
def test_no_correlation_has_a_reason(function, x, y, reason) -> None:
    found = function(x, y)
    assert math.isnan(found.value)
    assert math.isnan(found.p)
    assert found.reason == reason


def test_values_that_differ_by_rounding_only_are_no_correlation() -> None:
    found = pearson([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2], [1, 2, 3, 4])
    assert math.isnan(found.value)
    assert found.reason == "nearly constant: the values differ by rounding only"


def test_huge_values_do_not_overflow() -> None:
    found = pearson([1e308, -1e308, 1e307, 0], [1, 2, 3, 4])
    assert found.value == pytest.approx(pearson([10, -10, 1, 0], [1, 2, 3, 4]).value)


def test_infinite_values_have_ranks_but_no_product_moment() -> None:
    x, y = [-math.inf, 0, 1, math.inf], [1, 2, 3, 4]
    assert spearman(x, y).value == kendall(x, y).value == 1
    assert pearson(x, y).reason == "infinite values"


def test_different_lengths_are_named() -> None:
    with pytest.raises(InputError, match=r"first 2, second 3"):
        spearman([1, 2], [1, 2, 3])


def test_words_are_not_numbers() -> None:
    with pytest.raises(InputError, match="must be numbers"):
        pearson(["a", "b", "c"], [1, 2, 3])
    with pytest.raises(InputError, match="must be numbers"):
        pearson([[1], [2, 3]], [1, 2])
    with pytest.raises(InputError, match="1 dimension"):
        pearson([[1, 2], [3, 4]], [[1, 2], [3, 4]])


def test_correlate_goes_by_name() -> None:
    x, y = [1, 2, 3, 5], [2, 1, 4, 3]
    assert correlate(x, y) == spearman(x, y)
    assert correlate(x, y, "kendall") == kendall(x, y)
    with pytest.raises(SpecError, match="known: pearson, spearman, kendall"):
        correlate(x, y, "tau")  # type: ignore[arg-type]


def test_inversions_equal_a_double_loop() -> None:
    random = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 40):
        codes = random.integers(0, 9, n)
        slow = sum(codes[i] > codes[j] for i in range(n) for j in range(i + 1, n))
        assert count_inversions(codes) == slow


def test_midranks_equal_scipy() -> None:
    for x, _ in draws(50, seed=4):
        assert midranks(np.asarray(x, dtype=float)).tolist() == stats.rankdata(x).tolist()
