"""From answers to measures: every ranker that there is, on every input, over the five folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rejoinder.data.questions import INPUTS, limit_situation
from rejoinder.papers.sugar import folds as known
from rejoinder.papers.sugar.answers import RankerAnswers, read_answers
from rejoinder.papers.sugar.published import TFIDF
from rejoinder.papers.sugar.rankers import VARIANTS, RankerJob, RankerVariant, find_job
from rejoinder.papers.sugar.texts import rank_by_texts
from rejoinder.selection.answers import score_questions
from rejoinder.selection.ranking.evaluation import (
    RankerStanding,
    RankingEvaluation,
    evaluate_ranking,
    merge_folds,
    standings,
)
from rejoinder.selection.ranking.result import RankingResult, explain_exclusion, order_places
from rejoinder.selection.ranking.train_overlap import OverlapCounts, sum_counts
from rejoinder.selection.result import ScoreLine
from rejoinder.systems.tfidf import Tfidf

AS_PUBLISHED = "TF-IDF, the first of equal ones"


@dataclass(frozen=True)
class SugarMeasures:
    """Evaluations by input, TF-IDF with ties as the paper breaks them, validation, what was shared, what is missing."""

    by_input: Mapping[str, RankingEvaluation]
    as_published: Mapping[str, RankerStanding]
    validation: Mapping[str, Sequence[RankerStanding]]
    shared: OverlapCounts
    texts: Sequence[RankerStanding]
    missing: Sequence[str]


def measure_rankers() -> SugarMeasures:
    """Everything, with the answers that are in the cache."""
    kinds, by_input, as_published, validation = known.find_seen_kinds(), {}, {}, {}
    for given in INPUTS:
        test = _rank_all(given, "test")
        by_input[given] = evaluate_ranking(test, seen=lambda question: kinds[question.id])
        alone = dataclasses.replace(test, scores={AS_PUBLISHED: break_ties_by_place(test.scores[TFIDF])}, used={})
        (as_published[given],) = standings(alone.evaluated())
        validation[given] = standings(_rank_all(given, "dev").evaluated())
    shared = sum_counts(
        [
            known.read_train_overlap(f).count([q for q in known.questions(f, "test") if explain_exclusion(q) is None])
            for f in known.FOLDS
        ]
    )
    missing = [
        find_job(variant, given, fold).name
        for variant in VARIANTS
        for given in variant.trained
        for fold in known.FOLDS
        if not _has_answers(find_job(variant, given, fold))
    ]
    return SugarMeasures(by_input, as_published, validation, shared, rank_by_texts(), missing)


def break_ties_by_place(lines: Sequence[ScoreLine]) -> list[ScoreLine]:
    """Scores in which equal ones are told apart by place: the reference, which stands first in the file, wins."""
    found = []
    for line in lines:
        order = order_places(line)
        found.append(tuple(-float(order.index(place)) for place in range(len(line))))
    return found


def _rank_all(given: str, split: str) -> RankingResult:
    """All rankers that were asked with an input, over all folds."""
    there = [
        variant for variant in VARIANTS if all(_has_answers(find_job(variant, given, fold)) for fold in known.FOLDS)
    ]
    folds = {}
    for fold in known.FOLDS:
        of = [_tfidf(fold, split, given)]
        of += [_load_answers(variant, given, fold).ranked(variant.row, fold, split, given) for variant in there]
        scores = {name: lines for one in of for name, lines in one.scores.items()}
        used = {name: lines for one in of for name, lines in one.used.items()}
        folds[fold] = RankingResult(of[0].questions, given, scores, used)
    return merge_folds(folds)


def _tfidf(fold: int, split: str, given: str) -> RankingResult:
    system = Tfidf(fit=f"dataset:sugar/{fold}/train", situation=given, weights="smooth", once=True)
    of = known.questions(fold, split)
    asked = limit_situation(of, given)
    return RankingResult(of, given, {TFIDF: score_questions(system, asked)}, {TFIDF: system.used(asked) or []})


def _has_answers(job: RankerJob) -> bool:
    return (known.answers_home() / f"{job.name}.jsonl").is_file()


def _load_answers(variant: RankerVariant, given: str, fold: int) -> RankerAnswers:
    job = find_job(variant, given, fold)
    return _read_cached(job.name, (known.answers_home() / f"{job.name}.jsonl").stat().st_mtime_ns, job)


@lru_cache(maxsize=64)
def _read_cached(name: str, changed: int, job: RankerJob) -> RankerAnswers:
    return read_answers(known.answers_home() / f"{name}.jsonl", job)
