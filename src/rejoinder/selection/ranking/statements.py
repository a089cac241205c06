"""Which statements a ranker read vs. the relevant ones: precision, recall and F1, next to those of chance.

There are two readings: for the candidate that the ranker puts first, and for the candidates that the relevant
statements were written for (source ``reference``; without sources, the Best ones). Chance reads as many statements of
the same situation at random: of n statements, g of them relevant, k random ones contain g k / n relevant ones on
average. F1 is 2 hits / (k + g), so its mean under chance is exact too. A ranker that reads everything has a recall of 1
and the precision of chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.data.questions import limit_situation
from rejoinder.selection.ranking.measures import find_best_candidates
from rejoinder.selection.ranking.result import RankingResult
from rejoinder.selection.result import ScoreLine, find_top_places
from rejoinder.stats.arrays import NAN, Ints
from rejoinder.stats.interval import mean_interval
from rejoinder.table import Estimate
from rejoinder.types import Question

FIRST, REFERENCE = "the first", "the reference"


class StatementReading(NamedTuple):
    """What one ranker read for one kind of candidate: means over questions, and those expected by chance."""

    ranker: str
    candidate: str
    n: int
    read: float
    relevant: float
    precision: Estimate
    recall: Estimate
    f1: Estimate
    chance: tuple[float, float, float]


class ReadingAgreement(NamedTuple):
    """One candidate: precision, recall and F1 of what was read, and what chance would give."""

    read: int
    relevant: int
    precision: float
    recall: float
    f1: float
    chance: tuple[float, float, float]


def measure_reading_agreement(read: Sequence[int], relevant: frozenset[int], total: int) -> ReadingAgreement:
    """Compare what was read of ``total`` statements with the relevant ones; NaN if no statement is relevant.

    Reading nothing when something is relevant has a recall and an F1 of 0, and no precision (NaN).
    """
    k, g, hits = len(set(read)), len(relevant), len(relevant & set(read))
    expected = g * k / total if total else NAN
    if not g:
        return ReadingAgreement(k, g, NAN, NAN, NAN, (NAN, NAN, NAN))
    chance = (expected / k if k else NAN, expected / g, 2 * expected / (k + g))
    return ReadingAgreement(k, g, hits / k if k else NAN, hits / g, 2 * hits / (k + g), chance)


def measure_statement_readings(ranked: RankingResult) -> list[StatementReading]:
    """Return what each ranker read, if it says so, on questions with both relevant and other statements shown."""
    limited = limit_situation(ranked.questions, ranked.input)
    places = [
        n
        for n, question in enumerate(limited)
        if any(s.relevant for s in question.situation) and not all(s.relevant for s in question.situation)
    ]
    if not places:
        return []
    rows_by_ranker = []
    for name, used in ranked.used.items():
        lines = ranked.scores[name]
        for kind, find_candidates in ((FIRST, _find_first), (REFERENCE, _find_references)):
            rows = [
                (n, _mean_agreement(limited[n], used[n], find_candidates(ranked.questions[n], lines[n])))
                for n in places
            ]
            known = [(n, row) for n, row in rows if row is not None]
            if known:
                clusters = ranked.clusters[[n for n, _ in known]]
                rows_by_ranker.append(_summarise_reading(name, kind, [row for _, row in known], clusters))
    return rows_by_ranker


def _find_first(question: Question, line: ScoreLine) -> Iterable[int]:
    return find_top_places(line)


def _find_references(question: Question, line: ScoreLine) -> Iterable[int]:
    sources = [candidate.source for candidate in question.candidates]
    if "reference" in sources:
        return [place for place, source in enumerate(sources) if source == "reference"]
    return sorted(find_best_candidates(question))


_CandidateFinder = Callable[[Question, ScoreLine], Iterable[int]]


def _mean_agreement(question: Question, used: Sequence[Sequence[int]], candidates: Iterable[int]) -> list[float] | None:
    """The mean over some candidates of one question (ties for the first place), as a row of numbers."""
    relevant = frozenset(n for n, statement in enumerate(question.situation) if statement.relevant)
    agreements = [measure_reading_agreement(used[place], relevant, len(question.situation)) for place in candidates]
    if not agreements:
        return None
    rows = [[float(a.read), float(a.relevant), a.precision, a.recall, a.f1, *a.chance] for a in agreements]
    means: list[float] = np.array(rows).mean(axis=0).tolist()
    return means


def _summarise_reading(ranker: str, kind: str, rows: Sequence[Sequence[float]], clusters: Ints) -> StatementReading:
    columns = np.array(rows)
    estimates = []
    for column in (2, 3, 4):
        interval = mean_interval(columns[:, column], clusters)
        estimates.append(Estimate(interval.value, interval.low, interval.high))
    precision, recall, f1 = estimates
    chance = [float(mean_interval(columns[:, column]).value) for column in (5, 6, 7)]
    read, relevant = (float(columns[:, column].mean()) for column in (0, 1))
    return StatementReading(
        ranker, kind, len(rows), read, relevant, precision, recall, f1, (chance[0], chance[1], chance[2])
    )
