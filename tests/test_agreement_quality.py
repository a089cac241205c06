"""Raters to look at: each planted sign is found, and nobody is suspected where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rejoinder.comparison.agreement import examine_agreement, find_suspect_raters
from rejoinder.comparison.judgements import CheckTally, binarise_judgements, sort_judgements
from rejoinder.stats.agreement import cohen_kappa
from rejoinder.stats.rater_quality import find_disagreeing, find_failed_checks, find_straight_liners, find_too_fast
from rejoinder.types import Preference, Rating


def crowd(units: int = 40, seed: int = 0) -> list[Rating]:
    """Four careful raters, one who always says 3, one who answers at random and one in a hurry."""
    random = np.random.default_rng(seed)
    records = []
    for unit in range(units):
        truth = int(random.integers(1, 6))
        for rater in range(4):
            value = float(np.clip(truth + random.integers(-1, 2) * (random.random() < 0.3), 1, 5))
            records.append(Rating(f"careful-{rater}", "apt", value, f"r{unit}", meta={"seconds": 9.0 + rater}))
        records.append(Rating("liner", "apt", 3.0, f"r{unit}", meta={"seconds": 8.0}))
        guess = float(random.integers(1, 6))
        records.append(Rating("random", "apt", guess, f"r{unit}", meta={"seconds": 10.0}))
        records.append(Rating("hasty", "apt", float(truth), f"r{unit}", meta={"seconds": 1.5}))
    return records


def test_each_sign_is_found_and_the_careful_are_left_alone() -> None:
    checks = {"careful-0": CheckTally(4, 4), "hasty": CheckTally(1, 4), "random": CheckTally(1, 1)}
    given = sort_judgements(crowd(), checks)
    found = [examine_agreement(judged, resamples=100) for judged in given.aspects.values()]
    signs = {(one.rater, one.suspicion.sign) for one in find_suspect_raters(given, found)}
    assert signs == {
        ("hasty", "checks"),
        ("hasty", "speed"),
        ("liner", "alike"),
        ("liner", "alone"),
        ("random", "alone"),
    }


def test_where_everybody_says_the_same_nobody_is_suspected() -> None:
    matrix = np.full((30, 4), 5.0)
    matrix[0] = [5, 4, 5, 5]
    assert find_straight_liners(matrix) == []


def test_where_nobody_agrees_it_is_the_task() -> None:
    kappas, shared = np.array([0.01, -0.05, 0.02]), [30, 30, 30]
    assert find_disagreeing(kappas, shared, np.array([0.05, 0.02, 0.1])) == []
    assert [one.rater for one in find_disagreeing(kappas, [30, 9, 30], np.array([0.5, 0.5, 0.1]))] == [0]


def test_few_checks_few_times_and_few_answers_are_no_evidence() -> None:
    assert find_failed_checks([0, 1, 2], [1, 2, 2])[0].rater == 1
    assert len(find_failed_checks([0, 1, 2], [1, 2, 2])) == 1
    assert find_too_fast([[1.0] * 4, [10.0] * 9, [12.0] * 9]) == []
    fast = find_too_fast([[1.0] * 5, [10.0] * 9, [12.0, math.nan] * 5])
    assert [(one.rater, one.n) for one in fast] == [(0, 5)]
    assert fast[0].threshold == pytest.approx(11 / 3)
    assert find_straight_liners([[3, i % 5] for i in range(9)]) == []
    assert [one.rater for one in find_straight_liners([[3, i % 5] for i in range(10)])] == [0]


def test_a_rater_is_held_against_the_rest() -> None:
    given = sort_judgements(crowd())
    rows = {row.rater: row for row in examine_agreement(given.aspects["apt"], resamples=100).raters}
    matrix = given.aspects["apt"].matrix
    column = matrix.raters.index("random")
    pairs = [
        (line[column], line[other]) for line in matrix.values for other in range(len(matrix.raters)) if other != column
    ]
    first, second = zip(*pairs, strict=True)
    assert rows["random"].kappa.value == pytest.approx(cohen_kappa(first, second, "quadratic").value, abs=1e-12)
    assert rows["liner"].share == 1.0
    assert math.isnan(rows["liner"].correlation)
    assert rows["random"].alpha_without > rows["careful-0"].alpha_without


def test_checks_and_aggregated_ratings_count_as_nothing_else() -> None:
    records = [
        Rating("a", "apt", 1.0, "x"),
        Rating("b", "apt", 1.0, "x"),
        Rating("a", "apt", 5.0, "check", meta={"right": False}),
        Rating("a", "apt", 5.0, "check2", meta={"right": True}),
        Rating("aggregate:mean", "apt", 1.0, "x"),
    ]
    given = sort_judgements(records)
    assert given.aspects["apt"].matrix.units == ("x",)
    assert given.checks == {"a": CheckTally(1, 2)}
    assert given.aggregated == 1


def test_the_time_of_one_answer_counts_once() -> None:
    meta = {"seconds": 4.0, "unit": "u1"}
    given = sort_judgements([Rating("a", "apt", 1.0, "x", meta=meta), Rating("a", "topic", 2.0, "x", meta=meta)])
    assert given.seconds == {"a": [4.0]}


def test_a_preference_is_the_same_whichever_reply_stood_on_the_left() -> None:
    records = [
        Preference("i", "p", "q", "a", "first"),
        Preference("i", "q", "p", "b", "second"),
        Preference("i", "q", "p", "c", "tie"),
    ]
    judged = sort_judgements(records).aspects["overall (preference)"]
    assert judged.matrix.values.tolist() == [[1.0, 1.0, 0.0]]
    assert examine_agreement(judged, resamples=100).scale == "nominal"


def test_ratings_can_be_taken_in_two_classes() -> None:
    judged = sort_judgements([Rating("a", "apt", 3.0, "x"), Rating("b", "apt", 4.0, "x")]).aspects["apt"]
    two = binarise_judgements(judged, 3)
    assert two.matrix.values.tolist() == [[0.0, 1.0]]
    assert two.name == "apt > 3"
