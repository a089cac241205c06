"""Domain sensitivity, calibration and power: published numbers, by hand, and against statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from rejoinder.errors import InputError
from rejoinder.stats.calibration import brier, calibration
from rejoinder.stats.power import detectable_difference, estimate_spread, power_at, rows_needed
from rejoinder.stats.sensitivity import domain_sensitivity


@pytest.mark.parametrize(
    ("spearman", "published"),
    [
        ([-0.06, -0.08, -0.25, 0.17, 0.15], -0.7),  # FED-CORRECT
        ([0.19, -0.24, 0.65, 0.05, 0.07], -2.7),  # NORM-PROB
        ([0.08, 0.08, 0.30, -0.03, -0.04], -7.5),  # COS-NSP-BERT
        ([0.09, 0.26, -0.02, 0.08, 0.11], -13),  # COS-FT
        ([0.13, 0.20, 0.03, 0.03, 0.06], 6.7),  # COS-MAX-BERT
        ([0.61, 0.00, 0.70, 0.12, 0.15], math.inf),  # GRADE
        ([0.33, 0.10, 0.62, 0.14, 0.22], 6.2),  # NUP-BERT (H)
        ([0.58, 0.18, 0.53, 0.15, 0.24], 3.9),  # IDK (H)
    ],
)
def test_domain_sensitivity_is_table_4_of_the_idk_paper(spearman, published) -> None:
    # from the rounded correlations of its tables 2 and 3
    assert domain_sensitivity(spearman).value == pytest.approx(published, abs=0.05)


def test_domain_sensitivity_needs_a_positive_correlation() -> None:
    assert domain_sensitivity([-0.1, -0.3]).reason == "no correlation is positive"
    assert domain_sensitivity([0.4, None])[1:] == (0.4, 0.4, 1, 1, "fewer than 2 data sets")
    with pytest.raises(InputError, match="between -1 and 1; found 40"):
        domain_sensitivity([40, 3])


def test_calibration_by_hand() -> None:
    p, y = [0.1, 0.15, 0.85, 0.95, 1.0, None], [0, 1, 1, 1, 0, 1]
    found = calibration(p, y, n_bins=10)
    # [0.1, 0.2) holds 0.1 and 0.15 (mean 0.125, outcome 0.5), [0.8, 0.9) 0.85 (1), [0.9, 1] 0.95 and 1 (0.975, 0.5)
    assert [(b.n, b.probability, b.outcome) for b in found.bins] == [
        (2, pytest.approx(0.125), 0.5),
        (1, pytest.approx(0.85), 1.0),
        (2, pytest.approx(0.975), 0.5),
    ]
    assert found.error == pytest.approx((2 * 0.375 + 0.15 + 2 * 0.475) / 5)
    assert found.largest == pytest.approx(0.475)
    assert (found.n, found.n_missing) == (5, 1)
    assert (found.bins[0].low, found.bins[0].high, found.bins[-1].high) == (0.1, 0.2, 1.0)


def test_bins_of_equal_mass_are_equally_full_and_keep_ties_together() -> None:
    p = np.linspace(0, 1, 100) ** 3
    found = calibration(p, (p > 0.5).astype(float), n_bins=5, binning="mass")
    assert [b.n for b in found.bins] == [20] * 5
    tied = calibration([0.5] * 9 + [0.9], [0] * 9 + [1], n_bins=5, binning="mass")
    assert [b.n for b in tied.bins] == [9, 1]


def test_calibrated_scores_have_a_small_error() -> None:
    random = np.random.default_rng(1)
    p = random.random(20000)
    y = (random.random(20000) < p).astype(float)
    for binning in ("width", "mass"):
        assert calibration(p, y, binning=binning).error < 0.02
        assert calibration(p**3, y, binning=binning).error > 0.2


def test_brier_by_hand() -> None:
    assert brier([0.5, 1, 0.2, None], [1, 1, 0, 1])[:3] == (pytest.approx((0.25 + 0 + 0.04) / 3), 3, 1)
    with pytest.raises(InputError, match=r"probabilities must lie between 0 and 1; found 1\.5"):
        brier([1.5], [1])


@pytest.mark.parametrize("n", [5, 30, 400, 5000])
@pytest.mark.parametrize("effect", [0.05, 0.2, 0.8])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_power_equals_statsmodels(n, effect, alpha) -> None:
    theirs = TTestPower().power(effect, n, alpha)
    expected = 1.0 if math.isnan(theirs) else theirs  # its noncentral t gives up where the power is all but 1
    assert power_at(n, effect * 3, 3, alpha=alpha).power == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("effect", [0.05, 0.3, 1.0])
def test_rows_needed_are_the_fewest_that_reach_the_power(effect) -> None:
    theirs = TTestPower().solve_power(effect, None, 0.05, 0.9)
    found = rows_needed(effect, 1, power=0.9)
    assert found.n == math.ceil(theirs - 1e-6)
    assert power_at(found.n - 1, effect, 1).power < 0.9 <= found.power


def test_the_detectable_difference_has_the_power_asked_for() -> None:
    for n in (10, 200, 10000):
        found = detectable_difference(n, 2.0, power=0.8, cluster_size=2, icc=0.3)
        assert power_at(n, found.difference, 2.0, cluster_size=2, icc=0.3).power == pytest.approx(0.8, abs=1e-10)


def test_clusters_cost_rows() -> None:
    # a design effect of 1 + 4 * 0.25 = 2 needs about twice the rows
    plain, clustered = rows_needed(0.1, 1), rows_needed(0.1, 1, cluster_size=5, icc=0.25)
    assert clustered.design_effect == 2
    assert 2 * plain.n <= clustered.n <= 2 * plain.n + 20
    assert power_at(100, 0.3, 1, cluster_size=1, icc=0.9) == power_at(100, 0.3, 1)


def test_power_is_what_a_simulation_finds() -> None:
    from rejoinder.stats.interval import mean_interval

    random = np.random.default_rng(2)
    clusters, rounds = np.repeat(np.arange(30), 4), 1500
    found = 0
    for _ in range(rounds):
        x = 0.3 + 0.5 * random.normal(size=30)[clusters] + math.sqrt(0.75) * random.normal(size=120)
        interval = mean_interval(x, clusters)
        found += not interval.low <= 0 <= interval.high
    planned = power_at(120, 0.3, 1.0, cluster_size=4, icc=0.25).power
    assert found / rounds == pytest.approx(planned, abs=0.04)


def test_plans_that_cannot_be_made_say_so() -> None:
    assert rows_needed(0, 1).reason == "a difference of 0 cannot be detected"
    assert power_at(3, 1, 1, cluster_size=5).reason == "fewer than 2 clusters"
    assert power_at(30, 1, 0).reason == "the differences do not vary"
    assert rows_needed(1e-9, 1).reason == "more than 1,000,000,000,000 rows"
    assert detectable_difference(1, 1).reason == "fewer than 2 clusters"
    for wrong in ({"sd": -1}, {"sd": 1, "icc": 2}, {"sd": 1, "cluster_size": 0}, {"sd": 1, "alpha": 5}):
        with pytest.raises(InputError):
            power_at(30, 1, **wrong)
    with pytest.raises(InputError, match="n must be a positive number"):
        power_at(math.nan, 1, 1)


def test_a_pilot_gives_the_numbers_to_plan_with() -> None:
    random = np.random.default_rng(3)
    clusters = np.repeat(np.arange(2000), 5)
    x = math.sqrt(0.3) * random.normal(size=2000)[clusters] + math.sqrt(0.7) * random.normal(size=10000)
    found = estimate_spread(x, np.zeros(10000), clusters)
    assert found.sd == pytest.approx(1, abs=0.03)
    assert found.icc == pytest.approx(0.3, abs=0.03)
    assert found.cluster_size == 5
    assert estimate_spread([1, 2, 4], [0, 0, 0]).icc == 0
    assert estimate_spread([1], [0]).reason == "fewer than 2 pairs"
