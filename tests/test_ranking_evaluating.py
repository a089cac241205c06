"""Rankers evaluated: folds, requests drawn again, differences, breakdowns, statements read, what training had."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest

from rejoinder.reports.ranking import distractor_table, ranking_tables, train_overlap_table
from rejoinder.selection.ranking.breakdown import CATEGORY, NUMBER, POLARITY, SEEN
from rejoinder.selection.ranking.evaluation import evaluate_ranking, merge_ranking_folds
from rejoinder.selection.ranking.fold_means import mean_over_folds
from rejoinder.selection.ranking.result import NDCG, PRECISION, RankingResult, normalise_request
from rejoinder.selection.ranking.statements import (
    FIRST,
    REFERENCE,
    measure_reading_agreement,
    measure_statement_readings,
)
from rejoinder.selection.ranking.train_overlap import TrainOverlap, sum_overlap_counts
from rejoinder.table import FORMATS
from tests.ranking_sets import ranked_of, situated

RIGHT, WRONG, TIED = (3, 2, 1), (1, 2, 3), (2, 2, 2)


def test_the_value_is_the_mean_of_the_folds_means_with_their_deviation() -> None:
    values = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, np.nan])
    found = mean_over_folds(values, np.array([0, 0, 0, 0, 1, 1, 1]), np.arange(7))
    assert found.of_folds == (0.75, 0.0)
    assert found.estimate.value == 0.375, "not 3 / 6: each fold counts once"
    assert found.deviation == pytest.approx(0.75 / math.sqrt(2))
    assert (found.n, found.n_missing) == (6, 1)
    assert math.isnan(mean_over_folds(np.array([1.0, 0.0]), np.zeros(2, int), np.arange(2)).deviation), "one fold"
    assert math.isnan(mean_over_folds(np.array([np.nan]), np.zeros(1, int), np.zeros(1, int)).estimate.value)


def test_equal_values_have_no_interval() -> None:
    found = mean_over_folds(np.ones(5), np.zeros(5, int), np.arange(5)).estimate
    assert found.value == 1.0
    assert math.isnan(found.low)


def test_intervals_draw_whole_requests_and_cover() -> None:
    """Coverage of a 95% interval where ten questions of a request stand and fall together."""
    generator = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), 10)
    hits = narrow = 0
    for seed in range(200):
        values = np.repeat((generator.random(40) < 0.6).astype(float), 10)
        found = mean_over_folds(values, np.zeros(400, int), clusters, n_resamples=400, seed=seed).estimate
        alone = mean_over_folds(values, np.zeros(400, int), np.arange(400), n_resamples=400, seed=seed).estimate
        hits += found.low <= 0.6 <= found.high
        narrow += alone.low <= 0.6 <= alone.high
    assert 182 <= hits <= 198
    assert narrow < 120, "questions are no unit: that interval would be too sure"


def test_rankers_are_told_apart_only_where_there_is_a_difference() -> None:
    questions = [situated(f"q{n}", request=f"request {n}") for n in range(40)]
    good = [RIGHT if n % 10 else WRONG for n in range(40)]
    found = evaluate_ranking(ranked_of(questions, good=good, bad=[WRONG] * 40, tied=[TIED] * 40))
    by_name = {one.ranker: one for one in found.standings}
    assert by_name["good"].measures[PRECISION].estimate.value == 0.9
    assert by_name["tied"].measures[PRECISION].estimate.value == pytest.approx(1 / 3)
    assert by_name["tied"].ties == 40
    told = {(d.first, d.second): d for d in found.differences if d.measure == PRECISION}
    assert told["good", "bad"].corrected < 0.01
    assert told["good", "bad"].difference.value == pytest.approx(0.9)
    p = sorted(d.p for d in told.values())
    assert told["good", "bad"].corrected >= min(1.0, 3 * p[0]) - 1e-12, "Holm over three pairs"
    assert len([d for d in found.differences if d.measure == NDCG]) == 3


def test_a_missing_score_is_counted_and_never_a_zero() -> None:
    questions = [situated(f"q{n}", request=f"r{n}") for n in range(3)]
    (one,) = evaluate_ranking(ranked_of(questions, x=[RIGHT, RIGHT, (math.nan, 1, 2)])).standings
    assert one.unanswered == 1
    assert one.measures[PRECISION].n_missing == 1
    assert one.measures[PRECISION].estimate.value == 1.0


def test_questions_that_tell_nothing_are_counted_by_reason() -> None:
    questions = [situated("a"), situated("b", "BBB"), situated("c", "Baa"), situated("d", "B")]
    lines = [RIGHT, RIGHT, RIGHT, (1,)]
    found = evaluate_ranking(ranked_of(questions, x=lines))
    assert len(found.ranked.questions) == 1
    assert sum(found.left_out.values()) == 3
    assert len(evaluate_ranking(ranked_of(questions, x=lines), all_questions=True).ranked.questions) == 2
    shown = "\n".join(FORMATS["text"](table) for table in ranking_tables(found))
    assert "Left out: 1 question with no Bad candidate." in shown


def test_nothing_to_evaluate_is_no_error() -> None:
    found = evaluate_ranking(ranked_of([situated("a", "---")], x=[RIGHT], y=[RIGHT]))
    assert found.ranked.questions == []
    assert math.isnan(found.standings[0].measures[PRECISION].estimate.value)


def test_breakdowns_go_by_category_polarity_number_and_what_was_seen() -> None:
    questions = [
        situated("a", relevant="110", polarity="yes", category="time"),
        situated("b", relevant="100", polarity="no", category="Weather"),
        situated("c", relevant="100", polarity="no", category="location"),
    ]
    found = evaluate_ranking(
        ranked_of(questions, x=[RIGHT, WRONG, RIGHT]), overlap=lambda q: ("known" if q.id == "a" else "new",)
    )
    values = {
        name: {part.name: part.measures[PRECISION].estimate.value for part in parts}
        for name, parts in found.parts.items()
    }
    assert values[CATEGORY] == {"location": 1.0, "time": 1.0, "Weather": 0.0}, "an unknown category is one of its own"
    assert values[POLARITY] == {"no": 0.5, "yes": 1.0}
    assert values[NUMBER] == {"1": 0.5, "2": 1.0}
    assert values[SEEN] == {"known": 1.0, "new": 0.5}
    assert evaluate_ranking(ranked_of([questions[0]], x=[RIGHT])).parts == {}, "one kind says nothing new"


def test_the_statements_read_are_held_against_those_that_matter() -> None:
    # Four of ten matter; five were read, three of them matter. Chance: 5 * 4 / 10 = 2 hits.
    found = measure_reading_agreement([0, 1, 2, 8, 9], frozenset({0, 1, 2, 3}), 10)
    assert (found.precision, found.recall, found.f1) == (0.6, 0.75, pytest.approx(6 / 9))
    assert found.chance == (pytest.approx(0.4), 0.5, pytest.approx(4 / 9))
    nothing = measure_reading_agreement([], frozenset({0}), 3)
    assert math.isnan(nothing.precision)
    assert (nothing.recall, nothing.f1) == (0.0, 0.0)
    assert math.isnan(measure_reading_agreement([0], frozenset(), 3).recall), "nothing matters"


def test_chance_is_what_drawing_at_random_gives() -> None:
    generator = random.Random(0)
    drawn = [measure_reading_agreement(generator.sample(range(12), 4), frozenset(range(5)), 12) for _ in range(20_000)]
    expected = drawn[0].chance
    assert float(np.mean([one.precision for one in drawn])) == pytest.approx(expected[0], abs=0.01)
    assert float(np.mean([one.recall for one in drawn])) == pytest.approx(expected[1], abs=0.01)
    assert float(np.mean([one.f1 for one in drawn])) == pytest.approx(expected[2], abs=0.01)


def test_readings_are_of_the_first_candidate_and_of_the_reference() -> None:
    questions = [situated("a", relevant="1100"), situated("b", relevant="1000"), situated("c", relevant="11")]
    used = [[(0,), (2,), (3,)], [(0, 1), (1,), ()], [(0,), (0,), (0,)]]
    ranked = RankingResult(questions, "u+S", {"x": [WRONG, RIGHT, RIGHT]}, {"x": used})
    first, reference = measure_statement_readings(ranked)
    assert (first.candidate, reference.candidate) == (FIRST, REFERENCE)
    assert first.n == 2, "where everything matters, what was read says nothing"
    assert first.precision.value == pytest.approx((0 + 0.5) / 2)
    assert reference.recall.value == pytest.approx((0.5 + 1) / 2)
    assert measure_statement_readings(RankingResult(questions, "u", {"x": [RIGHT] * 3}, {"x": [[()] * 3] * 3})) == []


def test_folds_are_put_together_by_ranker() -> None:
    folds = {n: ranked_of([situated(f"q{n}")], x=[RIGHT], **({"y": [WRONG]} if n else {})) for n in range(2)}
    found = merge_ranking_folds(folds)
    assert found.rankers == ["x"], "one that is missing in a fold is left out"
    assert found.folds == [0, 1]


def test_what_was_seen_in_training_is_counted() -> None:
    train = [situated("t", request="Open the window!"), situated("u", request="Sing.")]
    same = situated("t", request="open the   window")
    fresh = situated("fresh", request="Dance.")
    sharing = TrainOverlap.of(train)
    counts = sharing.count([same, fresh])
    assert counts == (2, 1, 1, 1, 1, 0, 0, 1), "its distractors are candidates of training, but no references"
    assert list(sharing.kinds(fresh)) == ["reference new, no distractor seen", "request new"]
    assert list(sharing.kinds(same)) == ["reference seen, no distractor seen", "request seen"]
    assert sum_overlap_counts([counts, counts]).questions == 4
    assert "the request is in training" in FORMATS["text"](train_overlap_table(counts))
    assert normalise_request(same) == normalise_request(train[0])


def test_a_distractor_that_is_a_reference_of_training_is_told() -> None:
    other = situated("other")
    known = TrainOverlap.of([other])
    seen = dataclasses.replace(other.candidates[0], grade="Bad", source="distractor")
    mixed = situated("q")
    mixed = dataclasses.replace(mixed, candidates=(*mixed.candidates[:2], seen))
    assert next(iter(known.kinds(mixed))) == "reference new, 1 of 2 distractors seen"


def test_the_curve_needs_two_numbers_of_distractors() -> None:
    one = evaluate_ranking(ranked_of([situated("a"), situated("b")], "u+S1", x=[RIGHT, WRONG]))
    assert distractor_table({"u+S1": one, "u+S": one}) is None
    table = distractor_table({"u+S1": one, "5": one})
    assert table is not None
    assert list(table.heads[2:]) == ["0 distractors", "5 distractors"]
