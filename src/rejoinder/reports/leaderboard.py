"""Leaderboards as a page shows them: a line a system, its mean and interval drawn on one axis for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.compare import Comparison, Difference, Standing
from rejoinder.comparison.trust import Trust
from rejoinder.reports.chart import Markup, axis, axis_labels, interval_bar
from rejoinder.reports.findings import Findings
from rejoinder.stats.interval import mean_interval
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Estimate, Table

WAYS = {True: "higher is better", False: "lower is better", None: "descriptive: neither way is better"}
_MOST_NAMES = 4


@dataclass(frozen=True)
class Place:
    """One line of a leaderboard; ``ahead`` names the systems that it surely leaves behind."""

    system: str
    ranks: str
    mean: Estimate
    n: int
    n_missing: int
    bar: Markup | None
    ahead: str = ""


@dataclass(frozen=True)
class Board:
    """A leaderboard: its places best first, the numbers under its bars, and every difference where there are any."""

    title: str
    way: str
    sentence: str
    places: Sequence[Place]
    labels: Markup | None
    ahead: str | None
    differences: Table | None


def board(found: Comparison) -> Board:
    """The leaderboard of one metric."""
    ahead = _ahead(found)
    several = len([s for s in found.standings if s.n]) > 1
    places, labels = _places(found.metric, found.standings, found.range, ahead if several else {})
    head = "surely higher than" if found.higher_is_better is None else "surely ahead of"
    return Board(
        found.metric,
        WAYS[found.higher_is_better],
        found.sentence() if several else "",
        places,
        labels,
        head if found.differences else None,
        found.matrix() if found.differences else None,
    )


def rating_board(found: Trust, seed: int = 0) -> Board:
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
    places, labels = _places(f"rating of {evidence.aspect!r}", standings, (-math.inf, math.inf), {})
    return Board(f"Ratings of {evidence.aspect!r}", WAYS[True], "", places, labels, None, None)


def boards(findings: Findings) -> list[Board]:
    """The leaderboard of every metric."""
    return [board(one) for one in findings.comparisons]


def _places(
    what: str, standings: Sequence[Standing], bounds: tuple[float, float], ahead: dict[str, list[str]]
) -> tuple[list[Place], Markup | None]:
    along = axis([end for s in standings for end in s.mean], bounds)
    places = [
        Place(
            s.system,
            _ranks(s),
            s.mean,
            s.n,
            s.n_missing,
            interval_bar(f"{what} of {s.system}", s.mean, along) if along and s.n else None,
            _listed(ahead.get(s.system, []), len(standings) - 1),
        )
        for s in standings
    ]
    return places, axis_labels(along) if along else None


def _ahead(found: Comparison) -> dict[str, list[str]]:
    """The systems that each system surely leaves behind, on the items that both answered."""
    ahead: dict[str, list[str]] = {}
    for one in found.differences:
        if one.survives:
            first, second = _ordered(one, found.higher_is_better)
            ahead.setdefault(first, []).append(second)
    return ahead


def _ordered(one: Difference, higher_is_better: bool | None) -> tuple[str, str]:
    first_is_higher = one.difference.value > 0
    return (one.first, one.second) if first_is_higher == (higher_is_better is not False) else (one.second, one.first)


def _ranks(one: Standing) -> str:
    if math.isnan(one.rank_low) or math.isnan(one.rank_high):
        return "–"
    return f"{one.rank_low:g}" if one.rank_low == one.rank_high else f"{one.rank_low:g}–{one.rank_high:g}"


def _listed(names: Sequence[str], others: int) -> str:
    if len(names) > _MOST_NAMES:
        return f"{len(names)} of {others}" if len(names) < others else f"all {others} others"
    return ", ".join(names) or "–"
