"""The rules of Sato et al. 2020, section 3.1, on hand-made scores: every branch, and one score on each side of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from rejoinder.selection.acceptability_rules import SCALE, judge_candidate, judge_truth


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ((3, 3, 3, 1, 1), "acceptable"),  # three give 3
        ((5, 4, 3, 0, 0), "acceptable"),  # three give 3 or higher, two 0
        ((3, 3, 2, 2, 2), "false"),  # only two give 3 or higher
        ((5, 5, 2, 2, 2), "false"),  # however high
        ((0, 0, 0, 5, 5), "ungrammatical"),  # three give 0
        ((0, 0, 1, 1, 1), "false"),  # only two give 0
        ((0, 0, 3, 3, 1), "false"),  # neither has three
        ((1, 1, 1, 1, 1), "false"),
        ((0, 0, 0, 0, 0), "ungrammatical"),
        ((5, 5, 5, 5, 5), "acceptable"),
    ],
)
def test_a_candidate_is_out_where_three_of_five_say_so(scores: Sequence[int], verdict: str) -> None:
    assert {judge_candidate(order) for order in itertools.permutations(scores)} == {verdict}


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ((3, 3, 3, 5, 5), "doubtful"),  # three give 3 or lower
        ((0, 1, 2, 5, 5), "doubtful"),  # 0 is lower too
        ((3, 3, 4, 4, 4), "true"),  # only two give 3 or lower
        ((1, 1, 4, 4, 4), "true"),  # however low
        ((5, 5, 5, 5, 5), "true"),
    ],
)
def test_a_question_is_out_where_three_of_five_give_its_truth_three_or_lower(
    scores: Sequence[int], verdict: str
) -> None:
    assert {judge_truth(order) for order in itertools.permutations(scores)} == {verdict}


def test_all_sets_of_five_scores_go_by_the_letter_of_the_paper() -> None:
    for scores in itertools.combinations_with_replacement(SCALE, 5):
        high, zero, low = sum(s >= 3 for s in scores), scores.count(0), sum(s <= 3 for s in scores)
        expected = "acceptable" if high >= 3 else "ungrammatical" if zero >= 3 else "false"
        assert judge_candidate(scores) == expected
        assert judge_truth(scores) == ("doubtful" if low >= 3 else "true")


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ((3, 3, 1), "acceptable"),
        ((3, 1, 1), "false"),
        ((3, 3, 1, 1), "false"),  # half is not more than half
        ((3, 3, 3, 1), "acceptable"),
        ((0, 0, 1, 1), "false"),
        ((0, 0, 0, 1, 1, 1, 0), "ungrammatical"),
        ((5, 5), "unjudged"),  # two people decide nothing
        ((), "unjudged"),
    ],
)
def test_of_other_numbers_of_scores_more_than_half_decide(scores: Sequence[int], verdict: str) -> None:
    assert judge_candidate(scores) == verdict


def test_fewer_people_decide_where_that_is_asked_for() -> None:
    assert judge_candidate((4,), least=1) == "acceptable"
    assert judge_candidate((), least=1) == "unjudged"
    assert judge_truth((3, 4), least=2) == "true"
    assert judge_truth((3, 3), least=2) == "doubtful"
    assert judge_truth((3, 3)) == "unjudged"
