"""Every statistic on input without an answer: a documented NaN with a reason, never a warning or another exception."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rejoinder.errors import RejoinderError
from rejoinder.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_difference, correlation_intervals
from rejoinder.stats.bradley_terry import rank_systems
from rejoinder.stats.calibration import brier, calibration
from rejoinder.stats.ceiling import one_against_rest, split_half
from rejoinder.stats.correlation import correlate
from rejoinder.stats.grouped import correlate_at_levels, correlate_between, correlate_within
from rejoinder.stats.holm import holm
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.stats.mcnemar import mcnemar_test
from rejoinder.stats.paired_difference import difference_interval, paired_difference, sign_flip_test
from rejoinder.stats.pairwise_accuracy import calibrated_accuracy, pairwise_accuracy
from rejoinder.stats.permutation import permutation_test
from rejoinder.stats.power import estimate_spread
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.stats.rating_matrix import rating_matrix, rating_unit_interval
from rejoinder.stats.sensitivity import domain_sensitivity
from rejoinder.stats.williams import williams_test

NAN, INF = math.nan, math.inf
METHODS = ("pearson", "spearman", "kendall")
PLANS = [
    BootstrapPlan(at=at, resample=unit, method=method, n_resamples=20)
    for at in ("pooled", "within_system", "within_item", "system")
    for unit in ("rows", "items", "systems", "both")
    for method in METHODS
]

# name: scores, ratings, systems, items
ROWS: dict[str, tuple[list[Any], list[Any], list[Any], list[Any]]] = {
    "empty": ([], [], [], []),
    "one row": ([1.0], [2.0], ["a"], ["i"]),
    "two rows": ([1.0, 2.0], [2.0, 1.0], ["a", "b"], ["i", "i"]),
    "all missing": ([NAN] * 4, [1, 2, 3, 4], ["a", "a", "b", "b"], ["i", "j", "i", "j"]),
    "none at all": ([None] * 4, [None] * 4, ["a", "a", "b", "b"], ["i", "j", "i", "j"]),
    "never both": ([1, 2, NAN, NAN], [NAN, NAN, 1, 2], ["a", "a", "b", "b"], ["i", "j", "i", "j"]),
    "constant ratings": ([1, 2, 3, 4], [5, 5, 5, 5], ["a", "a", "b", "b"], ["i", "j", "i", "j"]),
    "constant scores": ([5, 5, 5, 5], [1, 2, 3, 4], ["a", "a", "b", "b"], ["i", "j", "i", "j"]),
    "constant fractions": ([0.1] * 7, [0.7] * 7, list("aaabbcc"), list("ijkijij")),
    "one system": ([1, 2, 3, 4, 2], [1, 3, 2, 5, 4], ["a"] * 5, list("ijklm")),
    "two systems": ([1, 2, 3, 4, 2, 1], [1, 3, 2, 5, 4, 4], list("aaabbb"), list("ijkijk")),
    "one item": ([1, 2, 3, 4, 2], [1, 3, 2, 5, 4], list("abcde"), ["i"] * 5),
    "one rating per item and system": ([1, 2, 3, 4], [2, 1, 4, 3], list("abcd"), list("ijkl")),
    "constant inside systems": ([1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3], list("aaabbb"), list("ijkijk")),
    "infinite": ([1, INF, 3, -INF, 2], [1, 3, INF, 5, 4], list("aabbc"), list("ijiji")),
    "huge": ([1e308, -1e308, 1e308, 3, 2], [1e308, 1e308, -1e308, 5, 4], list("aabbc"), list("ijiji")),
    "tiny": ([5e-324, 0, 1e-310, 3e-320, 0], [0, 5e-324, 0, 0, 1e-315], list("aabbc"), list("ijiji")),
    "rounding": ([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2], [1, 2, 3, 4], list("aabb"), list("ijij")),
}

Row = Callable[[Any, Any, Any, Any], Any]
ON_ROWS: dict[str, Row] = {
    **{m: lambda x, y, s, i, m=m: correlate(x, y, m) for m in METHODS},
    **{f"levels {m}": lambda x, y, s, i, m=m: correlate_at_levels(x, y, s, i, m) for m in METHODS},
    **{f"within {m}": lambda x, y, s, i, m=m: correlate_within(x, y, s, m) for m in METHODS},
    **{f"between {m}": lambda x, y, s, i, m=m: correlate_between(x, y, s, m) for m in METHODS},
    **{f"permutation {a}": lambda x, y, s, i, a=a: permutation_test(
        x, x[::-1], y, systems=s, items=i, at=a, swap="both", n_permutations=20)
        for a in ("pooled", "within_system", "within_item", "system")},
    "mean": lambda x, y, s, i: mean_interval(x),
    "mean by cluster": lambda x, y, s, i: mean_interval(x, s),
    "williams": lambda x, y, s, i: williams_test(x, x[::-1], y),
    "williams of itself": lambda x, y, s, i: williams_test(x, x, y),
    "pairwise": lambda x, y, s, i: pairwise_accuracy(x, y, i),
    "calibrated": lambda x, y, s, i: calibrated_accuracy(x, y, s),
    "calibrated over all": lambda x, y, s, i: calibrated_accuracy(x, y),
    "difference": lambda x, y, s, i: difference_interval(x, y, i, n_resamples=20),
    "paired": lambda x, y, s, i: paired_difference(x, y, i),
    "paired, random flips": lambda x, y, s, i: paired_difference(x, y, n_permutations=3),
    "sign flips": lambda x, y, s, i: sign_flip_test(x, y, s),
    "random sign flips": lambda x, y, s, i: sign_flip_test(x, y, n_permutations=3),
    "pilot": lambda x, y, s, i: estimate_spread(x, y, s),
    "rank ranges": lambda x, y, s, i: rank_ranges(x, s, i, n_resamples=20),
    "cohen": lambda x, y, s, i: cohen_kappa(x, y),
    "cohen weighted": lambda x, y, s, i: cohen_kappa(x, y, "quadratic"),
    "calibration": lambda x, y, s, i: calibration(x, y),
    "calibration by mass": lambda x, y, s, i: calibration(x, y, binning="mass"),
    "brier": lambda x, y, s, i: brier(x, y),
    "mcnemar": lambda x, y, s, i: mcnemar_test(x, y),
    "holm": lambda x, y, s, i: holm(x),
    "sensitivity": lambda x, y, s, i: domain_sensitivity(x),
    "preferences": lambda x, y, s, i: rank_systems(s, s[::-1], x),
    "judgements": lambda x, y, s, i: rank_systems(s, [f"other {name}" for name in s], [1.0] * len(s), i),
    "ratings as a matrix": lambda x, y, s, i: krippendorff_alpha(rating_matrix(i, s, x).values),
}  # fmt: skip

MATRICES: dict[str, Any] = {
    "empty": [],
    "no raters": np.empty((3, 0)),
    "no units": np.empty((0, 3)),
    "one rating": [[1.0]],
    "one unit": [[1.0, 2.0, 3.0]],
    "one rater": [[1.0], [2.0], [3.0]],
    "all missing": np.full((4, 3), NAN),
    "constant": np.full((4, 3), 2.0),
    "constant fractions": np.full((7, 3), 0.1),
    "one rating a unit": [[1, NAN], [NAN, 2], [3, NAN]],
    "a rater who rated one unit": [[1, 2, 5], [2, 2, NAN], [3, 4, NAN], [4, 4, NAN]],
    "infinite": [[1, INF], [2, 3], [-INF, 4], [5, 5], [1, 2]],
    "negative": [[-1, 1], [2, 3], [0, 0]],
    "zeros": [[0, 0], [0, 1], [0, 0]],
    "huge": [[1e308, -1e308], [2, 3], [1e308, 1e308]],
}
ON_MATRICES: dict[str, Callable[[Any], Any]] = {
    "fleiss": fleiss_kappa,
    **{s: lambda m, s=s: krippendorff_alpha(m, s) for s in ("nominal", "ordinal", "interval", "ratio")},
    **{f"ceiling {k}": lambda m, k=k: one_against_rest(m, k) for k in METHODS},
    **{f"halves {k}": lambda m, k=k: split_half(m, list(range(len(m))), k, 5) for k in METHODS},
    "alpha with interval": lambda m: rating_unit_interval(m, lambda x: krippendorff_alpha(x).value, n_resamples=10),
}  # fmt: skip


def explained(result: Any) -> None:
    """A value that is NaN comes with a reason; so does an interval without ends."""
    if isinstance(result, dict):
        for part in result.values():
            explained(part)
    elif isinstance(result, tuple) and hasattr(result, "reason"):
        value = result[0]
        if isinstance(value, float) and math.isnan(value):
            assert result.reason, result
        if isinstance(result, Interval) and math.isnan(result.low):
            assert result.reason, result
        assert result.reason is None or result.reason == result.reason.strip() != ""
    elif isinstance(result, tuple):
        for part in result:
            explained(part)


def attempt(function: Callable[[], Any]) -> Any:
    """What the function gives, or None where it says what is wrong with the input."""
    try:
        return function()
    except RejoinderError:
        return None


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("name", ON_ROWS)
def test_rows_without_an_answer_have_a_reason(name: str, case: str) -> None:
    explained(attempt(lambda: ON_ROWS[name](*ROWS[case])))


@pytest.mark.parametrize("case", ROWS)
def test_every_bootstrap_of_rows_without_an_answer_has_a_reason(case: str) -> None:
    x, y, systems, items = ROWS[case]
    for plan in PLANS:
        explained(correlation_intervals({"x": x, "y": y}, y, plan, systems=systems, items=items))
        explained(correlation_difference(x, x[::-1], y, plan, systems=systems, items=items))


@pytest.mark.parametrize("case", MATRICES)
@pytest.mark.parametrize("name", ON_MATRICES)
def test_matrices_without_an_answer_have_a_reason(name: str, case: str) -> None:
    explained(attempt(lambda: ON_MATRICES[name](MATRICES[case])))


def test_the_degenerate_answers_are_the_documented_ones() -> None:
    assert correlate([1, 2], [1, 2]).reason == "fewer than 3 pairs"
    assert correlate_within([1, 2, 3], [1, 2, 3], ["a", "b", "c"]).reason == "no group has 3 pairs that vary"
    assert correlate_between([1, 2, 3, 4], [1, 2, 3, 4], ["a", "a", "b", "b"]).reason == "fewer than 3 systems"
    assert permutation_test([1, 2, 3], [3, 1, 2], [1, 1, 1]).reason == "constant: ratings"
    assert fleiss_kappa(np.full((4, 3), 2.0)).reason == "no disagreement is expected: all ratings are the same"
    assert krippendorff_alpha([[1, NAN], [NAN, 2]]).reason == "no unit has two ratings"
    assert pairwise_accuracy([1], [1]).reason == "no two rows to compare"
    assert difference_interval([], []).reason == "no pairs"
    assert paired_difference([], []).reason == "no pairs"
    assert sign_flip_test([1, 2], [1, 2])[:2] == (0.0, 1.0)
    assert split_half([[1, 2], [3, 4]], ["a", "b"]).reason == "fewer than 3 systems with two ratings on a unit"
    assert one_against_rest([[1.0], [2.0]]).reason == "no rater shares 3 units that vary with another"
