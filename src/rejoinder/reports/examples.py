"""Replies worth reading, under each metric: the best, the worst, and those on which it and people disagree most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.trust import Trust
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.leaderboard import DIRECTIONS
from rejoinder.stats.correlation import midranks
from rejoinder.table import format_cell
from rejoinder.types import Pair, Reference

BEST = 5
DISAGREEMENTS = 3
_MIN_RANK_GAP = 0.2  # the share of replies that must lie between the two ranks to count as disagreement
_TITLES = {True: ("Best", "Worst"), False: ("Best", "Worst"), None: ("Highest", "Lowest")}


@dataclass(frozen=True)
class ResponseExample:
    """One reply as it is shown: with its context, scores, ratings, and the reason to show it."""

    pair: Pair
    score: float
    scores: Mapping[str, float]
    ratings: Mapping[str, str]
    flags: Sequence[str]
    why: str = ""
    matched: Reference | None = None  # the best match, where the run recorded it


@dataclass(frozen=True)
class ExampleGroup:
    """Some examples under a title, and a note about those left out."""

    title: str
    exhibits: Sequence[ResponseExample]
    note: str = ""


@dataclass(frozen=True)
class MetricExamples:
    """The example groups of one metric; the reason says why there are none."""

    metric: str
    way: str
    selections: Sequence[ExampleGroup]
    reason: str = ""


def select_examples(findings: RunFindings) -> list[MetricExamples]:
    """The examples of every metric."""
    selector = _ExampleSelector(findings)
    return [selector.gallery(spec) for spec in findings.scores.metrics]


class _ExampleSelector:
    """Chooses replies by their index in the run, and adds what is known about each."""

    def __init__(self, findings: RunFindings) -> None:
        self._findings, self._scores = findings, findings.scores
        self._place = {response: i for i, response in enumerate(findings.scores.responses)}
        self._ratings: dict[str, dict[str, str]] = {}
        for trust in findings.trusts:
            evidence = trust.evidence
            counts = (~np.isnan(evidence.matrix.values)).sum(axis=1).tolist()
            for response, mean, n in zip(evidence.responses, evidence.mean.tolist(), counts, strict=True):
                rating = f"{mean:.2f} ({n} {'rating' if n == 1 else 'ratings'})"
                self._ratings.setdefault(response, {})[evidence.aspect] = rating

    def gallery(self, spec: str) -> MetricExamples:
        better = self._scores.facts[spec].higher_is_better
        column = self._scores[spec]
        known = np.flatnonzero(~np.isnan(column))
        if not len(known):
            return MetricExamples(spec, DIRECTIONS[better], (), "No reply has a score.")
        if len(known) > 1 and np.ptp(column[known]) == 0:
            score = format_cell(float(column[known[0]]))
            reason = f"All {len(known):,} scores are the same ({score}), so none is best or worst."
            return MetricExamples(spec, DIRECTIONS[better], (), reason)
        upward = -column if better is False else column
        selections = self._extremes(spec, upward, known, _TITLES[better])
        if better is not None:
            for trust in self._findings.trusts:
                selections += self._disagreements(spec, trust)
        return MetricExamples(spec, DIRECTIONS[better], selections)

    def _extremes(
        self, spec: str, upward: NDArray[np.float64], known: NDArray[np.int64], titles: tuple[str, str]
    ) -> list[ExampleGroup]:
        """The replies at both ends; of equal ones, the first in the file."""
        if len(known) == 1:
            return [ExampleGroup("The only reply with a score", [self._exhibit(spec, int(known[0]))])]
        values = upward[known]
        best = [i for i in known[np.argsort(-values, kind="stable")].tolist() if upward[i] > values.min()]
        best = best[: min(BEST, math.ceil(len(known) / 2))]
        ascending = [i for i in known[np.argsort(values, kind="stable")].tolist() if upward[i] < values.max()]
        worst = [i for i in ascending if i not in best][:BEST]
        return [
            ExampleGroup(title, [self._exhibit(spec, i) for i in chosen], _describe_ties(upward, chosen))
            for title, chosen in zip(titles, (best, worst), strict=True)
            if chosen
        ]

    def _disagreements(self, spec: str, trust: Trust) -> list[ExampleGroup]:
        """The replies whose ranks by score and by rating differ most."""
        evidence = trust.evidence
        scores, ratings = evidence.scores[spec], evidence.mean
        known = np.flatnonzero(~(np.isnan(scores) | np.isnan(ratings)))
        if len(known) < 3 or np.ptp(scores[known]) == 0 or np.ptp(ratings[known]) == 0:
            return []
        by_score, by_rating = ((midranks(x[known]) - 1) / (len(known) - 1) for x in (scores, ratings))
        apart = by_score - by_rating
        selections = []
        aspect = evidence.aspect
        for sign, title in ((1, f"Liked by {spec}, not by people"), (-1, f"Liked by people, not by {spec}")):
            far = [
                i
                for i in np.argsort(-sign * apart, kind="stable")[:DISAGREEMENTS].tolist()
                if sign * apart[i] > _MIN_RANK_GAP
            ]
            exhibits = [
                self._exhibit(
                    spec,
                    self._place[evidence.responses[known[i]]],
                    f"score above {by_score[i]:.0%} of the rated replies, rating above {by_rating[i]:.0%}",
                )
                for i in far
            ]
            if exhibits:
                selections.append(ExampleGroup(f"{title} ({aspect})", exhibits))
        return selections

    def _exhibit(self, spec: str, place: int, why: str = "") -> ResponseExample:
        response = self._scores.responses[place]
        scores = {name: float(column[place]) for name, column in self._scores.values.items()}
        pair, flags = self._findings.data.pair(response), self._findings.flags.get(response, ())
        best = self._scores.matched[spec][place] if spec in self._scores.matched else None
        matched = None if best is None else pair.item.references[best]
        return ResponseExample(pair, scores[spec], scores, self._ratings.get(response, {}), flags, why, matched)


def _describe_ties(upward: NDArray[np.float64], chosen: Sequence[int]) -> str:
    """How many replies that are not shown tie with the last one shown."""
    if not chosen:
        return ""
    last = upward[chosen[-1]]
    more = int((upward == last).sum() - (upward[list(chosen)] == last).sum())
    return f"{more:,} more {'has' if more == 1 else 'have'} the same score as the last one." if more else ""
