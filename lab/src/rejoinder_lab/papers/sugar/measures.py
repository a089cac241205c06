"""From answers to measures: every available ranker, on every input, over the five folds.

Folds share texts, so what candidates' texts give away by themselves is measured too: distractors of a test question
are references of other examples, mostly of training examples, while the reference itself seldom is."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from rejoinder.data.questions import INPUTS, limit_situation
from rejoinder.selection.answers import score_questions
from rejoinder.selection.ranking.evaluation import (
    RankerStanding,
    RankingEvaluation,
    evaluate_ranking,
    merge_ranking_folds,
    ranker_standings,
)
from rejoinder.selection.ranking.measures import get_candidate_gains
from rejoinder.selection.ranking.result import RankingResult, explain_exclusion, order_candidate_places
from rejoinder.selection.ranking.train_overlap import OverlapCounts, sum_overlap_counts
from rejoinder.selection.result import ScoreLine
from rejoinder.systems.ranker import Ranker
from rejoinder.systems.tfidf import Tfidf
from rejoinder.text.normalise import normalise_text
from rejoinder_lab.papers.sugar import folds as known
from rejoinder_lab.papers.sugar.answers import has_stored_answers, rank_by_answers
from rejoinder_lab.papers.sugar.rankers import TFIDF, VARIANTS, RankerVariant

NEW = "references of the training split come last"
MEMORY = "texts with higher grades in training come first"


def rank_by_texts() -> list[RankerStanding]:
    """Return both text-only rules, evaluated on all folds."""
    folds = {}
    for fold in known.FOLDS:
        rules = {NEW: _make_new_rule(fold), MEMORY: _make_memory_rule(fold)}
        questions = known.fold_questions(fold, "test")
        scores = {
            name: [tuple(rule(normalise_text(c.text)) for c in question.candidates) for question in questions]
            for name, rule in rules.items()
        }
        folds[fold] = RankingResult(questions, "u", scores)
    return ranker_standings(merge_ranking_folds(folds).evaluated())


def _make_new_rule(fold: int) -> Callable[[str], float]:
    references = known.read_fold_overlap(fold).references
    return lambda text: -float(text in references)


def _make_memory_rule(fold: int) -> Callable[[str], float]:
    grades: Mapping[str, list[float]] = defaultdict(list)
    for question in known.fold_questions(fold, "train"):
        for candidate, gain in zip(question.candidates, get_candidate_gains(question), strict=True):
            grades[normalise_text(candidate.text)].append(gain)
    means = {text: mean(values) for text, values in grades.items()}
    return lambda text: means.get(text, 0.0)


AS_PUBLISHED = "TF-IDF, first of ties wins"
SHIPPED = "the package's ranker, held-out references left out"
SHIPPED_FOLD = 0  # as its card says


@dataclass(frozen=True)
class SugarMeasures:
    """Evaluations by input, TF-IDF with ties as the paper breaks them, validation, what was shared, what is missing.

    ``shipped`` is the package's ranker on the test split of its own fold.
    """

    by_input: Mapping[str, RankingEvaluation]
    as_published: Mapping[str, RankerStanding]
    validation: Mapping[str, Sequence[RankerStanding]]
    shared: OverlapCounts
    texts: Sequence[RankerStanding]
    shipped: Mapping[str, Sequence[RankerStanding]]
    missing: Sequence[RankerVariant]


def measure_rankers() -> SugarMeasures:
    """Measure everything, with the answers that are stored."""
    kinds, by_input, as_published, validation = known.find_seen_kinds(), {}, {}, {}
    for input_name in INPUTS:
        test = _rank_all(input_name, "test")
        by_input[input_name] = evaluate_ranking(test, overlap=lambda question: kinds[question.id])
        alone = dataclasses.replace(test, scores={AS_PUBLISHED: break_ties_by_place(test.scores[TFIDF])}, used={})
        (as_published[input_name],) = ranker_standings(alone.evaluated())
        validation[input_name] = ranker_standings(_rank_all(input_name, "dev").evaluated())
    shared = sum_overlap_counts(
        [
            known.read_fold_overlap(f).count(
                [q for q in known.fold_questions(f, "test") if explain_exclusion(q) is None]
            )
            for f in known.FOLDS
        ]
    )
    missing = [variant for variant in VARIANTS if not has_stored_answers(variant)]
    return SugarMeasures(by_input, as_published, validation, shared, rank_by_texts(), rank_by_shipped(), missing)


def rank_by_shipped() -> dict[str, list[RankerStanding]]:
    """Return the package's ranker and TF-IDF, by input, on the test split of the ranker's own fold."""
    standings = {}
    for input_name in INPUTS:
        words = _rank_by_tfidf(SHIPPED_FOLD, "test", input_name)
        scores = score_questions(Ranker(), limit_situation(words.questions, input_name))
        result = dataclasses.replace(words, scores={SHIPPED: scores, **words.scores}, used={})
        standings[input_name] = ranker_standings(merge_ranking_folds({SHIPPED_FOLD: result}).evaluated())
    return standings


def break_ties_by_place(lines: Sequence[ScoreLine]) -> list[ScoreLine]:
    """Return scores with ties broken by position: the reference, which is first in the file, wins."""
    ranked = []
    for line in lines:
        order = order_candidate_places(line)
        ranked.append(tuple(-float(order.index(place)) for place in range(len(line))))
    return ranked


def _rank_all(input_name: str, split: str) -> RankingResult:
    """All rankers with answers for an input, over all folds."""
    available = [variant for variant in VARIANTS if input_name in variant.inputs and has_stored_answers(variant)]
    folds = {}
    for fold in known.FOLDS:
        results = [_rank_by_tfidf(fold, split, input_name)]
        results += [rank_by_answers(variant, fold, split, input_name) for variant in available]
        scores = {name: lines for one in results for name, lines in one.scores.items()}
        used = {name: lines for one in results for name, lines in one.used.items()}
        folds[fold] = RankingResult(results[0].questions, input_name, scores, used)
    return merge_ranking_folds(folds)


def _rank_by_tfidf(fold: int, split: str, input_name: str) -> RankingResult:
    system = Tfidf(fit=f"dataset:sugar/{fold}/train", situation=input_name, weights="smooth", once=True)
    questions = known.fold_questions(fold, split)
    limited = limit_situation(questions, input_name)
    return RankingResult(
        questions, input_name, {TFIDF: score_questions(system, limited)}, {TFIDF: system.used(limited) or []}
    )
