"""Bradley-Terry strengths: against statsmodels, by hand, by coverage, and where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from rejoinder.errors import InputError
from rejoinder.stats.bradley_terry import POINTS, rank_systems

NAMES = np.array(list("abcde"))
TRUE = np.array([1.0, 0.5, 0.0, -0.5, -1.0])


def judgements(n, seed, ties=0.2):
    random = np.random.default_rng(seed)
    i = random.integers(0, 5, n)
    j = (i + random.integers(1, 5, n)) % 5
    wins, tie = random.random(n) < 1 / (1 + np.exp(TRUE[j] - TRUE[i])), random.random(n) < ties
    return i, j, np.where(tie, 0.5, wins)


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_strengths_and_errors_equal_a_binomial_regression(ties) -> None:
    i, j, points = judgements(300, 1, ties)
    clusters = np.arange(300) // 6
    design = np.zeros((300, 5))
    design[np.arange(300), i] = 1
    design[np.arange(300), j] = -1
    model = sm.GLM(points, design[:, :4], family=sm.families.Binomial())
    centre = np.eye(5) - 0.2
    for groups, kind, n_groups in ((None, "HC0", 300), (clusters, "cluster", 50)):
        options = {} if groups is None else {"cov_kwds": {"groups": groups, "use_correction": False}}
        fit = model.fit(cov_type=kind, tol=1e-14, maxiter=200, **options)
        covariance = np.zeros((5, 5))
        covariance[:4, :4] = fit.cov_params()
        errors = np.sqrt(np.diag(centre @ covariance @ centre) * n_groups / (n_groups - 1))
        found = {s.system: s for s in rank_systems(NAMES[i], NAMES[j], points, groups).strengths}
        values = np.array([found[name].value for name in NAMES])
        margins = np.array([found[name].high for name in NAMES]) - values
        assert values == pytest.approx(centre @ np.append(fit.params, 0), abs=1e-8)
        assert margins == pytest.approx(stats.t.ppf(0.975, n_groups - 1) * errors, abs=1e-7)


def test_two_systems_by_hand() -> None:
    # 3 points of 4 against 1: odds of 3, strengths plus and minus half of log 3.
    found = rank_systems(["x"] * 4, ["y"] * 4, [1, 1, 0.5, 0.5])
    assert [s.system for s in found.strengths] == ["x", "y"]
    assert [s.value for s in found.strengths] == pytest.approx([math.log(3) / 2, -math.log(3) / 2])
    assert [(s.points, s.n) for s in found.strengths] == [(3.0, 4), (1.0, 4)]


def test_the_order_of_a_pair_does_not_matter() -> None:
    i, j, points = judgements(100, 2)
    one, two = rank_systems(NAMES[i], NAMES[j], points), rank_systems(NAMES[j], NAMES[i], 1 - points)
    for a, b in zip(one.strengths, two.strengths, strict=True):
        assert a[0] == b[0]
        assert a[1:] == pytest.approx(b[1:])


def test_all_ties_are_equal_strengths() -> None:
    found = rank_systems(["x", "y", "z"], ["y", "z", "x"], [POINTS["tie"]] * 3)
    assert [s.value for s in found.strengths] == pytest.approx([0, 0, 0], abs=1e-12)


def test_systems_that_never_met_are_told() -> None:
    found = rank_systems(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1, 1, 1, 1], shrinkage=1)
    assert found.reason == "no judgement connects a with c, d"
    assert all(math.isnan(s.value) for s in found.strengths)


def test_a_system_that_never_lost_is_told_and_shrinkage_helps() -> None:
    first, second, points = ["a", "a", "b", "c"], ["b", "c", "c", "b"], [1, 1, 1, 1]
    found = rank_systems(first, second, points)
    assert found.reason == "nobody took a point from a or its equals, so its strength is infinite; set shrinkage"
    assert math.isnan(found.strengths[0].value)
    assert found.strengths[0].system == "a"
    helped = rank_systems(first, second, points, shrinkage=0.1)
    assert helped.reason is None
    assert helped.strengths[0].system == "a"
    assert helped.strengths[0].value > 0
    assert sum(s.value for s in helped.strengths) == pytest.approx(0, abs=1e-12)


def test_missing_points_are_counted_and_wrong_ones_named() -> None:
    found = rank_systems(["a", "b", "a"], ["b", "a", "b"], [1, 1, None])
    assert (found.n, found.n_missing) == (2, 1)
    with pytest.raises(InputError, match=r"found 0\.7"):
        rank_systems(["a"], ["b"], [0.7])
    with pytest.raises(InputError, match="judgement 2 compares b with itself"):
        rank_systems(["a", "b"], ["b", "b"], [1, 1])
    with pytest.raises(InputError, match="shrinkage must be 0 or more"):
        rank_systems(["a"], ["b"], [1], shrinkage=-1)


@pytest.mark.parametrize("n", [100, 300, 900])
def test_an_interval_of_95_percent_covers_the_strength(n) -> None:
    rounds, covered = 400, 0
    for seed in range(rounds):
        i, j, points = judgements(n, 1000 + seed, ties=0.0)
        found = rank_systems(NAMES[i], NAMES[j], points, shrinkage=1e-9)
        covered += sum(s.low <= TRUE[NAMES.tolist().index(s.system)] <= s.high for s in found.strengths)
    assert 0.93 <= covered / (5 * rounds) <= 0.97
