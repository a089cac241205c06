"""Means per slice: planted slices are found, noise is not, small slices are named, in all three commands."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rejoinder
from rejoinder.cli import program
from rejoinder.comparison.slices import MAX_SLICES, compute_slice_means, cut_slices
from rejoinder.errors import InputError, RejoinderError
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.types import Item, Record, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"


def objects(*values: Any) -> np.ndarray[Any, Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def made(topics: list[Any], values: dict[str, list[float]], on_response: bool = False) -> Scores:
    """Scores of a metric m: one value per system for each item, items with these topics."""
    records: list[Record] = []
    for i, topic in enumerate(topics):
        meta = {} if topic is None else {"topic": topic}
        records.append(Item(f"i{i}", (Turn("Well?"),), meta={} if on_response else meta))
        records += [Response(f"i{i}/{s}", f"i{i}", s, "Yes.", meta if on_response else {}) for s in values]
    data = rejoinder.data.collect(records)
    base = rejoinder.score(data, "length")
    column = np.array([values[s][i] for i in range(len(topics)) for s in values])
    facts = {"m": MetricFacts("m", (-9.0, 9.0), True, frozenset())}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    return Scores(facts, {"m": column}, *where, base.dialogue_codes, base.clusters, data=data)


@pytest.mark.parametrize("on_response", [False, True])
def test_a_planted_slice_is_found_and_a_small_one_is_not_tested(on_response: bool) -> None:
    random = np.random.default_rng(1)
    topics = ["refund"] * 30 + ["delivery"] * 40 + ["other"] * 40 + ["rare"] * 3 + [None] * 2
    values = random.normal(size=len(topics))
    values[:30] -= 2
    (comparison,) = rejoinder.compare(made(topics, {"bot": values.tolist()}, on_response), by="meta.topic")
    slices = comparison.slices
    assert slices is not None
    rows = {row.slice: row for row in slices.means}
    assert list(rows) == ["delivery", "other", "refund", "rare"]  # the largest first
    assert rows["refund"].survives
    assert rows["refund"].mean.value == pytest.approx(values[:30].mean())
    assert rows["refund"].difference.value == pytest.approx(values[:30].mean() - values[30:].mean())
    assert rows["rare"].reason == "too small (3 conversations)"
    assert math.isnan(rows["rare"].corrected)
    assert math.isnan(rows["rare"].mean.low)
    assert slices.slicing.n_without == 2
    table = str(slices.means_table())
    assert "2 replies have no meta.topic." in table
    assert "corrected over 3 tests" in table
    assert slices.differences == []


def test_holm_is_over_all_slices_of_all_systems() -> None:
    random = np.random.default_rng(5)
    topics = [f"t{i % 5}" for i in range(100)]
    values = {system: random.normal(size=100).tolist() for system in ("x", "y")}
    slices = rejoinder.compare(made(topics, values), by="meta.topic")[0].slices
    assert slices is not None
    p = sorted(row.p for row in slices.means)
    assert len(p) == 10
    assert min(row.corrected for row in slices.means) == pytest.approx(min(1.0, p[0] * 10))
    differences = sorted(slices.differences, key=lambda one: one.difference.p)
    assert len(differences) == 5
    assert differences[0].corrected == pytest.approx(min(1.0, differences[0].difference.p * 5))


def test_noise_in_many_slices_seldom_raises_an_alarm() -> None:
    random = np.random.default_rng(6)
    scores = made([f"t{i % 12}" for i in range(240)], {"bot": [0.0] * 240})
    slicing = cut_slices(objects(*(f"t{i % 12}" for i in range(240))), "meta.topic")
    alarms = 0
    for _ in range(300):
        found = compute_slice_means("m", random.normal(size=240), scores, slicing, (-9.0, 9.0))
        alarms += any(row.survives for row in found.means)
    assert alarms / 300 <= 0.08


def test_two_slices_that_hold_everything_are_one_test() -> None:
    random = np.random.default_rng(7)
    scores = made(["a", "b"] * 20, {"bot": random.normal(size=40).tolist()})
    slices = rejoinder.compare(scores, by="meta.topic")[0].slices
    assert slices is not None
    first, second = slices.means
    assert first.p == pytest.approx(second.p)
    assert first.corrected == pytest.approx(first.p)


def test_systems_are_compared_within_each_slice_in_the_order_of_the_run() -> None:
    random = np.random.default_rng(8)
    topics = ["easy"] * 30 + ["hard"] * 30
    x, y = random.normal(size=60), random.normal(size=60)
    x[:30] += 3
    y[30:] += 1.5
    slices = rejoinder.compare(made(topics, {"x": x.tolist(), "y": y.tolist()}), by="meta.topic")[0].slices
    assert slices is not None
    easy, hard = slices.differences
    assert (
        (easy.difference.first, easy.difference.second) == ("x", "y") == (hard.difference.first, hard.difference.second)
    )
    assert easy.difference.difference.value == pytest.approx((x - y)[:30].mean())
    assert hard.difference.difference.value == pytest.approx((x - y)[30:].mean())
    assert easy.difference.difference.value > 0 > hard.difference.difference.value
    assert easy.corrected < 0.05


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", "b"], ["b", "a"]),
        ([True, False, True], ["true", "false"]),
        ([["x", "y"], ["y"], []], ["y", "x"]),
        ([2, 10, 2, None], ["2", "10"]),
        (["10", "9", "9"], ["9", "10"]),  # texts of numbers are numbers
        ([0.25, 0.5, math.nan], ["0.25", "0.5"]),
        ([{"k": 1}, {"k": 1}], ['{"k": 1}']),
        (list(range(100)), ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]),
        ([1] * 90 + list(range(2, 12)), ["1", "2 to 11"]),
        (["a\nb", "a b"], ["a b"]),
        ([["1", "2"], ["2"]], ["2", "1"]),
    ],
)
def test_the_names_of_slices(values: list[Any], names: list[str]) -> None:
    slicing = cut_slices(objects(*values), "meta.k")
    assert list(slicing.masks) == names


def test_slices_of_one_row_each_are_counted_and_not_all_shown() -> None:
    slicing = cut_slices(objects(*(f"user {i}" for i in range(5000)), "user 1"), "meta.user")
    assert len(slicing.masks) == MAX_SLICES
    assert next(iter(slicing.masks)) == "user 1"
    assert slicing.n_hidden == 5000 - MAX_SLICES
    assert f"{5000 - MAX_SLICES:,} smaller slices" in slicing.notes()[0]


def test_what_cannot_be_sliced_is_said() -> None:
    scores = rejoinder.score(CHATS, "length")
    with pytest.raises(InputError, match=r"no reply has meta.topic; known: "):
        rejoinder.compare(scores, by="meta.topic")
    with pytest.raises(InputError, match="systems are what is compared"):
        rejoinder.compare(scores, by="system")
    with pytest.raises(InputError, match="'topic' is not known"):
        rejoinder.compare(scores, by="topic")
    with pytest.raises(InputError, match="no reply has x, so there are no slices"):
        cut_slices(objects(None, None), "x")


def invoke(*words: object) -> Result:
    done = CliRunner().invoke(program, list(map(str, words)))
    if done.exception is not None and isinstance(done.exception, RejoinderError):
        raise done.exception
    return done


def test_compare_show_and_report_take_by(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke("score", CHATS, "-m", "meteor", "-o", run).exit_code == 0
    compared = invoke("compare", run, "--by", "turns").stdout
    assert "meteor by turns" in compared
    assert "meteor: differences by turns" in compared
    assert "Too small to be tested, with fewer than 8 conversations: 2, 4." in compared
    shown = invoke("show", run, "--by", "turns", "--system", "plain", "-m", "meteor", "-n", 1).stdout
    assert "meteor by turns" in shown
    assert "1 of 48 replies" in shown
    tables = json.loads(invoke("report", run, "--by", "turns", "--format", "json", "-o", "-").stdout)
    assert "meteor by turns" in [table["title"] for table in tables]
    page = rejoinder.report(run, by="turns")
    assert "<summary>meteor by turns</summary>" in page
    assert "rejoinder report RUN --by turns" in page
    assert "by turns" not in rejoinder.report(run)
    assert {row["turns"] for row in rejoinder.show(run, by="turns").rows()} == {1.0, 2.0, 3.0, 4.0, 5.0}
