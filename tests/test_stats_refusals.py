"""Every statistic refuses arrays that do not go together, counts that are no counts and names that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rejoinder.errors import InputError, RejoinderError
from rejoinder.stats.agreement import cohen_kappa, krippendorff_alpha
from rejoinder.stats.agreement_interval import alpha_interval, cohen_intervals
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_difference, correlation_intervals
from rejoinder.stats.bradley_terry import rank_systems
from rejoinder.stats.calibration import brier, calibration
from rejoinder.stats.ceiling import reachable_by_labels, reachable_by_means, split_half
from rejoinder.stats.correlation import correlate
from rejoinder.stats.grouped import correlate_at_levels, correlate_between, correlate_within
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.mcnemar import mcnemar_from_counts, mcnemar_test
from rejoinder.stats.moments import compute_moments
from rejoinder.stats.order_uncertainty import order_uncertainty
from rejoinder.stats.paired_difference import difference_interval, paired_difference, sign_flip_test
from rejoinder.stats.pairwise_accuracy import calibrated_accuracy, pairwise_accuracy
from rejoinder.stats.permutation import permutation_test
from rejoinder.stats.power import detectable_difference, power_at, rows_needed
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.stats.rating_matrix import rating_matrix, rating_unit_interval
from rejoinder.stats.rating_noise import estimate_noise
from rejoinder.stats.williams import williams_test

X, Y, Z = [1.0, 2.0, 3.0, 5.0], [2.0, 1.0, 4.0, 3.0], [1.0, 3.0, 2.0, 4.0]
S, ITEMS = list("abab"), list("ijkl")
ONE, TWO = [1.0], ["a", "b"]
MATRIX = [[1.0, 2.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0]]
Call = Callable[[], Any]

LENGTHS: dict[str, Call] = {
    # One value would be spread over all rows by numpy, so that nothing would be noticed.
    "correlate": lambda: correlate(X, ONE),
    "difference of correlations": lambda: correlation_difference(X, ONE, Y),
    "difference of correlations, ratings": lambda: correlation_difference(X, Z, ONE),
    "correlations": lambda: correlation_intervals({"m": ONE}, Y),
    "correlations, systems": lambda: correlation_intervals({"m": X}, Y, systems=TWO),
    "correlations, items": lambda: correlation_intervals({"m": X}, Y, items=TWO),
    "split half": lambda: split_half(MATRIX, TWO),
    "labels": lambda: reachable_by_labels(X, Y, ONE),
    "means": lambda: reachable_by_means(X, ONE),
    "difference": lambda: difference_interval(X, ONE),
    "difference, clusters": lambda: difference_interval(X, Y, TWO),
    "paired": lambda: paired_difference(X, ONE),
    "paired, clusters": lambda: paired_difference(X, Y, TWO),
    "sign flips": lambda: sign_flip_test(X, ONE),
    "sign flips, clusters": lambda: sign_flip_test(X, Y, TWO),
    "within": lambda: correlate_within(X, Y, TWO),
    "within, ratings": lambda: correlate_within(X, ONE, S),
    "between": lambda: correlate_between(X, Y, TWO),
    "between, ratings": lambda: correlate_between(X, ONE, S),
    "levels": lambda: correlate_at_levels(X, Y, S, TWO),
    "mean": lambda: mean_interval(X, TWO),
    "moments": lambda: compute_moments(X, TWO),
    "pairs": lambda: pairwise_accuracy(X, ONE),
    "pairs, groups": lambda: pairwise_accuracy(X, Y, TWO),
    "calibrated pairs, groups": lambda: calibrated_accuracy(X, Y, [*S, "a"]),
    "permutation": lambda: permutation_test(X, ONE, Y),
    "permutation, ratings": lambda: permutation_test(X, Z, ONE),
    "ranks": lambda: rank_ranges(X, TWO, ITEMS),
    "ranks, clusters": lambda: rank_ranges(X, S, TWO),
    "strengths": lambda: rank_systems(S, TWO, X),
    "strengths, points": lambda: rank_systems(["a", "b"], ["b", "a"], [1.0]),
    "strengths, clusters": lambda: rank_systems(["a", "b"], ["b", "a"], [1.0, 1.0], ["x"]),
    "noise": lambda: estimate_noise(MATRIX, [[1.0, 2.0]]),
    "matrix": lambda: rating_matrix(ITEMS, TWO, X),
    "matrix, ratings": lambda: rating_matrix(ITEMS, S, ONE),
    "williams": lambda: williams_test(X, ONE, Y),
    "mcnemar": lambda: mcnemar_test([1, 0, 1], [1]),
    "brier": lambda: brier([0.1, 0.2], [1]),
    "calibration": lambda: calibration([0.1, 0.2], [1]),
    "kappa": lambda: cohen_kappa(X, ONE),
}
NAMES_AND_COUNTS: dict[str, tuple[Call, str]] = {
    "correlation": (lambda: correlate(X, Y, "spearmen"), "spearmen"),  # type: ignore[arg-type]
    "levels": (lambda: correlation_intervals({"m": X}, Y, BootstrapPlan(at="whole")), "whole"),  # type: ignore[arg-type]
    "level's correlation": (lambda: correlation_intervals({"m": X}, Y, BootstrapPlan(method="r")), "'r'"),  # type: ignore[arg-type]
    "unit": (lambda: correlation_intervals({"m": X}, Y, BootstrapPlan(resample="raters")), "raters"),  # type: ignore[arg-type]
    "interval": (lambda: difference_interval(X, Y, kind="wide"), "wide"),  # type: ignore[arg-type]
    "weights": (lambda: cohen_kappa(X, Y, weights="cubic"), "cubic"),  # type: ignore[arg-type]
    "weights of intervals": (lambda: cohen_intervals(MATRIX, "cubic"), "cubic"),  # type: ignore[arg-type]
    "scale": (lambda: krippendorff_alpha(MATRIX, "metric"), "metric"),  # type: ignore[arg-type]
    "scale of intervals": (lambda: alpha_interval(MATRIX, "metric"), "metric"),  # type: ignore[arg-type]
    "swap": (lambda: permutation_test(X, Z, Y, swap="raters"), "raters"),  # type: ignore[arg-type]
    "mcnemar": (lambda: mcnemar_from_counts(1, 2, "normal"), "normal"),  # type: ignore[arg-type]
    "binning": (lambda: calibration([0.1, 0.9], [0, 1], 2, "mean"), "mean"),  # type: ignore[arg-type]
    "within's correlation": (lambda: correlate_within(X, Y, S, "r"), "'r'"),  # type: ignore[arg-type]
    "resamples": (lambda: difference_interval(X, Y, n_resamples=0), "n_resamples"),
    "resamples of correlations": (
        lambda: correlation_intervals({"m": X}, Y, BootstrapPlan(n_resamples=0)),
        "n_resamples",
    ),
    "resamples of orders": (lambda: order_uncertainty(np.ones((2, 2)), n_resamples=0), "n_resamples"),
    "resamples of ranks": (lambda: rank_ranges(X, S, ITEMS, n_resamples=0), "n_resamples"),
    "resamples of units": (lambda: rating_unit_interval(MATRIX, lambda m: 1.0, n_resamples=0), "n_resamples"),
    "permutations": (lambda: sign_flip_test(X, Y, n_permutations=0), "n_permutations"),
    "flips": (lambda: paired_difference(X, Y, n_permutations=0), "n_permutations"),
    "permutations of metrics": (lambda: permutation_test(X, Z, Y, n_permutations=0), "n_permutations"),
    "splits": (lambda: split_half(MATRIX, S, n_splits=0), "n_splits"),
    "bins": (lambda: calibration([0.1, 0.9], [0, 1], 0), "n_bins"),
    "counts": (lambda: mcnemar_from_counts(-1, 2), "b must"),
    "other counts": (lambda: mcnemar_from_counts(1, -2), "c must"),
    "seed": (lambda: difference_interval(X, Y, seed=-1), "seed"),
    "level": (lambda: mean_interval(X, level=1.0), "level"),
    "level of moments": (lambda: compute_moments(X, ITEMS).interval(0.0), "level"),
    "level of differences": (lambda: difference_interval(X, Y, level=95), "level"),
    "level of a paired difference": (lambda: paired_difference(X, Y, level=95), "level"),
    "level of strengths": (lambda: rank_systems(["a", "b"], ["b", "a"], [1, 1], level=0.0), "level"),
    "level of ranks": (lambda: rank_ranges(X, S, ITEMS, level=1.0), "level"),
    "power": (lambda: rows_needed(1.0, 1.0, power=1.0), "power"),
    "power to detect": (lambda: detectable_difference(9, 1.0, power=0.0), "power"),
    "alpha": (lambda: power_at(9, 1.0, 1.0, alpha=0.0), "alpha"),
    "epsilon": (lambda: pairwise_accuracy(X, Y, epsilon=-0.1), "epsilon"),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_arrays_that_do_not_go_together_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"different lengths \(.*\); give each of them one value per row"):
        LENGTHS[name]()


@pytest.mark.parametrize("name", NAMES_AND_COUNTS)
def test_names_and_counts_that_make_no_sense_are_refused(name: str) -> None:
    call, named = NAMES_AND_COUNTS[name]
    with pytest.raises(RejoinderError, match=named):
        call()


def test_the_least_that_is_allowed_is_allowed() -> None:
    assert difference_interval(X, Y, n_resamples=1, seed=0).n == 4
    assert sign_flip_test(X, Y, n_permutations=1).n == 4
    assert paired_difference(X, Y, n_permutations=1).n == 4
    assert mcnemar_from_counts(0, 1).n == 1
    assert calibration([0.1, 0.9], [0, 1], 1).n == 2
    assert pairwise_accuracy(X, Y, epsilon=0.0).n_pairs == 6
