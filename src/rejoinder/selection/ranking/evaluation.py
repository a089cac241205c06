"""How good rankers are: both measures with intervals, and which differences between rankers are real."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.selection.ranking.breakdown import QuestionGroup, QuestionKey, list_ranking_breakdowns
from rejoinder.selection.ranking.fold_means import FoldMean, mean_over_folds
from rejoinder.selection.ranking.result import MEASURES, RankingResult, explain_exclusion
from rejoinder.selection.ranking.statements import StatementReading, measure_statement_readings
from rejoinder.stats.holm import holm
from rejoinder.stats.paired_difference import difference_interval, sign_flip_test
from rejoinder.table import Estimate

ALPHA = 0.05
_RESAMPLES, _PERMUTATIONS = 2000, 4999


class RankerStanding(NamedTuple):
    """One ranker: its measures, how many questions it left unanswered, and how many had a tie for the first place."""

    ranker: str
    measures: Mapping[str, FoldMean]
    unanswered: int
    ties: int


class RankerDifference(NamedTuple):
    """One ranker vs. another in one measure; p by swapping them request by request, ``corrected`` by Holm's method."""

    first: str
    second: str
    measure: str
    n: int
    difference: Estimate
    p: float
    corrected: float


@dataclass(frozen=True)
class RankingEvaluation:
    """The evaluation of rankers; ``left_out`` counts the questions that cannot distinguish rankers, by reason."""

    ranked: RankingResult
    standings: Sequence[RankerStanding]
    differences: Sequence[RankerDifference]
    parts: Mapping[str, Sequence[QuestionGroup]]
    readings: Sequence[StatementReading]
    left_out: Mapping[str, int]


def evaluate_ranking(
    ranked: RankingResult, all_questions: bool = False, overlap: QuestionKey | None = None, seed: int = 0
) -> RankingEvaluation:
    """Evaluate the orders of rankers on the questions that can distinguish rankers.

    - ``ranked``: the scores of rankers with one input, from ``rank``.
    - ``all_questions``: also evaluate questions without a Bad candidate.
    - ``overlap``: a function that returns what part of a question was seen in training.
    - ``seed``: the seed for resampling.

    >>> import rejoinder
    >>> run = rejoinder.rank("questions.jsonl", ["tfidf"], ["u"], "ranked-by-words")
    >>> rejoinder.selection.evaluate_ranking(run.ranked["u"]).standings[0].ranker
    'tfidf'
    """
    reasons = [explain_exclusion(question, all_questions) for question in ranked.questions]
    left_out = dict(Counter(reason for reason in reasons if reason is not None))
    evaluated = ranked.evaluated(all_questions)
    results = (
        ranker_standings(evaluated, seed),
        ranker_differences(evaluated, seed),
        list_ranking_breakdowns(evaluated, overlap, seed),
        measure_statement_readings(evaluated),
    )
    return RankingEvaluation(evaluated, *results, left_out)


def ranker_standings(ranked: RankingResult, seed: int = 0) -> list[RankerStanding]:
    """Return the measures of every ranker."""
    rows = []
    for name in ranked.rankers:
        measures = {
            measure: mean_over_folds(ranked.values[measure][name], ranked.fold_codes, ranked.clusters, seed=seed)
            for measure in MEASURES
        }
        unanswered = sum(any(np.isnan(line)) for line in ranked.scores[name])
        rows.append(RankerStanding(name, measures, unanswered, ranked.ties(name)))
    return rows


def ranker_differences(ranked: RankingResult, seed: int = 0) -> list[RankerDifference]:
    """Compare every pair of rankers in each measure; p-values are corrected over all pairs of a measure."""
    rows = []
    for measure in MEASURES:
        pairs = itertools.combinations(ranked.rankers, 2)
        compared = [_compare_rankers(ranked, measure, first, second, seed) for first, second in pairs]
        corrected = holm([row.p for row in compared]).tolist()
        rows += [row._replace(corrected=p) for row, p in zip(compared, corrected, strict=True)]
    return rows


def _compare_rankers(ranked: RankingResult, measure: str, first: str, second: str, seed: int) -> RankerDifference:
    x, y = (ranked.values[measure][name] for name in (first, second))
    interval = difference_interval(x, y, ranked.clusters, n_resamples=_RESAMPLES, seed=seed)
    test = sign_flip_test(x, y, ranked.clusters, n_permutations=_PERMUTATIONS, seed=seed)
    estimate = Estimate(interval.value, interval.low, interval.high)
    return RankerDifference(first, second, measure, interval.n, estimate, test.p, test.p)


def merge_ranking_folds(folds: Mapping[int, RankingResult]) -> RankingResult:
    """Merge the folds of a cross-validation: rankers of one name are the same ranker, trained on each fold."""
    first = next(iter(folds.values()))
    names = [name for name in first.rankers if all(name in result.scores for result in folds.values())]
    used = [name for name in names if all(name in result.used for result in folds.values())]
    return RankingResult(
        [question for result in folds.values() for question in result.questions],
        first.input,
        {name: [line for result in folds.values() for line in result.scores[name]] for name in names},
        {name: [statements for result in folds.values() for statements in result.used[name]] for name in used},
        {},
        [fold for fold, result in folds.items() for _ in result.questions],
    )
