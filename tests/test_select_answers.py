"""Answers: what is selected, ties, missing scores, chance, clusters; accuracies and differences beside others' code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rejoinder.errors import RejoinderError
from rejoinder.selection.accuracy import (
    accuracy_differences,
    accuracy_over_all,
    accuracy_standings,
    format_rank_range,
    proportion_estimate,
    summarise_lead,
)
from rejoinder.selection.answers import check_candidate_order, score_questions, system_name
from rejoinder.selection.breakdown import break_down_accuracy, by_grade, by_label, by_source, by_suggestion
from rejoinder.selection.evaluate import count_system_agreement, find_disputed_questions
from rejoinder.selection.position_bias import are_places_shuffled, measure_place_shares
from rejoinder.selection.result import SelectionResult, check_questions, compute_points, find_top_places
from rejoinder.systems import System, parse_system
from rejoinder.types import Candidate, Question, Turn
from tests.selection_sets import First, Longest, question, selected_of

NAN, INF = math.nan, math.inf


def test_the_highest_score_is_selected_and_ties_share_the_point() -> None:
    assert find_top_places((0.1, 0.7, 0.3)) == (1,)
    assert find_top_places((0.7, 0.7, 0.3)) == (0, 1)
    assert compute_points(frozenset({1}), (0, 1)) == 0.5
    assert compute_points(frozenset({0, 1}), (0, 1)) == 1.0
    assert compute_points(frozenset({2}), (0, 1)) == 0.0


def test_a_question_with_a_missing_score_is_not_answered_however_the_others_stand() -> None:
    assert find_top_places((0.9, NAN, 0.1)) == ()
    assert math.isnan(compute_points(frozenset({0}), ()))


def test_infinite_scores_are_ordinary_ones() -> None:
    assert find_top_places((-INF, -5.0, -INF)) == (1,)
    assert find_top_places((INF, 3.0, INF)) == (0, 2)


@dataclass(frozen=True)
class Given(System):
    """Whatever a test wants it to say."""

    lines: Any = ()

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        if isinstance(self.lines, Exception):
            raise self.lines
        return list(self.lines)


@dataclass(frozen=True)
class Rounded(Given):
    """The same, sure of two decimals."""

    decimals = 2


def test_what_differs_behind_the_sure_decimals_is_a_tie() -> None:
    [line] = score_questions(Rounded([[0.501, 0.504, 0.1, -INF]]), [question("q")])
    assert line == (0.5, 0.5, 0.1, -INF)
    assert find_top_places(line) == (0, 1)
    [line] = score_questions(Given([[0.501, 0.504, 0.1, 0.2]]), [question("q")])
    assert find_top_places(line) == (1,)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "gave 0 lists of scores for 1 questions"),
        ([[1.0, 2.0]], "gave 2 scores for the 4 candidates of question q"),
        ([[1.0, 2.0, "much", 3.0]], "scores must be numbers"),
        (ValueError("no such word"), "failed with ValueError: 'no such word'"),
    ],
)
def test_a_system_that_does_not_answer_well_is_named(lines: Any, said: str) -> None:
    with pytest.raises(RejoinderError, match=said):
        score_questions(Given(lines), [question("q")])


def test_a_system_goes_by_what_one_types() -> None:
    assert system_name(parse_system("aptness")) == "aptness"
    assert system_name(parse_system("./mine.py:score")) == "./mine.py:score"
    assert system_name(parse_system("tfidf(words='content')")) == "tfidf(words='content')"


def test_questions_that_cannot_be_right_or_wrong_are_refused() -> None:
    with pytest.raises(RejoinderError, match="has no questions"):
        check_questions([], "set.jsonl")
    with pytest.raises(RejoinderError, match="has only one candidate"):
        check_questions([question("q", "t")], "set.jsonl")
    with pytest.raises(RejoinderError, match="have the same grade"):
        check_questions([question("q", "ff")], "set.jsonl")


def test_chance_is_the_mean_share_of_right_candidates() -> None:
    assert selected_of([question("a", "tfff"), question("b", "ttff")], x=[0, 0]).chance == pytest.approx(0.375)


def test_questions_of_one_dialogue_or_one_context_belong_together() -> None:
    asked = [question("a", dialogue="d"), question("b", dialogue="d"), question("c", context="x"), question("e")]
    asked.append(question("f", context="x"))
    assert selected_of(asked, s=[0] * 5).clusters.tolist() == [0, 0, 1, 2, 1]


def test_accuracy_counts_ties_and_what_was_not_answered() -> None:
    asked = [question(name) for name in "abcd"]
    found = accuracy_standings(selected_of(asked, good=[0, 0, 0, 1], odd=[(0, 1), None, 2, 0], mute=[None] * 4))
    assert [one.system for one in found] == ["good", "odd", "mute"]
    good, odd, mute = found
    assert (good.n, good.unanswered, good.ties, good.accuracy.value) == (4, 0, 0, 0.75)
    assert (odd.n, odd.unanswered, odd.ties, odd.accuracy.value) == (3, 1, 1, 0.5)
    assert accuracy_over_all(odd) == pytest.approx(1.5 / 4)
    assert (mute.n, mute.unanswered) == (0, 4)
    assert math.isnan(mute.accuracy.value)
    assert format_rank_range(mute) is None
    assert good.rank == 1


def test_without_clusters_the_interval_is_wilsons() -> None:
    from scipy.special import ndtr, stdtrit
    from statsmodels.stats.proportion import proportion_confint

    for right, n in ((7, 10), (461, 1000), (0, 8), (30, 30)):
        values = [1.0] * right + [0.0] * (n - right)
        # statsmodels takes the normal quantile; an alpha that has our quantile of Student's t makes it the same.
        alpha = 2 * (1 - float(ndtr(stdtrit(n - 1, 0.975))))
        low, high = proportion_confint(right, n, alpha, method="wilson")
        assert proportion_estimate(values) == pytest.approx((right / n, low, high), abs=1e-12)


def test_questions_of_one_dialogue_that_agree_count_as_one() -> None:
    once = proportion_estimate([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    twice = proportion_estimate(np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 5), np.repeat(np.arange(6), 5))
    assert twice == pytest.approx(once)
    all_right = proportion_estimate([1.0] * 12, np.repeat(np.arange(4), 3))
    assert all_right == pytest.approx(proportion_estimate([1.0] * 4))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(1500):
        # 60 dialogues of 1 to 3 questions each, alike within a dialogue: beta(4, 4) has the mean 0.5.
        sizes = random.integers(1, 4, 60)
        clusters = np.repeat(np.arange(60), sizes)
        values = random.random(len(clusters)) < random.beta(4, 4, 60)[clusters]
        found = proportion_estimate(values.astype(float), clusters)
        hits += found.low <= 0.5 <= found.high
    assert 0.93 <= hits / 1500 <= 0.97


def test_mcnemar_and_holm_are_those_of_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests

    random = np.random.default_rng(1)
    asked = [question(f"q{n}") for n in range(200)]
    drawn = {name: (random.random(200) > p).astype(int).tolist() for name, p in (("a", 0.7), ("b", 0.6), ("c", 0.4))}
    selected = selected_of(asked, **drawn)
    found = accuracy_differences(selected, ["a", "b", "c"])
    for one in found:
        x, y = selected.points[one.first], selected.points[one.second]
        assert (one.only_first, one.only_second) == (int((x > y).sum()), int((y > x).sum()))
        table = [[0, one.only_first], [one.only_second, 0]]
        exact = float(mcnemar(table, exact=True).pvalue)
        assert one.p < exact
        assert one.p == pytest.approx(exact, abs=0.08)  # mid-p is the exact one less half of what was seen
        assert one.difference.value == pytest.approx(float(np.mean(x - y)))
    assert [one.corrected for one in found] == pytest.approx(multipletests([o.p for o in found], method="holm")[1])


def test_ties_count_dialogue_by_dialogue_and_not_for_mcnemar() -> None:
    asked = [question(f"q{n}") for n in range(12)]
    [one] = accuracy_differences(selected_of(asked, a=[0] * 12, b=[(0, 1)] * 10 + [1, None]), ["a", "b"])
    assert (one.n, one.only_first, one.only_second) == (11, 1, 0)
    assert one.difference.value == pytest.approx(6 / 11)
    assert one.p == pytest.approx(0.5)
    assert one.by_cluster < 0.01
    assert not one.survives


def test_the_verdict_is_one_sentence() -> None:
    asked = [question(f"q{n}") for n in range(60)]
    selected = selected_of(asked, a=[0] * 60, b=[0] * 59 + [1], c=[1] * 60)
    found = accuracy_differences(selected, ["a", "b", "c"])
    summary = summarise_lead(["a", "b", "c"], found)
    assert summary == "a is clearly ahead of c; its difference from b may be chance."
    assert summarise_lead(["a"], []).startswith("Fewer than two systems")
    near = accuracy_differences(selected_of(asked, a=[0] * 60, b=[0] * 59 + [1]), ["a", "b"])
    assert "none of its differences from other systems survives" in summarise_lead(["a", "b"], near)
    same = accuracy_differences(selected_of(asked, a=[0] * 60, b=[0] * 60), ["a", "b"])
    assert summarise_lead(["a", "b"], same) == "a and b share the best accuracy: no test tells them apart."


def labelled(name: str, **of: dict[str, Any]) -> Question:
    wrong = {"grade": "false"}
    made = tuple(Candidate(f"{name} {key}", key, **(wrong | value)) for key, value in of.items())
    return Question(name, (Turn(name),), (Candidate(f"{name} true", "t", "true", "human"), *made))


def test_accuracy_is_broken_down_by_what_was_offered() -> None:
    asked = [
        labelled("a", x={"labels": ("wrong-tense",), "source": "bm25"}, y={"source": "sif"}),
        labelled(
            "b", x={"labels": ("wrong-tense", "inconsistent")}, y={"meta": {"suggested_labels": ["insufficient"]}}
        ),
        labelled("c", x={}, y={}),
    ]
    selected = selected_of(asked, s=[1, 2, 0])
    found = {one.name: one for one in break_down_accuracy(selected, by_label)}
    assert list(found) == ["inconsistent", "wrong-tense"]
    tense = found["wrong-tense"]
    assert (tense.n, tense.accuracy.value, tense.selected.value) == (2, 0.0, 0.5)
    assert tense.blind == pytest.approx(1 / 3)
    assert (found["inconsistent"].n, found["inconsistent"].selected.value) == (1, 0.0)
    [suggested] = break_down_accuracy(selected, by_suggestion)
    assert (suggested.name, suggested.n, suggested.selected.value) == ("insufficient", 1, 1.0)
    assert [one.name for one in break_down_accuracy(selected, by_source)] == ["bm25", "sif"]
    assert {one.name: one.selected.value for one in break_down_accuracy(selected, by_grade, only_wrong=False)} == {
        "false": pytest.approx(2 / 3),
        "true": pytest.approx(1 / 3),
    }


def test_an_unanswered_question_is_missing_in_its_groups() -> None:
    asked = [labelled("a", x={"labels": ("wrong-tense",)}), labelled("b", x={"labels": ("wrong-tense",)})]
    [one] = break_down_accuracy(selected_of(asked, s=[0, None]), by_label)
    assert (one.n, one.unanswered, one.accuracy.value, one.selected.value) == (1, 1, 1.0, 0.0)


def test_the_most_disputed_question_comes_first() -> None:
    asked = [question(f"q{n}") for n in range(4)]
    selected = selected_of(asked, a=[0, 0, 1, 0], b=[0, 0, 1, 1], c=[0, 0, 1, 2], d=[0, 1, 2, 0])
    found = find_disputed_questions(selected)
    assert [(one.place, one.share) for one in found] == [(3, 0.5), (1, 0.75)]
    assert found[0].convinced == (("a", "d"), ("b",), ("c",), ())
    assert (found[0].right, found[0].wrong) == (("a", "d"), ("b", "c"))
    agreed = count_system_agreement(selected)
    assert (agreed.n, agreed.all_right, agreed.none) == (4, 1, (2,))
    assert find_disputed_questions(selected, 1) == found[:1]
    assert find_disputed_questions(selected_of(asked, a=[0, 1, 0, 1])) == []


def test_places_are_tested_as_scipy_does() -> None:
    from scipy.stats import chisquare

    random = np.random.default_rng(5)
    grades = ["".join("t" if n == place else "f" for n in range(4)) for place in random.integers(0, 4, 80)]
    asked = [question(f"q{n}", g) for n, g in enumerate(grades)]
    blind = random.integers(0, 4, 80).tolist()
    selected = selected_of(asked, blind=blind, first=[0] * 80)
    assert are_places_shuffled(selected)
    by_chance, by_place = measure_place_shares(selected)
    assert by_chance.p == pytest.approx(float(chisquare(np.bincount(blind, minlength=4)).pvalue))
    assert by_place.shares == (1.0, 0.0, 0.0, 0.0)
    assert by_place.p < 1e-9
    assert not are_places_shuffled(selected_of([question(f"q{n}") for n in range(80)], s=[0] * 80))
    assert math.isnan(
        measure_place_shares(selected_of(asked[:8], s=[0] * 8))[0].p
    )  # two selections a place are too few


def test_turning_candidates_round_shows_who_goes_by_place() -> None:
    asked = [question(f"q{n}", "tf" if n % 2 else "fft") for n in range(50)]
    assert check_candidate_order(First(), asked, 10) == (turned := check_candidate_order(First(), asked, 10))
    assert (turned.asked, turned.changed) == (10, 10)
    assert check_candidate_order(Longest(), asked, 0).asked == 0
    by_length = check_candidate_order(Longest(), [question("a", "tfff"), question("b", "tf")], 20)
    assert (by_length.asked, by_length.changed) == (2, 0)


def test_a_selection_knows_its_systems_in_order() -> None:
    assert SelectionResult([question("q")], {"b": [(1.0, 0, 0, 0)], "a": [(0, 1.0, 0, 0)]}).systems == ["b", "a"]
