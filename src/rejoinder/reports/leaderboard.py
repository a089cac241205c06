"""Leaderboards as a page shows them: a line a system, its mean and interval drawn on one axis for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.compare import Comparison, Standing, SystemDifference
from rejoinder.comparison.trust import Trust
from rejoinder.reports.chart import Markup, axis_labels, interval_bar, make_axis
from rejoinder.reports.findings import Findings
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Estimate, Table

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "descriptive: neither way is better"}
_MAX_NAMES = 4


@dataclass(frozen=True)
class BoardRow:
    """One line of a leaderboard; ``ahead`` names the systems that it surely leaves behind."""

    system: str
    ranks: str
    mean: Estimate
    n: int
    n_missing: int
    bar: Markup | None
    ahead: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard: its places best first, the numbers under its bars, and every difference where there are any."""

    title: str
    way: str
    sentence: str
    places: Sequence[BoardRow]
    labels: Markup | None
    ahead: str | None
    differences: Table | None


def metric_leaderboard(found: Comparison) -> Leaderboard:
    """The leaderboard of one metric."""
    ahead = _find_beaten(found)
    several = len([s for s in found.standings if s.n]) > 1
    places, labels = _board_rows(found.metric, found.standings, found.range, ahead if several else {})
    head = "surely higher than" if found.higher_is_better is None else "surely ahead of"
    return Leaderboard(
        found.metric,
        DIRECTIONS[found.higher_is_better],
        found.sentence() if several else "",
        places,
        labels,
        head if found.differences else None,
        found.matrix() if found.differences else None,
    )


def rating_leaderboard(found: Trust, seed: int = 0) -> Leaderboard:
    """What people say of the systems: the means of the mean ratings of their replies in one aspect."""
    evidence = found.evidence
    clusters, systems = evidence.dialogues, np.array(evidence.systems)
    ranked = rank_ranges(evidence.mean, evidence.systems, clusters, n_resamples=2000, seed=seed)
    standings = []
    for one in ranked.ranges:
        mine = systems == one.system
        mean = mean_interval(evidence.mean[mine], clusters[mine])
        estimate = Estimate(mean.value, mean.low, mean.high)
        standings.append(Standing(str(one.system), mean.n, mean.n_missing, estimate, one.rank, one.low, one.high))
    places, labels = _board_rows(f"rating of {evidence.aspect!r}", standings, (-math.inf, math.inf), {})
    return Leaderboard(f"Ratings of {evidence.aspect!r}", DIRECTIONS[True], "", places, labels, None, None)


def list_leaderboards(findings: Findings) -> list[Leaderboard]:
    """The leaderboard of every metric."""
    return [metric_leaderboard(one) for one in findings.comparisons]


def _board_rows(
    what: str, standings: Sequence[Standing], bounds: tuple[float, float], ahead: dict[str, list[str]]
) -> tuple[list[BoardRow], Markup | None]:
    along = make_axis([end for s in standings for end in s.mean], bounds)
    places = [
        BoardRow(
            s.system,
            _format_ranks(s),
            s.mean,
            s.n,
            s.n_missing,
            interval_bar(f"{what} of {s.system}", s.mean, along) if along and s.n else None,
            _join_names(ahead.get(s.system, []), len(standings) - 1),
        )
        for s in standings
    ]
    return places, axis_labels(along) if along else None


def _find_beaten(found: Comparison) -> dict[str, list[str]]:
    """The systems that each system surely leaves behind, on the items that both answered."""
    ahead: dict[str, list[str]] = {}
    for one in found.differences:
        if one.survives:
            first, second = _better_first(one, found.higher_is_better)
            ahead.setdefault(first, []).append(second)
    return ahead


def _better_first(one: SystemDifference, higher_is_better: bool | None) -> tuple[str, str]:
    first_is_higher = one.difference.value > 0
    return (one.first, one.second) if first_is_higher == (higher_is_better is not False) else (one.second, one.first)


def _format_ranks(one: Standing) -> str:
    if math.isnan(one.rank_low) or math.isnan(one.rank_high):
        return "–"
    return f"{one.rank_low:g}" if one.rank_low == one.rank_high else f"{one.rank_low:g}–{one.rank_high:g}"


def _join_names(names: Sequence[str], others: int) -> str:
    if len(names) > _MAX_NAMES:
        return f"{len(names)} of {others}" if len(names) < others else f"all {others} others"
    return ", ".join(names) or "–"
