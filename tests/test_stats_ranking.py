"""Bradley-Terry strengths: against statsmodels, by hand, by coverage, and where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import minimize

from rejoinder.errors import InputError
from rejoinder.stats.bradley_terry import POINTS, rank_finite, rank_strengths, rank_systems

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


# Davidson's (1970) model of ties


def tied_judgements(n, seed, ties):
    """Judgements by the model itself: a tie is ``ties`` times as likely as the geometric mean of the two wins."""
    random = np.random.default_rng(seed)
    i = random.integers(0, 5, n)
    j = (i + random.integers(1, 5, n)) % 5
    ahead = (TRUE[i] - TRUE[j]) / 2
    shares = np.column_stack([np.exp(ahead), np.full(n, ties), np.exp(-ahead)])
    place = (random.random(n)[:, None] > (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    return i, j, np.array([1.0, 0.5, 0.0])[place]


@pytest.mark.parametrize(("seed", "ties"), [(1, 0.2), (2, 1.0), (3, 4.0)])
def test_ties_equal_a_direct_maximum_likelihood_fit(seed, ties) -> None:
    i, j, points = tied_judgements(400, seed, ties)

    def loss(free):
        worth, tie = np.exp(np.append(free[:4], -free[:4].sum())), np.exp(free[4])
        middle = tie * np.sqrt(worth[i] * worth[j])
        chosen = np.where(points == 1, worth[i], np.where(points == 0, worth[j], middle))
        return -np.log(chosen / (worth[i] + worth[j] + middle)).sum()

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x
    found = rank_systems(NAMES[i], NAMES[j], points, ties="davidson")
    strengths = {s.system: s.value for s in found.strengths}
    assert [strengths[name] for name in NAMES] == pytest.approx([*best[:4], -best[:4].sum()], abs=1e-5)
    assert found.ties.value == pytest.approx(math.exp(best[4]), abs=1e-5)
    assert found.ties.low < ties < found.ties.high


def test_without_ties_the_model_is_that_of_bradley_and_terry() -> None:
    i, j, points = judgements(300, 4, ties=0.0)
    plain, davidson = (rank_systems(NAMES[i], NAMES[j], points, ties=ties) for ties in ("half", "davidson"))
    assert davidson.strengths == plain.strengths
    assert (plain.ties, davidson.ties.value, davidson.ties.equal_share) == (None, 0.0, 0.0)
    both = (rank_strengths(NAMES[i], NAMES[j], points, ties=ties, n_resamples=50) for ties in ("half", "davidson"))
    assert next(both) == next(both)


def test_two_systems_with_ties_by_hand() -> None:
    # Shares of 4, 2 and 1 of 7: worths of 4 to 1, and ties 2 / sqrt(4 * 1) = 1.
    found = rank_systems(["x"] * 7, ["y"] * 7, [1] * 4 + [0.5] * 2 + [0], ties="davidson")
    assert [s.value for s in found.strengths] == pytest.approx([math.log(2), -math.log(2)])
    assert found.ties.value == pytest.approx(1.0)
    assert found.ties.equal_share == pytest.approx(1 / 3)
    assert "tie in 33% of their pairs" in found.ties.sentence()


def test_a_system_that_only_wins_and_ties_has_no_strength_but_shrinkage_helps() -> None:
    rows = ["x"] * 6, ["y"] * 6, [1, 1, 1, 0.5, 0.5, 0.5]
    found = rank_systems(*rows, ties="davidson")
    assert found.reason == "wins go one way only, so that strengths and ties are infinite; set shrinkage"
    ranking, shrunk = rank_finite(*rows, ties="davidson")
    assert shrunk == "wins go one way only, so that strengths and ties are infinite"
    assert ranking.strengths[0].value > 0
    assert rank_finite(["x"] * 3, ["y"] * 3, [1, 0, 0.5], ties="davidson")[1] is None


@pytest.mark.parametrize("seed", range(40))
def test_strengths_with_ties_exist_exactly_where_a_search_finds_them(seed) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 12))
    i = random.integers(0, 4, n)
    j = (i + random.integers(1, 4, n)) % 4
    points = random.choice([1.0, 0.5, 0.0], n, p=[0.4, 0.4, 0.2])
    found = rank_systems(NAMES[i], NAMES[j], points, ties="davidson")
    almost = rank_systems(NAMES[i], NAMES[j], points, ties="davidson", shrinkage=1e-7)
    if almost.reason is None and 0 < almost.ties.value < math.inf:
        widest = max(abs(s.value) for s in almost.strengths)
        assert (found.reason is None) == (widest < 5), (found.reason, widest)


def test_when_every_judgement_is_a_tie_there_is_no_order() -> None:
    found = rank_systems(["x", "y", "z"], ["y", "z", "x"], [0.5] * 3, ties="davidson")
    assert found.reason == "every judgement is a tie"
    assert all(math.isnan(s.value) for s in found.strengths)
    assert rank_strengths(["x", "y", "z"], ["y", "z", "x"], [0.5] * 3, ties="davidson") == {}


def test_an_interval_of_95_percent_covers_strengths_and_ties() -> None:
    rounds, covered, ties = 300, 0, 0
    for seed in range(rounds):
        i, j, points = tied_judgements(300, 5000 + seed, 0.8)
        found = rank_systems(NAMES[i], NAMES[j], points, ties="davidson")
        covered += sum(s.low <= TRUE[NAMES.tolist().index(s.system)] <= s.high for s in found.strengths)
        ties += found.ties.low <= 0.8 <= found.ties.high
    assert 0.93 <= covered / (5 * rounds) <= 0.97
    assert 0.92 <= ties / rounds <= 0.98
