"""Leaderboards for a page: one line per system, means and intervals drawn on a common axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.compare import Comparison, MetricStanding
from rejoinder.comparison.slices import SystemDifference
from rejoinder.comparison.trust import Trust
from rejoinder.reports.chart import Markup, axis_labels, interval_bar, make_axis
from rejoinder.reports.findings import RunFindings
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Estimate, Table

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "descriptive: neither way is better"}
_MAX_NAMES = 4


@dataclass(frozen=True)
class BoardRow:
    """One line of a leaderboard; ``ahead`` names the systems that it is surely ahead of."""

    system: str
    ranks: str
    mean: Estimate
    n: int
    n_missing: int
    bar: Markup | None
    ahead: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard: its rows, best first, the axis labels under its bars, the differences and the slices, if any."""

    title: str
    way: str
    sentence: str
    places: Sequence[BoardRow]
    labels: Markup | None
    ahead: str | None
    differences: Table | None
    slices: Sequence[Table] = ()


def metric_leaderboard(comparison: Comparison) -> Leaderboard:
    """The leaderboard of one metric."""
    ahead = {} if comparison.is_descriptive else find_beaten(comparison)
    several = len([s for s in comparison.standings if s.n]) > 1
    places, labels = _board_rows(comparison.metric, comparison.standings, comparison.range, ahead if several else {})
    return Leaderboard(
        comparison.metric,
        DIRECTIONS[comparison.higher_is_better],
        comparison.sentence() if several else "",
        places,
        labels,
        "surely ahead of" if comparison.differences and not comparison.is_descriptive else None,
        comparison.matrix() if comparison.differences else None,
        comparison.slices.tables() if comparison.slices else (),
    )


def rank_systems_by_rating(trust: Trust, seed: int = 0) -> Leaderboard:
    """The leaderboard by ratings: the mean over each system's replies of their mean rating in one aspect."""
    evidence = trust.evidence
    clusters, systems = evidence.dialogues, np.array(evidence.systems)
    ranked = rank_ranges(evidence.mean, evidence.systems, clusters, n_resamples=2000, seed=seed)
    standings = []
    for rank_range in ranked.ranges:
        own = systems == rank_range.system
        mean = mean_interval(evidence.mean[own], clusters[own])
        estimate = Estimate(mean.value, mean.low, mean.high)
        standings.append(
            MetricStanding(
                str(rank_range.system),
                mean.n,
                mean.n_missing,
                estimate,
                rank_range.rank,
                rank_range.low,
                rank_range.high,
            )
        )
    places, labels = _board_rows(f"rating of {evidence.aspect!r}", standings, (-math.inf, math.inf), {})
    return Leaderboard(f"Ratings of {evidence.aspect!r}", DIRECTIONS[True], "", places, labels, None, None)


def list_leaderboards(findings: RunFindings) -> list[Leaderboard]:
    """The leaderboard of every metric."""
    return [metric_leaderboard(comparison) for comparison in findings.comparisons]


def _board_rows(
    what: str, standings: Sequence[MetricStanding], bounds: tuple[float, float], ahead: dict[str, list[str]]
) -> tuple[list[BoardRow], Markup | None]:
    axis = make_axis([end for s in standings for end in s.mean], bounds)
    places = [
        BoardRow(
            s.system,
            _format_ranks(s),
            s.mean,
            s.n,
            s.n_missing,
            interval_bar(f"{what} of {s.system}", s.mean, axis) if axis and s.n else None,
            _list_beaten(ahead.get(s.system, []), len(standings) - 1),
        )
        for s in standings
    ]
    return places, axis_labels(axis) if axis else None


def find_beaten(comparison: Comparison) -> dict[str, list[str]]:
    """The systems that each system is surely ahead of, on the items that both answered."""
    ahead: dict[str, list[str]] = {}
    for difference in comparison.differences:
        if difference.survives:
            first, second = _better_first(difference, comparison.higher_is_better)
            ahead.setdefault(first, []).append(second)
    return ahead


def _better_first(difference: SystemDifference, higher_is_better: bool | None) -> tuple[str, str]:
    first_is_higher = difference.difference.value > 0
    return (
        (difference.first, difference.second)
        if first_is_higher == (higher_is_better is not False)
        else (difference.second, difference.first)
    )


def _format_ranks(standing: MetricStanding) -> str:
    if math.isnan(standing.rank_low) or math.isnan(standing.rank_high):
        return "–"
    return (
        f"{standing.rank_low:g}"
        if standing.rank_low == standing.rank_high
        else f"{standing.rank_low:g}–{standing.rank_high:g}"
    )


def _list_beaten(names: Sequence[str], others: int) -> str:
    if len(names) > _MAX_NAMES:
        return f"{len(names)} of {others}" if len(names) < others else f"all {others} others"
    return ", ".join(names) or "–"
