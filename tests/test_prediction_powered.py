"""Prediction-powered means against formulas written here again, and what must hold of them at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from rejoinder.errors import InputError
from rejoinder.stats.bounded_mean import bounded_mean_ends
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.prediction_powered import powered_mean


def rows(n: int, size: int = 400, r: float = 0.7, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All ratings, the ratings with only n shown, and scores."""
    random = np.random.default_rng(seed)
    y = random.normal(3, 1, size)
    x = r * (y - 3) + math.sqrt(1 - r * r) * random.normal(size=size)
    shown = np.full(size, np.nan)
    chosen = random.permutation(size)[:n]
    shown[chosen] = y[chosen]
    return y, shown, x


@pytest.mark.parametrize("theirs", [0.5, 1.0])
def test_a_fixed_lambda_is_the_estimate_of_the_paper(theirs: float) -> None:
    # Angelopoulos et al. (2023, 2024): lambda mean f over unlabelled rows + mean of y - lambda f over labelled rows.
    # Ours has the mean over all rows, so theirs is our lambda times (N - n) / N.
    _, shown, x = rows(100)
    rated = ~np.isnan(shown)
    paper = theirs * x[~rated].mean() + (shown[rated] - theirs * x[rated]).mean()
    ours = powered_mean(shown, x, tuning=theirs * 400 / (400 - 100), calibrate=False)
    assert ours.both.value == pytest.approx(paper)


def test_the_variance_is_that_of_a_sample_without_replacement() -> None:
    _, shown, x = rows(100)
    rated = ~np.isnan(shown)
    d = shown[rated] - x[rated]
    margin = student.ppf(0.975, 99) * math.sqrt(d.var(ddof=1) / 100 * (1 - 100 / 400))
    ours = powered_mean(shown, x, tuning=1.0, calibrate=False).both
    assert (ours.high - ours.low) / 2 == pytest.approx(margin)


def test_the_tuned_estimate_is_close_to_ppi_plus_plus() -> None:
    # lambda* = Cov(y, f) / ((1 + n/N) Var f) with N unlabelled rows; variance Var(y - lambda f)/n + lambda^2 Var(f)/N.
    _, shown, x = rows(200, 4000)
    rated = ~np.isnan(shown)
    n, unlabelled = 200, 3800
    covariance = np.cov(shown[rated], x[rated])[0, 1]
    lam = covariance / ((1 + n / unlabelled) * x.var(ddof=1))
    value = lam * x[~rated].mean() + (shown[rated] - lam * x[rated]).mean()
    variance = (shown[rated] - lam * x[rated]).var(ddof=1) / n + lam**2 * x[~rated].var(ddof=1) / unlabelled
    ours = powered_mean(shown, x, population="future")
    assert ours.both.value == pytest.approx(value, abs=0.01)
    margin = student.ppf(0.975, n - 1) * math.sqrt(variance)
    assert (ours.both.high - ours.both.low) / 2 == pytest.approx(margin, rel=0.03)


def test_lambda_0_is_the_classical_interval() -> None:
    _, shown, x = rows(60)
    rated = ~np.isnan(shown)
    powered = powered_mean(shown, x, tuning=0.0, population="future")
    classical = mean_interval(shown[rated])
    assert powered.both.value == pytest.approx(classical.value)
    assert powered.alone == powered.both
    assert powered.effective_n == pytest.approx(60)
    these = powered_mean(shown, x, tuning=0.0).both
    correction = math.sqrt(1 - 60 / 400)
    assert these.high - these.low == pytest.approx((classical.high - classical.low) * correction, rel=1e-6)


def test_clusters_of_a_future_population_are_those_of_mean_interval() -> None:
    y, _, x = rows(0)
    groups = np.repeat(np.arange(100), 4)
    shown = np.where(np.isin(groups, np.arange(30)), y, np.nan)
    rated = ~np.isnan(shown)
    powered = powered_mean(shown, x, tuning=0.0, conversations=groups, population="future").alone
    expected = mean_interval(shown[rated], groups[rated])
    assert (powered.low, powered.high) == pytest.approx((expected.low, expected.high))


def test_a_perfect_metric_leaves_almost_no_width() -> None:
    y, shown, _ = rows(40)
    powered = powered_mean(shown, 10 * y - 7)
    assert powered.tuning == pytest.approx(1.0)
    assert powered.both.value == pytest.approx(y.mean())
    assert powered.both.high - powered.both.low < 1e-6
    assert powered.effective_n > 1000


def test_a_useless_metric_costs_next_to_nothing() -> None:
    ratios = []
    for seed in range(40):
        _, shown, _ = rows(50, seed=seed)
        powered = powered_mean(shown, np.random.default_rng(1000 + seed).normal(size=400))
        ratios.append(powered.effective_n / 50)
    assert np.mean(ratios) > 0.99


def test_several_scores_are_combined() -> None:
    random = np.random.default_rng(5)
    a, b = random.normal(size=(2, 1000))
    y = a + b + 0.5 * random.normal(size=1000)
    shown = np.where(random.random(1000) < 0.1, y, np.nan)
    one, both = powered_mean(shown, a), powered_mean(shown, np.stack([a, b], axis=1))
    assert both.effective_n > 2 * one.effective_n
    assert both.both.low < y.mean() < both.both.high


def test_weights_make_an_unequal_sample_unbiased() -> None:
    random = np.random.default_rng(7)
    y = random.normal(size=500)
    x = y + random.normal(size=500)
    p = np.where(y > 0, 0.4, 0.1)  # what is good is drawn more often
    plain, weighted = [], []
    for _ in range(400):
        shown = np.where(random.random(500) < p, y, np.nan)
        plain.append(powered_mean(shown, x).both.value)
        weighted.append(powered_mean(shown, x, probabilities=p).both.value)
    assert abs(np.mean(weighted) - y.mean()) < 0.02 < abs(np.mean(plain) - y.mean())


def test_strata_are_weighted_by_their_rows() -> None:
    groups = np.repeat(["a", "b"], [300, 100])
    y = np.where(groups == "a", 1.0, 5.0) + np.random.default_rng(3).normal(0, 0.1, 400)
    shown = np.full(400, np.nan)
    shown[:20], shown[300:320] = y[:20], y[300:320]  # half of the ratings from a quarter of the rows
    powered = powered_mean(shown, np.zeros(400), strata=groups)
    assert powered.both.value == pytest.approx(0.75 * y[:20].mean() + 0.25 * y[300:320].mean())
    assert powered.both.high - powered.both.low < 0.15


def test_units_that_were_drawn_together_count_as_one() -> None:
    y = np.repeat(np.random.default_rng(2).normal(size=100), 4)
    units = np.repeat(np.arange(100), 4)
    shown = np.where(units < 20, y, np.nan)
    powered = powered_mean(shown, np.zeros(400), units=units, conversations=units).alone
    single = powered_mean(shown[::4], np.zeros(100)).alone
    assert (powered.low, powered.high) == pytest.approx((single.low, single.high))


def test_a_share_has_a_width_even_where_all_are_alike() -> None:
    shown = np.full(200, np.nan)
    shown[:20] = 1.0
    share = powered_mean(shown, np.zeros(200), scale=(0.0, 1.0)).both
    assert share.value == share.high == 1.0
    assert 0.7 < share.low < 0.95


def test_few_ratings_do_without_the_scores() -> None:
    _, shown, x = rows(14)
    powered = powered_mean(shown, x)
    assert powered.tuning == 0.0
    assert powered.both == powered.alone
    assert "fewer than 15" in str(powered.reason)


def test_nothing_rated_is_no_number_and_all_rated_is_no_interval() -> None:
    y, _, x = rows(0)
    assert math.isnan(powered_mean(np.full(400, np.nan), x).both.value)
    every = powered_mean(y, x)
    assert every.both.value == pytest.approx(y.mean())
    assert math.isnan(every.both.low)
    assert every.reason is None


@pytest.mark.parametrize("n", range(20, 138))
def test_equal_ratings_have_a_width_whatever_their_weights_sum_to(n: int) -> None:
    # 1 / n, n times, is .999... for 53 of these n, which once left an interval of no width.
    shown = np.where(np.arange(400) < n, 1.0, np.nan)
    share = powered_mean(shown, np.zeros(400), scale=(0.0, 1.0)).both
    assert share.value == share.high == 1.0
    assert 0.8 < share.low < 0.995


def test_few_ratings_have_no_interval_but_the_number_that_it_takes() -> None:
    shown = np.where(np.arange(200) < 5, 4.0, np.nan)
    powered = powered_mean(shown, np.zeros(200), scale=(1.0, 5.0))
    assert powered.both.value == powered.alone.value == 4.0
    assert math.isnan(powered.both.low)
    assert "no interval, which takes 20 ratings (there are 5)" in str(powered.reason)
    twenty = powered_mean(np.where(np.arange(200) < 20, 4.0, np.nan), np.zeros(200), scale=(1.0, 5.0))
    assert twenty.both.low < 4 < twenty.both.high


def test_few_conversations_have_no_interval_for_future_replies() -> None:
    y = np.random.default_rng(0).choice([3.0, 4.0], 200)
    groups = np.arange(200) // 20
    for n in (1, 9, 10):
        shown = np.where(groups < n, y, np.nan)
        options = {"conversations": groups, "population": "future", "scale": (1.0, 5.0)}
        powered = powered_mean(shown, np.zeros(200), **options)  # type: ignore[arg-type]
        assert powered.both.value == pytest.approx(y[groups < n].mean())
        if n < 10:
            assert math.isnan(powered.both.low)
            assert f"which takes ratings in 10 conversations (there are {n})" in str(powered.reason)
        else:
            assert powered.both.low < powered.both.value < powered.both.high


def test_a_rating_outside_the_scale_is_an_error() -> None:
    shown = np.where(np.arange(100) < 30, 6.0, np.nan)
    with pytest.raises(InputError, match="the rating 6 lies outside the scale 1 to 5"):
        powered_mean(shown, np.zeros(100), scale=(1.0, 5.0))


def test_equal_ratings_without_a_scale_have_no_interval() -> None:
    powered = powered_mean(np.where(np.arange(100) < 30, 3.0, np.nan), np.zeros(100))
    assert math.isnan(powered.both.low)
    assert "no scale says what others can be" in str(powered.reason)


def test_the_interval_of_plain_ratings_is_that_of_the_bounded_mean() -> None:
    y = np.random.default_rng(4).choice([1.0, 4.0, 5.0], 30)
    shown = np.r_[y, np.full(10**6 - 30, np.nan)]
    found = powered_mean(shown, np.zeros(10**6), tuning=0.0, scale=(1.0, 5.0)).alone
    assert (found.low, found.high) == pytest.approx(bounded_mean_ends(y, (1, 5)), abs=1e-3)


def test_half_of_the_rows_give_an_interval_by_1_over_root_2() -> None:
    y = np.random.default_rng(4).choice([1.0, 3.0, 5.0], 4000)
    wide = powered_mean(np.r_[y, np.full(10**6, np.nan)], np.zeros(10**6 + 4000), scale=(1.0, 5.0)).alone
    half = powered_mean(np.r_[y, np.full(4000, np.nan)], np.zeros(8000), scale=(1.0, 5.0)).alone
    assert (half.high - half.low) / (wide.high - wide.low) == pytest.approx(math.sqrt(0.5), rel=0.01)


def test_missing_and_constant_scores_do_no_harm() -> None:
    y, shown, x = rows(80)
    gaps = np.where(np.arange(400) % 5 == 0, np.nan, x)
    powered = powered_mean(shown, gaps)
    assert powered.both.low < y.mean() < powered.both.high
    constant = powered_mean(shown, np.ones(400))
    assert constant.tuning == 0.0
    assert constant.both == constant.alone


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probabilities": np.full(400, 1.5)}, "probabilities"),
        ({"strata": np.arange(400)}, "strata have no rating"),
        ({"calibrate": False, "scores": np.zeros((400, 2))}, "only one score"),
        ({"scores": np.zeros(3)}, "different lengths"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, np.ndarray], words: str) -> None:
    _, shown, x = rows(50)
    with pytest.raises(InputError, match=words):
        powered_mean(shown, **{"scores": x, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("is_share", [False, True])
def test_intervals_hold_the_truth_at_50_ratings(is_share: bool) -> None:
    covered, random = 0, np.random.default_rng(11)
    for _ in range(400):
        y = np.clip(np.round(random.normal(3.4, 1, 500)), 1, 5)
        x = y + 1.3 * random.normal(size=500)
        y = (y >= 4).astype(float) if is_share else y
        shown = np.full(500, np.nan)
        chosen = random.permutation(500)[:50]
        shown[chosen] = y[chosen]
        found = powered_mean(shown, x, scale=(0.0, 1.0) if is_share else (1.0, 5.0)).both
        covered += found.low <= y.mean() <= found.high
    assert 0.925 <= covered / 400 <= 0.98  # docs/results/estimate.md has 4,000 rounds
