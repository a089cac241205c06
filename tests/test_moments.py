"""Means and intervals from sums that add up over parts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from rejoinder.stats.interval import mean_interval
from rejoinder.stats.moments import Moments, compute_moments


def rounding(found: Moments) -> float:
    """How far the margin may be off: the spread is a difference of sums, each of them right to some last bits.

    sqrt(a + d) - sqrt(a) is at most sqrt(d).
    """
    if found.n_clusters < 2:
        return 0.0
    mean = found.total / found.n
    summed = found.squares + 2 * abs(mean * found.products) + mean * mean * found.sizes
    error = math.sqrt(found.n_clusters / (found.n_clusters - 1) * 8 * np.finfo(float).eps * summed) / found.n
    return float(stdtrit(found.n_clusters - 1, 0.975)) * error


@settings(deadline=None)
@example([(0.0, 1), (2.0, 0), (2.0, 1), (-7.5e-16, 0)], 0)  # the clusters' means are all but equal
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 9)), min_size=4, max_size=60), st.integers(0, 9))
def test_parts_give_what_the_whole_gives(rows: list[tuple[float, int]], cut: int) -> None:
    values, clusters = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
    first = clusters < cut
    parts = [compute_moments(values[some], clusters[some]) for some in (first, ~first)]
    found, wanted = (parts[0] + parts[1]).interval(), mean_interval(values, clusters)
    assert found[3:] == wanted[3:]
    assert found.value == pytest.approx(wanted.value, rel=1e-12, abs=1e-12)
    most = 1e-12 + rounding(parts[0] + parts[1])
    assert found[1:3] == pytest.approx(wanted[1:3], rel=1e-9, abs=most, nan_ok=True)


def test_missing_values_are_counted_and_left_out() -> None:
    found = compute_moments([1.0, float("nan"), 3.0], ["a", "a", "b"])
    assert (found.n, found.n_missing, found.n_clusters) == (2, 1, 2)
    assert found.interval().value == 2.0


def test_a_centre_keeps_digits_and_must_be_one() -> None:
    values, clusters = 1e9 + np.arange(100) % 7, np.arange(100) // 4
    found = compute_moments(values, clusters, centre=1e9).interval()
    assert found[:3] == pytest.approx(mean_interval(values, clusters)[:3], rel=1e-15)
    with pytest.raises(ValueError, match="cannot be added"):
        compute_moments(values, clusters, centre=1.0) + Moments()


def test_nothing_and_one_cluster_have_no_interval() -> None:
    assert Moments().interval().reason == "no values"
    assert compute_moments([1.0, 2.0], ["a", "a"]).interval().reason == "fewer than 2 clusters"
