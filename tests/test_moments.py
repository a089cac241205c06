"""Means and intervals from sums that add up over parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.stats.interval import mean_interval
from rejoinder.stats.moments import Moments, moments


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 9)), min_size=4, max_size=60), st.integers(0, 9))
def test_parts_give_what_the_whole_gives(rows: list[tuple[float, int]], cut: int) -> None:
    values, clusters = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
    first = clusters < cut
    parts = [moments(values[some], clusters[some]) for some in (first, ~first)]
    found, wanted = (parts[0] + parts[1]).interval(), mean_interval(values, clusters)
    assert found[3:] == wanted[3:]
    assert found[:3] == pytest.approx(wanted[:3], rel=1e-9, abs=1e-7, nan_ok=True)


def test_missing_values_are_counted_and_left_out() -> None:
    found = moments([1.0, float("nan"), 3.0], ["a", "a", "b"])
    assert (found.n, found.n_missing, found.n_clusters) == (2, 1, 2)
    assert found.interval().value == 2.0


def test_a_centre_keeps_digits_and_must_be_one() -> None:
    values, clusters = 1e9 + np.arange(100) % 7, np.arange(100) // 4
    found = moments(values, clusters, centre=1e9).interval()
    assert found[:3] == pytest.approx(mean_interval(values, clusters)[:3], rel=1e-15)
    with pytest.raises(ValueError, match="do not add up"):
        moments(values, clusters, centre=1.0) + Moments()


def test_nothing_and_one_cluster_have_no_interval() -> None:
    assert Moments().interval().reason == "no values"
    assert moments([1.0, 2.0], ["a", "a"]).interval().reason == "fewer than 2 clusters"
