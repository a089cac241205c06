"""How a metric agrees with ratings at several levels: pooled, inside systems, inside items, between systems.

A pooled correlation mixes two things: telling systems apart, and telling good from bad replies of one system. The mean
of the correlations inside groups is a plain mean, as in Deutsch et al. 2021 (the Fisher transformation would be
infinite for small groups that agree perfectly); groups without a correlation are left out of it and counted. Infinite
values count as missing here, because they have no mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, as_finite, check_same_length, encode_labels
from rejoinder.stats.correlation import Correlation, Method, correlate
from rejoinder.stats.levels import within_groups


class GroupedCorrelation(NamedTuple):
    """The mean of the correlations inside groups, and each of them (NaN for a group that has none)."""

    value: float
    n_groups: int
    n_left_out: int
    n: int
    n_missing: int
    groups: tuple[Any, ...]
    values: Floats
    sizes: Ints
    reason: str | None = None


class LevelCorrelations(NamedTuple):
    """One metric's correlation with the ratings at every level."""

    pooled: Correlation
    within_system: GroupedCorrelation
    within_item: GroupedCorrelation
    system: Correlation


def correlate_at_levels(
    scores: Numbers, ratings: Numbers, systems: Labels, items: Labels, method: Method = "spearman"
) -> LevelCorrelations:
    """The correlation of scores with ratings at every level; see ``bootstrap`` for intervals."""
    scores, ratings = as_finite(scores, "scores"), as_finite(ratings, "ratings")
    return LevelCorrelations(
        correlate(scores, ratings, method),
        correlate_within(scores, ratings, systems, method),
        correlate_within(scores, ratings, items, method),
        correlate_between(scores, ratings, systems, method),
    )


def correlate_within(
    scores: Numbers, ratings: Numbers, groups: Labels, method: Method = "spearman"
) -> GroupedCorrelation:
    """The mean of the correlations inside each group (system or item) that has one."""
    x, y = as_finite(scores, "scores"), as_finite(ratings, "ratings")
    check_same_length(scores=x, ratings=y, groups=groups)
    codes, names = encode_labels(groups, "groups")
    known = ~(np.isnan(x) | np.isnan(y))
    sizes = np.bincount(codes[known], minlength=len(names))
    values = np.full(len(names), NAN)
    present, dense = np.unique(codes[known], return_inverse=True)
    values[present] = within_groups(method, x[known], y[known], dense)
    defined = values[~np.isnan(values)]
    empty = GroupedCorrelation(
        NAN, len(defined), len(names) - len(defined), int(known.sum()), int((~known).sum()), tuple(names), values, sizes
    )
    if not len(defined):
        return empty._replace(reason="no group has 3 pairs that vary")
    return empty._replace(value=float(defined.mean()))


def correlate_between(scores: Numbers, ratings: Numbers, systems: Labels, method: Method = "spearman") -> Correlation:
    """The correlation between the systems' mean scores and mean ratings, over rows that have both; n counts systems."""
    x, y = as_finite(scores, "scores"), as_finite(ratings, "ratings")
    check_same_length(scores=x, ratings=y, systems=systems)
    codes, names = encode_labels(systems, "systems")
    known = ~(np.isnan(x) | np.isnan(y))
    sizes = np.bincount(codes[known], minlength=len(names))
    with np.errstate(invalid="ignore"):  # a system without rows has no mean: 0 / 0
        means = [np.bincount(codes[known], weights=v[known], minlength=len(names)) / sizes for v in (x, y)]
    correlation = correlate(means[0], means[1], method)
    reason = "fewer than 3 systems" if correlation.reason == "fewer than 3 pairs" else correlation.reason
    return correlation._replace(n_missing=int((~known).sum()), reason=reason)
