"""Precision@1 and nDCG: by hand, against all orders that ties allow, and against scikit-learn's numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import InputError
from rejoinder.selection.ranking.measures import find_best_candidates, get_candidate_gains, ndcg, precision_at_1
from rejoinder.selection.ranking.result import EQUAL_GRADES, NO_BAD, NO_GRADE, ONE_CANDIDATE, explain_exclusion
from rejoinder.types import Candidate, Question, Turn
from tests.ranking_sets import situated


def over_all_orders(gains: Sequence[float], scores: Sequence[float], k: int) -> tuple[float, float]:
    """The share of orders with a best gain first, and the mean nDCG, over every order that the scores allow."""
    places = range(len(gains))
    allowed = [
        order
        for order in itertools.permutations(places)
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]

    def dcg(order: Sequence[int]) -> float:
        return sum(gains[place] / math.log(rank + 1, 2) for rank, place in enumerate(order, start=1) if rank <= k)

    best = dcg(sorted(places, key=lambda place: -gains[place]))
    first = [gains[order[0]] == max(gains) for order in allowed]
    return sum(first) / len(allowed), sum(dcg(order) / best for order in allowed) / len(allowed)


@pytest.mark.parametrize(
    ("gains", "scores", "expected"),
    [  # sklearn.metrics.ndcg_score([gains], [scores], k=3) of scikit-learn 1.9.1, which averages over ties
        ([2, 0, 0], [0.1, 0.9, 0.5], 0.5),
        ([2, 1, 0], [0.2, 0.9, 0.5], 0.7601875334318686),
        ([2, 1, 0], [0.5, 0.5, 0.1], 0.9298593499260984),
        ([0, 2, 1, 1, 0], [0.3, 0.3, 0.3, 0.1, 0.9], 0.36121211352040195),
        ([1, 0, 2, 0], [0, 0, 0, 0], 0.6074648374815246),
        ([2, 2, 0], [0.1, 0.2, 0.3], 0.6934264036172708),
    ],
)
def test_ndcg_is_scikit_learns(gains: list[float], scores: list[float], expected: float) -> None:
    assert ndcg(gains, scores) == pytest.approx(expected, abs=1e-12)


def test_ndcg_by_hand() -> None:
    # Acceptable, Best, Bad: 1 / log2(2) + 2 / log2(3) over 2 / log2(2) + 1 / log2(3).
    assert ndcg([2, 1, 0], [2, 3, 1]) == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert ndcg([2, 1, 0], [3, 2, 1]) == 1.0
    # Bad, Bad, Best: 2 / log2(4) over 2.
    assert ndcg([2, 0, 0], [1, 3, 2]) == pytest.approx(0.5)
    # What stands behind place k gains nothing.
    assert ndcg([0, 0, 0, 2], [4, 3, 2, 1]) == 0.0


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=5))
def test_ties_give_the_mean_over_all_orders(rows: list[tuple[int, float]]) -> None:
    gains, scores = [float(g) for g, _ in rows], [s for _, s in rows]
    if len(set(gains)) < 2:
        assert math.isnan(ndcg(gains, scores))
        return
    best = frozenset(n for n, gain in enumerate(gains) if gain == max(gains))
    share, mean = over_all_orders(gains, scores, 3)
    assert precision_at_1(best, scores) == pytest.approx(share)
    assert ndcg(gains, scores) == pytest.approx(mean)


def test_the_first_candidate_is_best_or_not() -> None:
    assert precision_at_1(frozenset({0}), [0.9, 0.1, 0.2]) == 1.0
    assert precision_at_1(frozenset({0}), [0.1, 0.9, 0.2]) == 0.0
    assert precision_at_1(frozenset({0, 2}), [0.5, 0.5, 0.5]) == pytest.approx(2 / 3)


def test_what_no_ranker_can_do_better_is_not_measured() -> None:
    assert math.isnan(precision_at_1(frozenset(), [0.9, 0.1])), "nobody is Best"
    assert math.isnan(precision_at_1(frozenset({0, 1}), [0.9, 0.1])), "everybody is Best"
    assert math.isnan(precision_at_1(frozenset({0}), [0.9])), "there is one candidate"
    assert math.isnan(precision_at_1(frozenset({0}), [math.nan, 0.1])), "a score is missing"
    assert math.isnan(ndcg([1, 1], [0.9, 0.1]))
    assert math.isnan(ndcg([2], [0.9]))
    assert math.isnan(ndcg([2, 0], [0.9, math.nan]))
    assert ndcg([1, 0], [0.9, 0.1]) == 1.0, "where nobody is Best, there still is a better order"


def test_best_is_a_word_of_the_scale_or_the_highest_number() -> None:
    assert find_best_candidates(situated("q", "Bab")) == {0}
    assert find_best_candidates(situated("q", "abb")) == frozenset(), "Acceptable is not Best"
    numbers = Question("n", (Turn("hello"),), tuple(Candidate(str(g), grade=g) for g in (1.0, 4.5, 4.5)))
    assert find_best_candidates(numbers) == {1, 2}
    assert get_candidate_gains(numbers) == [1.0, 4.5, 4.5]
    truths = Question("t", (Turn("hello"),), (Candidate("a", grade="false"), Candidate("b", grade="true")))
    assert find_best_candidates(truths) == {1}


def test_negative_and_unknown_grades_are_users_errors() -> None:
    with pytest.raises(InputError, match="grade -1; gains must not be negative"):
        get_candidate_gains(Question("n", (Turn("hi"),), (Candidate("a", grade=-1.0), Candidate("b", grade=2.0))))
    with pytest.raises(InputError, match="no known scale"):
        explain_exclusion(Question("n", (Turn("hi"),), (Candidate("a", grade="meh"), Candidate("b", grade="Best"))))


def test_questions_that_tell_nothing_are_left_out_with_a_reason() -> None:
    assert explain_exclusion(situated("q", "Bab")) is None
    assert explain_exclusion(situated("q", "B-b")) == NO_GRADE
    assert explain_exclusion(situated("q", "B")) == ONE_CANDIDATE
    assert explain_exclusion(situated("q", "aaa")) == EQUAL_GRADES
    assert explain_exclusion(situated("q", "Baa")) == NO_BAD, "the paper leaves them out of validation and test"
    assert explain_exclusion(situated("q", "Baa"), all_questions=True) is None
    numbers = Question("n", (Turn("hi"),), (Candidate("a", grade=1.0), Candidate("b", grade=2.0)))
    assert explain_exclusion(numbers) is None, "only the words have a Bad among them"
