"""Verdicts at their edges: limits that are met exactly, nothing in common, aspects and systems that must be chosen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rejoinder
from rejoinder.comparison import aggregation
from rejoinder.comparison.check import check
from rejoinder.comparison.compare import _format_ranks
from rejoinder.comparison.next_ratings import (
    find_metric_disagreements,
    find_uncertain_order,
    next_table,
    select_suggested_records,
)
from rejoinder.comparison.preferences import rank_by_preference
from rejoinder.comparison.rating_power import (
    make_rating_plans,
    pilot_from_records,
    pilot_from_scores,
    rating_plan_table,
)
from rejoinder.data.collection import collect
from rejoinder.errors import InputError, RunError
from rejoinder.scoring.result import Scores
from rejoinder.stats.aggregation import Aggregated, aggregate
from rejoinder.table import join_names
from rejoinder.types import Item, Preference, Rating, Record, Response, Turn

ITEMS = [Item(f"i{i}", (Turn("Well?"),)) for i in range(6)]


def replies(*systems: str, items: int = 6) -> list[Record]:
    """Every system's reply to every item."""
    return [*ITEMS[:items], *(Response(f"i{i}/{s}", f"i{i}", s, "Yes.") for i in range(items) for s in systems)]


def lengths(*texts: str) -> Scores:
    return rejoinder.score(list(texts), metrics=["length"])


# ---- the gate


@pytest.mark.parametrize(
    ("condition", "passed"),
    [
        ("length>=3", True),
        ("length<=3", True),
        ("length>3", False),
        ("length<3", False),
        ("length>2.999", True),
        ("length<3.001", True),
    ],
)
def test_a_threshold_that_is_met_exactly(condition: str, passed: bool) -> None:
    (found,) = check(lengths("one two three", "one two three"), [condition])
    assert found.passed is passed
    assert "length of system is 3.0000 [3.0000, 3.0000]" in found.reason


def test_each_system_is_held_to_a_condition_that_names_none() -> None:
    data = collect([*replies("a", "b", items=1)])
    scores = rejoinder.score(data, "length")
    assert [one.reason.split(" is ")[0] for one in check(scores, ["length>=1"])] == ["length of a", "length of b"]
    assert [one.reason.split(" is ")[0] for one in check(scores, ["length@b>=1"])] == ["length of b"]


def overlaps(*texts: str, version: str = "") -> Scores:
    """A metric with a direction: the longest common part with the reference "a b c d"."""
    found = rejoinder.score(list(texts), references=["a b c d"] * len(texts), metrics=["rouge_l"])
    spec, facts = next(iter(found.facts.items()))
    return replace(found, facts={spec: facts._replace(signature=facts.signature + version)})


def test_an_older_run_with_another_signature_is_no_measure() -> None:
    with pytest.raises(RunError, match="the two runs computed rouge_l differently"):
        check(overlaps("a b"), [], overlaps("a b", version="|v:0"))
    (found,) = check(overlaps("a b"), [], overlaps("a b", version="|v:0"), ignore_signatures=True)
    assert found.reason.endswith("(signatures differ: v:0 before, nothing now)")


def test_one_item_in_common_shows_nothing_and_has_no_interval() -> None:
    (found,) = check(overlaps("a b"), [], overlaps("a b c d"))
    assert found.outcome == "inconclusive"
    assert "changed by -0." in found.reason
    assert "[" not in found.reason
    assert "on 1 item (margin 0.05, 5% of the range): 1 item is too few to tell" in found.reason
    assert check(overlaps("a b"), [], overlaps("a b"))[0].passed


def test_runs_without_a_scored_item_in_common_do_not_pass() -> None:
    older = overlaps("a b c")
    nothing = replace(older, values={"rouge_l": np.array([math.nan])})
    (found,) = check(nothing, [], older)
    assert not found.passed
    assert found.reason == "rouge_l of system: the two runs have no scored item in common"


def test_the_change_is_shown_from_low_to_high() -> None:
    (found,) = check(overlaps("a b", "a", "a b c"), [], overlaps("a b c d", "a b", "a b c d"))
    low, high = (float(text) for text in found.reason.partition("[")[2].partition("]")[0].split(", "))
    assert low <= high < 0
    assert "on 3 items (margin 0.05, 5% of the range): surely worse" in found.reason


# ---- what to rate next


def test_replies_with_one_score_at_most_cannot_be_chosen_by_disagreement() -> None:
    found = rejoinder.score(["a b", "c"], metrics=["rouge_l", "chrf"])
    with pytest.raises(InputError, match="no reply has scores from two of these metrics: rouge_l, chrf"):
        find_metric_disagreements(found, collect([]), 1)


def test_systems_that_answered_different_items_have_no_order_to_settle() -> None:
    data = collect([*ITEMS, Response("r0", "i0", "a", "Yes."), Response("r1", "i1", "b", "No.")])
    data.add(Rating("ann", "apt", 1.0, "r0"))
    with pytest.raises(InputError, match="no two systems answered the same item"):
        find_uncertain_order(data, 1)


def test_the_aspect_must_be_chosen_where_there_are_several() -> None:
    data = collect(replies("a", "b"))
    for aspect in ("apt", "fun"):
        data.add(Rating("ann", aspect, 1.0, "i0/a"))
    with pytest.raises(InputError, match=r"rated in several aspects \(apt, fun\); choose one aspect"):
        find_uncertain_order(data, 1)
    assert " by fun: " in find_uncertain_order(data, 1, "fun")[0].why


def test_aggregated_ratings_say_nothing_of_what_to_rate_next() -> None:
    data = collect(replies("a", "b"))
    for i in range(6):
        data.add(Rating("aggregate:mean", "sum", float(i), f"i{i}/a"))
        data.add(Rating("ann", "apt", 2.0, f"i{i}/a"))
        data.add(Rating("ann", "apt", 1.0, f"i{i}/b"))
    found = find_uncertain_order(data, 12)
    assert {one.rated for one in found} == {1}
    assert {one.worth for one in found} == {0.0}
    assert (
        found[0].why
        == f"{found[0].system} against {'b' if found[0].system == 'a' else 'a'} by apt: 0.00 (1 is a toss-up)"
    )


def test_a_reply_is_worth_less_with_every_rating_of_it_or_its_rival() -> None:
    data = collect(replies("a", "b", items=3))
    for system in "ab":  # the same mean: a toss-up
        data.add(Rating("ann", "apt", 2.0, f"i0/{system}"))
    data.add(Rating("bob", "apt", 2.0, "i0/a"))
    found = {one.response: one for one in find_uncertain_order(data, 6)}
    assert found["i1/a"].worth == pytest.approx(1.0)
    assert found["i0/a"].worth == pytest.approx(1 / 4)  # two ratings of its own, one of the rival
    assert (found["i0/a"].rated, found["i0/b"].rated) == (2, 1)


def test_preferences_count_for_both_replies_of_a_pair() -> None:
    data = collect(replies("a", "b", "c"))
    data.add(Preference("i0", "i0/a", "i0/b", "ann", "first", "overall"))
    data.add(Preference("i1", "i1/a", "i1/b", "ann", "second", "overall"))
    data.add(Preference("i1", "i1/a", "i1/b", "aggregate:majority", "second", "overall"))
    found = {one.response: one.rated for one in find_uncertain_order(data, 18)}
    assert {name for name, rated in found.items() if rated} == {"i0/a", "i0/b", "i1/a", "i1/b"}
    assert set(found.values()) == {0, 1}
    unknown = next(one for one in find_uncertain_order(data, 18) if one.response == "i2/c")
    assert unknown.worth == 1.0  # nobody compared c with anybody: a toss-up


def test_without_judgements_the_order_is_that_of_a_metric_with_a_direction() -> None:
    data = collect(replies("a", "b"))
    with pytest.raises(InputError, match="use a run folder, which has scores"):
        find_uncertain_order(data, 1)
    with pytest.raises(InputError, match="no metric of the run has a direction"):
        find_uncertain_order(data, 1, scores=rejoinder.score(data, "length"))
    scores = rejoinder.score(data, "length")
    spec, facts = next(iter(scores.facts.items()))
    scores = replace(
        scores,
        facts={spec: facts._replace(higher_is_better=True)},
        values={spec: np.where(scores.system_codes == 0, 2.0, 1.0)},
    )
    (found,) = find_uncertain_order(data, 1, scores=scores)
    assert found.why.endswith(f"by {spec}: 0.00 (1 is a toss-up)")


def test_the_table_and_the_records_of_what_is_chosen() -> None:
    data = collect(replies("a", "b", items=2))
    found = find_uncertain_order(data_with_ratings(data), 4)
    rows = next_table(found).rows
    assert [row[:3] for row in rows] == [[one.response, one.system, one.rated] for one in found]
    records = select_suggested_records(found, data)
    assert [type(one).__name__ for one in records] == ["Item"] * 2 + ["Response"] * 4
    assert [one.id for one in records[2:]] == [one.response for one in found]


def data_with_ratings(data: rejoinder.Collection) -> rejoinder.Collection:
    data.add(Rating("ann", "apt", 1.0, "i0/a"))
    return data


# ---- planning


def rated(values: dict[str, list[float]], aspect: str = "apt") -> list[Record]:
    return [
        Rating(f"r{k}", aspect, value, f"i{i}/{system}")
        for system, row in values.items()
        for k in range(2)
        for i, value in enumerate(row)
    ]


def test_a_pilot_by_hand() -> None:
    records = [*replies("a", "b", items=3), *rated({"a": [3, 5, 4], "b": [2, 2, 4]})]
    found = pilot_from_records(records)
    assert (found.what, found.first, found.second) == ("apt", "a", "b")
    assert (found.noise.n, found.noise.within) == (3, 0.0)
    assert found.noise.difference == pytest.approx(4 / 3)  # 1, 3, 0
    assert found.noise.between == pytest.approx(math.sqrt(7 / 3))
    turned = pilot_from_records(records, systems=["b", "a"])
    assert turned.noise.difference == pytest.approx(-4 / 3)


def test_a_pilot_of_preferences_counts_points_above_a_draw() -> None:
    choices = ["first", "second", "tie", "first"]
    records = replies("a", "b", items=4)
    records += [Preference(f"i{i}", f"i{i}/a", f"i{i}/b", "ann", choice, "best") for i, choice in enumerate(choices)]
    assert pilot_from_records(records).noise.difference == pytest.approx((0.5 - 0.5 + 0 + 0.5) / 4)
    turned = [
        replace(one, first=one.second, second=one.first) if isinstance(one, Preference) else one for one in records
    ]
    assert pilot_from_records(turned).noise.difference == pytest.approx(-0.125)
    assert pilot_from_records(records).what == "best (preference)"


def test_what_a_pilot_lacks_or_leaves_open_is_said() -> None:
    records = replies("a", "b", "c")
    with pytest.raises(InputError, match="there are no ratings of responses to plan with"):
        pilot_from_records(records)
    records += rated({"a": [1, 2], "b": [2, 1]})
    with pytest.raises(InputError, match="a comparison needs two systems, found 3; choose two of: a, b, c"):
        pilot_from_records(records)
    with pytest.raises(InputError, match="there is no system 'd'"):
        pilot_from_records(records, systems=["a", "d"])
    with pytest.raises(InputError, match="a comparison needs two systems, found 1"):
        pilot_from_records(records, systems=["a", "a"])
    with pytest.raises(InputError, match="no item has judgements of both a and c"):
        pilot_from_records(records, systems=["a", "c"])
    records += rated({"a": [1]}, "fun")
    with pytest.raises(InputError, match=r"there are several aspects \(apt, fun\); choose one aspect"):
        pilot_from_records(records, systems=["a", "b"])
    with pytest.raises(InputError, match="there is no aspect 'apd'"):
        pilot_from_records(records, "apd", ["a", "b"])
    assert pilot_from_records(records, "apt", ["a", "b"]).noise.n == 2


def test_checks_and_aggregated_ratings_are_no_pilot() -> None:
    records = [*replies("a", "b"), *rated({"a": [1, 2], "b": [2, 1]})]
    extra = [
        Rating("aggregate:mean", "apt", 9.0, "i0/a"),
        Rating("ann", "apt", 9.0, "i0/a", meta={"right": False}),
    ]
    assert pilot_from_records([*records, *extra]) == pilot_from_records(records)


def test_a_pilot_of_scores_pairs_the_means_of_replies_by_item() -> None:
    records: list[Record] = [*ITEMS[:3]]
    texts = {"a": ["one", "one two", "one two three"], "b": ["one two", "one", "one"]}
    for system, of_system in texts.items():
        records += [Response(f"i{i}/{system}", f"i{i}", system, text) for i, text in enumerate(of_system)]
    found = pilot_from_scores(rejoinder.score(collect(records), "length"), "length")
    assert found.noise.difference == pytest.approx((-1 + 1 + 2) / 3)
    assert found.noise.between == pytest.approx(np.std([-1, 1, 2], ddof=1))
    assert found.noise.reason is None


def test_the_table_of_plans_counts_whole_items_and_ratings() -> None:
    pilot = pilot_from_records([*replies("a", "b"), *rated({"a": [3, 5, 4], "b": [2, 2, 4]})])
    plans = make_rating_plans(pilot.noise, [1, 2], 1.0, None)
    table = rating_plan_table(pilot.noise, plans, 0.8, 0.05, pilot)
    assert [row[0] for row in table.rows] == ["1", "2"]
    for row, one in zip(table.rows, plans, strict=True):
        assert row[1] == one.power.n
        assert row[2] == 2 * one.raters * one.power.n
    assert any("With only 3 items, these standard deviations are uncertain" in note for note in table.notes)
    nothing = rating_plan_table(pilot.noise, make_rating_plans(pilot.noise, [1], 0.0, None), 0.8, 0.05, None)
    assert nothing.rows[0][1] is None
    assert "1 rater: a difference of 0 cannot be detected." in nothing.notes


# ---- preferences and tables


def test_preferred_systems_by_hand() -> None:
    records = replies("a", "b", items=4)
    choices = ["first", "first", "second", "tie"]
    records += [
        Preference(f"i{i}", f"i{i}/a", f"i{i}/b", f"r{i % 2}", choice, "best") for i, choice in enumerate(choices)
    ]
    records.append(Preference("i0", "i0/a", "i0/b", "aggregate:majority", "second", "best"))
    (found,) = rank_by_preference(records)
    assert (found.n_raters, found.n_items, found.n_ties, found.within_system, found.shrunk) == (2, 4, 1, 0, None)
    first, second = found.ranking.strengths
    assert (first.system, first.points, second.points) == ("a", 2.5, 1.5)
    # By Davidson's model two systems are as their wins are, 2 to 1, and a tie is 1 / sqrt(2 * 1) as likely.
    assert first.value - second.value == pytest.approx(math.log(2))
    assert found.ranking.ties is not None
    assert found.ranking.ties.value == pytest.approx(1 / math.sqrt(2))
    assert [row[2] for row in found.table().rows] == [2.5 / 4, 1.5 / 4]
    assert found.table().notes[0].startswith("4 preferences by 2 raters on 4 items, 1 tie;")
    assert found.sentence() == "best: people prefer a, but its interval overlaps those of all others."


def test_a_clear_preference_names_who_is_behind() -> None:
    records = replies("a", "b", "c")
    for i in range(6):
        for k in range(10):
            choice = "second" if k == i else "first"
            records.append(Preference(f"i{i}", f"i{i}/a", f"i{i}/b", f"r{k}", choice, "best"))
            records.append(Preference(f"i{i}", f"i{i}/a", f"i{i}/c", f"r{k}", choice, "best"))
    (found,) = rank_by_preference(records)
    assert found.sentence() == "best: people prefer a to b, c (the intervals do not overlap)."


def test_ranks_and_lists_as_they_are_written() -> None:
    assert (_format_ranks(1, 1), _format_ranks(1, 3), _format_ranks(math.nan, 2), _format_ranks(1, math.nan)) == (
        "1",
        "1–3",
        None,
        None,
    )
    assert join_names(["a"]) == "a"
    assert join_names(["a", "b"]) == "a and b"
    assert join_names(list("abcdef")) == "a, b, c, d, e and f"
    assert join_names(list("abcdefg")) == "7 others"


def test_what_has_no_label_is_left_out_of_the_aggregated_and_the_rest_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def labels(values: np.ndarray, method: str) -> Aggregated:
        found = aggregate(values, method)
        without = np.array([True, False, True])
        return found._replace(values=np.where(without, found.values, math.nan))

    monkeypatch.setattr(aggregation, "aggregate", labels)
    records = [
        *replies("a", items=3),
        *(Rating(f"r{k}", "apt", float(i), f"i{i}/a") for i in range(3) for k in range(2)),
    ]
    (made,) = aggregation.aggregate_ratings(records, "majority")
    assert [(one.rater, one.response, one.value) for one in made.records if isinstance(one, Rating)] == [
        ("aggregate:majority", "i0/a", 0.0),
        ("aggregate:majority", "i2/a", 2.0),
    ]


def test_an_aggregated_rating_says_how_sure_it_is() -> None:
    given = {"i0": [1.0, 1.0, 2.0], "i1": [2.0, 2.0, 2.0]}
    ratings: list[Record] = [
        Rating(f"r{k}", "apt", value, f"{item}/a") for item, values in given.items() for k, value in enumerate(values)
    ]
    (made,) = aggregation.aggregate_ratings([*replies("a", items=2), *ratings], "majority")
    first, second = made.records
    assert first.meta["n"] == 3
    assert first.meta["confidence"] == pytest.approx(2 / 3, abs=1e-6)
    assert first.meta["expected"] == pytest.approx(4 / 3, abs=1e-6)
    assert first.meta["spread"] == pytest.approx(math.sqrt(2) / 3, abs=1e-6)
    assert first.meta["probabilities"] == {"1": 0.666667, "2": 0.333333}
    assert second.meta["probabilities"] == {"2": 1.0}  # what is impossible is not listed
    (mean,) = aggregation.aggregate_ratings([*replies("a", items=2), *ratings], "mean")
    assert [one.value for one in mean.records if isinstance(one, Rating)] == [pytest.approx(4 / 3), 2.0]
    assert mean.records[0].meta["standard_error"] == pytest.approx(1 / 3, abs=1e-6)  # sd 1 / sqrt(3), over 3 ratings
    assert "probabilities" not in mean.records[0].meta


def test_what_cannot_be_aggregated_is_told() -> None:
    with pytest.raises(InputError, match="there are no ratings to aggregate"):
        aggregation.aggregate_ratings(replies("a"), "majority")
    compared = [*replies("a", "b"), Preference("i0", "i0/b", "i0/a", "ann", "first", "best")]
    with pytest.raises(InputError, match="preferences have no mean"):
        aggregation.aggregate_ratings(compared, "mean")
    (made,) = aggregation.aggregate_ratings(compared, "majority")
    (one,) = made.records
    assert isinstance(one, Preference)
    assert (one.first, one.second, one.choice) == ("i0/a", "i0/b", "second")


def test_certainty_is_read_from_what_aggregated_ratings_say() -> None:
    def one(n: int, **meta: object) -> Rating:
        return Rating("aggregate:x", "apt", float(n), f"i{n}/a", meta=meta)

    labels = [one(n, expected=float(n), spread=0.0) for n in (1, 2, 3)]
    assert aggregation.reachable_with_aggregated(labels).value == pytest.approx(1.0)
    means = [one(n, standard_error=0.6) for n in (1, 2, 3)]
    assert aggregation.reachable_with_aggregated(means).value == pytest.approx(0.8)
    assert aggregation.reachable_with_aggregated([one(n, spread=True) for n in (1, 2, 3)]).n == 0
