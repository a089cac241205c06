"""Agreement of raters: against statsmodels, krippendorff and published examples."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats import inter_rater

from rejoinder.errors import InputError
from rejoinder.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from rejoinder.stats.ceiling import _split_half_means, one_against_rest, split_half
from rejoinder.stats.rating_matrix import compact_ratings, rating_matrix, rating_unit_interval

SCALES = ("nominal", "ordinal", "interval", "ratio")


def ratings(seed, units=30, raters=6, levels=5, missing=0.3):
    """A matrix in which raters agree about half of the time."""
    random = np.random.default_rng(seed)
    matrix = random.integers(0, levels, (units, raters)).astype(float)
    matrix = np.where(random.random(matrix.shape) < 0.5, matrix[:, [0]], matrix)
    return np.where(random.random(matrix.shape) < missing, np.nan, matrix)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(5))
def test_alpha_equals_the_krippendorff_package(scale, seed) -> None:
    for matrix in (ratings(seed), ratings(seed, units=8, raters=3), ratings(seed, levels=40) / 7 + 0.1):
        theirs = krippendorff.alpha(matrix.T, level_of_measurement=scale)
        assert krippendorff_alpha(matrix, scale).value == pytest.approx(theirs, abs=1e-10)


def test_alpha_of_the_published_example() -> None:
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C: four observers, twelve units
    nan = math.nan
    by_observer = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    published = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    for scale, value in published.items():
        found = krippendorff_alpha(np.transpose(by_observer), scale)
        assert found.value == pytest.approx(value, abs=5e-4)
        assert (found.n, found.n_units, found.n_left_out) == (40, 11, 1)


def test_a_ratio_scale_has_no_negative_ratings() -> None:
    with pytest.raises(InputError, match="found -1\\); use the interval scale"):
        krippendorff_alpha([[-1, 1], [1, 2]], "ratio")


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohen_equals_statsmodels(weights) -> None:
    matrix = ratings(1, units=60, missing=0.0)
    table = np.histogram2d(matrix[:, 0], matrix[:, 1], bins=np.arange(6) - 0.5)[0]
    theirs = inter_rater.cohens_kappa(table, wt=None if weights == "none" else weights).kappa
    assert cohen_kappa(matrix[:, 0], matrix[:, 1], weights).value == pytest.approx(theirs, abs=1e-10)


def test_cohen_counts_distance_on_the_whole_scale_where_it_is_given() -> None:
    first, second = [1, 1, 5, 5, 1], [1, 5, 5, 4, 1]
    table = np.zeros((5, 5))
    for a, b in zip(first, second, strict=True):
        table[a - 1, b - 1] += 1
    theirs = inter_rater.cohens_kappa(table, wt="quadratic").kappa
    assert cohen_kappa(first, second, "quadratic", [1, 2, 3, 4, 5]).value == pytest.approx(theirs, abs=1e-10)
    assert cohen_kappa(first, second, "quadratic").value != pytest.approx(theirs, abs=1e-3)
    with pytest.raises(InputError, match="the rating 5 is not among the categories"):
        cohen_kappa(first, second, categories=[1, 4])


def test_cohen_by_hand_with_missing_ratings() -> None:
    # 3 of 4 agree; chance 3/4 * 2/4 + 1/4 * 2/4 = 1/2; kappa (3/4 - 1/2) / (1 - 1/2)
    found = cohen_kappa([1, 1, 1, 0, None], [1, 1, 0, 0, 1])
    assert found.value == pytest.approx(0.5)
    assert (found.n, found.n_units, found.n_left_out) == (8, 4, 1)


def test_fleiss_equals_statsmodels() -> None:
    matrix = ratings(2, missing=0.0)
    table = np.stack([(matrix == level).sum(axis=1) for level in range(5)], axis=1)
    assert fleiss_kappa(matrix).value == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-10)


def test_fleiss_passes_over_units_with_one_rating() -> None:
    matrix = [[1, 1, 2], [2, 2, 2], [1, 2, 1], [1, math.nan, math.nan]]
    found = fleiss_kappa(matrix)
    assert found.value == pytest.approx(fleiss_kappa(matrix[:3]).value)
    assert (found.n, found.n_units, found.n_left_out) == (9, 3, 1)


def test_ratings_become_a_matrix_by_name() -> None:
    found = rating_matrix(["u", "v", "u"], ["ann", "ann", "bob"], [1, 2, 3])
    assert found.units == ("u", "v")
    assert found.raters == ("ann", "bob")
    assert np.array_equal(found.values, [[1, 3], [2, math.nan]], equal_nan=True)
    with pytest.raises(InputError, match="rater ann rated u more than once"):
        rating_matrix(["u", "u"], ["ann", "ann"], [1, 2])


def test_alpha_has_an_interval_over_units() -> None:
    matrix = ratings(3, units=60)
    found = rating_unit_interval(matrix, lambda part: krippendorff_alpha(part).value, n_resamples=200)
    assert found.value == krippendorff_alpha(matrix).value
    assert found.low < found.value < found.high
    assert (found.n_clusters, found.n + found.n_missing) == (60, 360)


def test_one_rater_against_the_rest_equals_a_loop() -> None:
    matrix = ratings(4)
    each, own, rest = [], [], []
    for r in range(matrix.shape[1]):
        pairs = [
            (line[r], np.nanmean(np.delete(line, r)))
            for line in matrix
            if not np.isnan(line[r]) and (~np.isnan(np.delete(line, r))).any()
        ]
        mine, others = zip(*pairs, strict=True)
        each.append(stats.spearmanr(mine, others).statistic)
        own += mine
        rest += others
    found = one_against_rest(matrix)
    assert found.raters == pytest.approx(each, abs=1e-10)
    assert found.value == pytest.approx(np.mean(each), abs=1e-10)
    assert found.pooled.value == pytest.approx(stats.spearmanr(own, rest).statistic, abs=1e-10)


def test_a_rater_of_one_unit_is_left_out_but_pooled() -> None:
    found = one_against_rest([[1, 1, 5], [2, 2, None], [3, 3, None], [4, 5, None]])
    assert (found.n_raters, found.n_left_out) == (2, 1)
    assert found.pooled.n == 9


def test_halves_that_agree_rank_systems_alike() -> None:
    systems = np.repeat(list("abcde"), 6)
    quality = np.repeat(np.arange(5.0), 6)
    same = np.repeat(quality[:, None], 4, axis=1)
    assert split_half(same, systems)[:3] == pytest.approx((1, 1, 1))
    random = np.random.default_rng(5)
    noise = split_half(random.normal(size=(30, 4)), systems, n_splits=400)
    assert noise.low < 0 < noise.high
    some = split_half(same + 3 * random.normal(size=(30, 4)), systems, n_splits=400, seed=3)
    assert 0 < some.value < 1


@pytest.mark.parametrize(("n", "sizes"), [(2, (1, 1)), (4, (2, 2)), (5, (2, 3)), (8, (4, 4))])
def test_halves_are_halves_and_the_second_of_an_odd_number_has_one_more(n, sizes) -> None:
    # Ratings are powers of 2, so the sum of a half tells which ratings are in it; each system has one unit.
    matrix = np.tile(2.0 ** np.arange(n), (3, 1))
    halves = _split_half_means(matrix, np.arange(3), 3, 20, seed=0)
    first, second = (np.rint(means * size).astype(int) for means, size in zip(halves, sizes, strict=True))
    assert (first + second == 2**n - 1).all()
    assert {bin(total).count("1") for total in first.ravel().tolist()} == {sizes[0]}
    assert len(set(first.ravel().tolist())) > 1


def test_units_with_one_rating_are_left_out_of_the_halves() -> None:
    found = split_half([[1, 1], [2, 2], [3, 3], [9, None]], ["a", "b", "c", "d"], n_splits=10)
    assert found.value == pytest.approx(1)
    assert (found.n_systems, found.n_units, found.n_left_out) == (3, 3, 1)


def test_who_rated_does_not_matter_to_alpha_and_the_halves() -> None:
    matrix = ratings(6, units=40, raters=9, missing=0.7)
    narrow = compact_ratings(matrix)
    assert narrow.shape[1] == (~np.isnan(matrix)).sum(axis=1).max()
    assert krippendorff_alpha(narrow).value == pytest.approx(krippendorff_alpha(matrix).value, abs=1e-12)
    systems = np.repeat(list("abcde"), 8)
    assert split_half(narrow, systems, n_splits=20) == split_half(matrix, systems, n_splits=20)
