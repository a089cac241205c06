"""Systems against each other: a judge whose ways are known is asked, and the tables say what they are."""

from __future__ import annotations

import json
import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from judge_server import Judge as Server
from judge_server import completion, forget_endpoints, judges, says, served
from scipy.optimize import minimize
from scipy.special import expit

import rejoinder
from rejoinder.cli import program
from rejoinder.comparison.rating_power import pilot_from_records
from rejoinder.data.collection import Collection, collect
from rejoinder.errors import BudgetError, InputError, SpecError
from rejoinder.judges import load_rubric
from rejoinder.judges.arena_pairs import PairChoice, draw_pairs
from rejoinder.judges.arena_result import Arena
from rejoinder.judges.pairs import ComparedPair, PairComparison
from rejoinder.stats.interval import Interval
from rejoinder.stats.pair_effects import estimate_pair_effects
from rejoinder.types import Choice, Item, Preference, Record, Response, Turn

RUBRIC = load_rubric("default")
Choose = Callable[[str, str], str]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch)


def reach(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
    return server


def talks(
    systems: tuple[str, ...], dialogues: int, items: int = 1, words: tuple[int, int] = (3, 40), seed: int = 1
) -> list[Record]:
    """Dialogues with some items each, and a reply of every system to each item: its name, and some words."""
    rng = random.Random(seed)
    records: list[Record] = []
    for d in range(dialogues):
        for i in range(items):
            item = Item(f"d{d}-{i}", (Turn(f"Question {d} {i}?", "A"),), dialogue=f"d{d}")
            records.append(item)
            for system in systems:
                text = " ".join([system, f"says{d}x{i}", *["well"] * rng.randint(*words)])
                records.append(Response(f"{item.id}/{system}", item.id, system, text))
    return records


def model_judge(place: float, length: float, strengths: dict[str, float], ties: float = 0.0) -> Choose:
    """A judge that chooses the first reply with the odds of a model, by a number that the two texts decide."""

    def choose(first: str, second: str) -> str:
        rng = random.Random(f"{first}|{second}")
        if rng.random() < ties:
            return "tie"
        odds = place + length * math.log2(len(first.split()) / len(second.split()))
        odds += strengths.get(first.split()[0], 0.0) - strengths.get(second.split()[0], 0.0)
        return "first" if rng.random() < expit(odds) else "second"

    return choose


def holds(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


# What the judge is like


def test_a_known_preference_for_place_and_length_is_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    strengths = {"ann": 0.8, "bob": 0.0, "cleo": -0.8}
    data = collect(talks(("ann", "bob", "cleo"), 110, items=2))
    with served(judges(model_judge(0.9, 0.7, strengths))) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", n=150)
        assert len(server.sent) == 3 * 150 * 2
    assert [one.system for one in found.ranking.strengths] == ["ann", "bob", "cleo"]
    assert found.ranks == {"ann": (1, 1), "bob": (2, 2), "cleo": (3, 3)}
    assert found.bias.first.low > 0.55
    assert found.bias.same.high < 0.9
    assert found.bias.longer.low > 0.5
    assert holds(found.bias.odds, math.exp(0.7)), found.bias.odds
    assert found.bias.odds.high < 3
    said = " ".join(found.sentences())
    assert "prefers ann to all others" in said
    assert "It prefers the place shown first" in said
    assert "It prefers the longer reply in" in said


def test_a_judge_without_bias_is_not_said_to_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    data = collect(talks(("ann", "bob"), 200))
    with served(judges(model_judge(0.0, 0.0, {}, ties=0.2))) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", n=200)
    assert holds(found.bias.first, 0.5)
    assert holds(found.bias.longer, 0.5)
    assert holds(found.bias.odds, 1.0)
    assert holds(found.win_rate("ann", "bob"), 0.5)
    assert "shows no preference for a place" in found.sentences()[1]
    assert "may be chance" in found.sentences()[0]


def test_a_judge_that_always_chooses_the_first_or_the_longer_is_shown_without_odds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = collect(talks(("ann", "bob"), 40))
    with served(judges(lambda first, second: "first")) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m")
    assert (found.bias.first.value, found.bias.same.value) == (1.0, 0.0)
    assert {pair.comparison.choice for pair in found.pairs} == {"tie"}
    with served(judges(lambda first, second: "first" if len(first) > len(second) else "second")) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "other")
    assert found.bias.longer.value == 1.0
    assert math.isnan(found.bias.odds.value)
    assert "No odds of the longer reply" in str(found.bias_table())


def test_effects_of_place_and_length_cover_the_truth_as_often_as_they_say() -> None:
    hits = Counter[str]()
    trials = 400
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        systems = rng.integers(0, 3, (160, 2))
        systems[:, 1] = np.where(systems[:, 0] == systems[:, 1], (systems[:, 1] + 1) % 3, systems[:, 1])
        x = rng.normal(size=160)
        clusters = np.arange(160) // 2
        odds = 0.5 + 0.4 * x + 0.6 * (systems[:, 0] - systems[:, 1]) + rng.normal(size=80)[clusters] * 0.3
        y = (rng.random(160) < expit(odds)).astype(float)
        found = estimate_pair_effects(
            systems[:, 0].tolist(), systems[:, 1].tolist(), y, {"place": np.ones(160), "x": x}, clusters.tolist()
        )
        hits["x"] += holds(found["x"], 0.4)
        hits["place"] += holds(found["place"], 0.5)
    assert 0.92 <= hits["x"] / trials <= 0.98
    assert 0.92 <= hits["place"] / trials <= 0.98


# The systems


def choices_of(found: Arena) -> list[tuple[str, str, float]]:
    return [(pair.first.system, pair.second.system, pair.points) for pair in found.pairs]


def test_strengths_of_three_systems_with_ties_equal_an_independent_computation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = collect(talks(("ann", "bob", "cleo"), 60))
    with served(judges(model_judge(0.5, 0.0, {"ann": 1.0, "cleo": -0.5}, ties=0.3))) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", n=60)
    points = choices_of(found)
    assert 0.5 in {value for *_, value in points}

    def loss(free: np.ndarray[Any, Any]) -> float:  # Davidson (1970)
        strength = {"ann": free[0], "bob": free[1], "cleo": -free[0] - free[1]}
        total = 0.0
        for a, b, value in points:
            first, second = math.exp(strength[a]), math.exp(strength[b])
            tie = math.exp(free[2]) * math.sqrt(first * second)
            total -= math.log({1.0: first, 0.5: tie, 0.0: second}[value] / (first + second + tie))
        return total

    best = minimize(loss, np.zeros(3), tol=1e-10).x
    strengths = {one.system: one.value for one in found.ranking.strengths}
    assert strengths == pytest.approx({"ann": best[0], "bob": best[1], "cleo": -best[0] - best[1]}, abs=1e-4)
    assert found.ranking.ties is not None
    assert found.ranking.ties.value == pytest.approx(math.exp(best[2]), abs=1e-4)
    assert f"Tie parameter {math.exp(best[2]):.3g} [" in str(found.table())
    ann = [value if a == "ann" else 1 - value for a, b, value in points if {a, b} == {"ann", "bob"}]
    assert found.win_rate("ann", "bob").value == pytest.approx(sum(ann) / len(ann))
    # What is written goes on to other commands, with the same strengths.
    rejoinder.write(found.records(), tmp_path / "choices.jsonl")
    (ranking,) = rejoinder.comparison.rank_by_preference(rejoinder.read(tmp_path / "choices.jsonl"))
    assert ranking.judge == "judge:m"
    assert {one.system: one.value for one in ranking.ranking.strengths} == pytest.approx(strengths)


def test_rank_ranges_are_wide_where_the_choices_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    data = collect(talks(("ann", "bob", "cleo"), 12))
    with served(judges(model_judge(0.0, 0.0, {"ann": 0.3}))) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m")
    assert any(low < high for low, high in found.ranks.values())
    assert " to " in str(found.table())


def test_equal_replies_are_ties_and_nothing_is_asked_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    records = talks(("ann", "bob"), 20)
    same = [
        Response(r.id, r.item, r.system, f"The same{' ' * len(r.system)}answer {r.item}.{' ' * (r.system == 'ann')}")
        if isinstance(r, Response) and int(r.item[1:].split("-")[0]) < 15
        else r
        for r in records
    ]  # fmt: skip
    with served(judges(lambda first, second: "first" if first.startswith("ann") else "second")) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(collect(same), "m")
        assert len(server.sent) == 10
    assert found.win_rate("ann", "bob").value == pytest.approx((5 + 15 * 0.5) / 20)
    assert found.bias.same.n == 5
    assert sum(p.meta.get("equal", False) for p in found.preferences()) == 15
    assert "15 of them equal replies" in str(found.table())


def test_answers_that_cannot_be_read_are_counted_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(says("I would rather not say anything.")) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(collect(talks(("ann", "bob"), 4)), "m")
    assert not found.preferences()
    assert "No answer could be read for 4 pairs" in str(found.table())
    assert "gives no order" in found.sentences()[0]


# What is asked


def test_the_sample_is_balanced_over_systems_and_spread_over_dialogues() -> None:
    data = collect(talks(("ann", "bob", "cleo"), 20, items=5))
    pairs, _ = draw_pairs(data, RUBRIC, PairChoice(20))
    assert Counter((a.response.system, b.response.system) for a, b in pairs) == {
        ("ann", "bob"): 20, ("ann", "cleo"): 20, ("bob", "cleo"): 20,
    }  # fmt: skip
    assert len({a.item.dialogue for a, _ in pairs}) == 20
    more = draw_pairs(data, RUBRIC, PairChoice(40))[0]
    assert {(a.response.id, b.response.id) for a, b in pairs} <= {(a.response.id, b.response.id) for a, b in more}
    other = draw_pairs(data, RUBRIC, PairChoice(20, seed=1))[0]
    assert {a.item.id for a, _ in pairs} != {a.item.id for a, _ in other}


def test_a_system_that_replied_to_few_items_is_compared_on_those() -> None:
    records = [
        r
        for r in talks(("ann", "bob", "cleo"), 30)
        if not (isinstance(r, Response) and r.system == "cleo" and int(r.item[1:].split("-")[0]) >= 4)
    ]
    pairs, _ = draw_pairs(collect(records), RUBRIC, PairChoice(10))
    counts = Counter((a.response.system, b.response.system) for a, b in pairs)
    assert counts == {("ann", "bob"): 10, ("ann", "cleo"): 4, ("bob", "cleo"): 4}


def test_what_was_answered_is_not_asked_again_and_more_items_ask_only_for_those(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = collect(talks(("ann", "bob"), 30))
    lines: list[str] = []
    with served(judges(model_judge(0.0, 0.0, {}))) as server:
        reach(server, monkeypatch)
        for n in (10, 10, 25):
            rejoinder.arena(data, "m", n=n, log=lines.append)
        assert len(server.sent) == 50
    assert lines == [
        "10 pairs of replies, 20 requests to m",
        "10 pairs of replies, 0 requests to m",
        "25 pairs of replies, 30 requests to m",
    ]


def test_an_arena_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejoinder.write(talks(("ann", "bob"), 150), tmp_path / "talks.jsonl")
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "4")
    with served(judges(model_judge(0.3, 0.2, {"ann": 1.0})), delay=0.005) as server:
        reach(server, monkeypatch)
        words = ["arena", str(tmp_path / "talks.jsonl"), "--judge", "m", "-n", "150"]
        command = [sys.executable, "-m", "rejoinder", *words]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(server.sent) < 60 and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        before = len(server.sent)
        assert 60 <= before < 300
        lines = next((own_cache / "judge").iterdir()).read_bytes().count(b"\n")
        found = rejoinder.arena(tmp_path / "talks.jsonl", "m", n=150)
        assert len(server.sent) == 300 + before - lines
        assert rejoinder.arena(tmp_path / "talks.jsonl", "m", n=150).ranking == found.ranking


def test_what_cannot_be_judged_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[Record] = [
        *talks(("ann", "bob"), 5),
        Item("blank", (Turn("Well?"),)), Response("b/a", "blank", "ann", " "), Response("b/b", "blank", "bob", "Yes."),
        Item("alone", ()), Response("alone/ann", "alone", "ann", "Hm."), Response("alone/bob", "alone", "bob", "Yes."),
        Response("d0-0/ann-again", "d0-0", "ann", "Another try."),
    ]  # fmt: skip
    with served(judges()) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(records, "m")
        assert len(server.sent) == 10
    assert found.left_out == {"blank": 1, "without a context": 2, "a further reply of a system to one item": 1}
    assert "Replies left out: 2 without a context" in str(found.table())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rubric": "faithful"}, "without documents"),
        ({"rubric": "goal_reached", "only_rated": True}, "leave --people out"),
        ({"systems": ["dora"]}, "no reply is by the system 'dora'; the systems are: ann, bob"),
        ({"systems": ["ann"]}, "no item has replies of two systems"),
        ({"only_rated": True}, "people compared no two replies"),
        ({"n": 0}, "n must be"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, SpecError), match=message) as error:
        rejoinder.arena(talks(("ann", "bob"), 2), "m", **options)
    assert "\n" not in str(error.value)


# People and judges


def prefer(data: Collection, choose: Callable[[Response, Response], Choice], rater: str = "eva") -> list[Preference]:
    replies = data.responses
    return [
        Preference(item, f"{item}/bob", f"{item}/ann", rater, choose(replies[f"{item}/bob"], replies[f"{item}/ann"]))
        for item in data.items
    ]


def test_agreement_with_people_is_beside_length_and_a_coin(monkeypatch: pytest.MonkeyPatch) -> None:
    data = collect(talks(("ann", "bob"), 120))
    for one in prefer(data, lambda bob, ann: "second" if random.Random(ann.id).random() < 0.9 else "first"):
        data.add(one)
    data.preferences[0] = Preference("d0-0", "d0-0/bob", "d0-0/ann", "eva", "tie")
    with served(judges(lambda first, second: "first" if first.startswith("ann") else "second")) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", n=200)
    (agreement,) = found.agreement
    assert agreement.n == 119
    right = [random.Random(f"d{d}-0/ann").random() < 0.9 for d in range(1, 120)]
    assert agreement.judge.value == pytest.approx(sum(right) / 119)
    assert holds(agreement.longer, 0.5)
    assert agreement.lead.low > 0
    shown = str(found.people_table())
    assert "the longer reply" in shown
    assert "a coin" in shown
    assert "more often than the longer reply does" in found.sentences()[-1]


def test_only_pairs_that_people_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    data = collect(talks(("ann", "bob"), 30))
    for one in prefer(data, lambda bob, ann: "first")[:7]:
        data.add(one)
    with served(judges()) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", only_rated=True)
    assert {pair.item.id for pair in found.pairs} == {f"d{d}-0" for d in range(7)}


def test_preferences_of_judges_are_never_mixed_with_those_of_people() -> None:
    data = collect(talks(("ann", "bob"), 12))
    people = prefer(data, lambda bob, ann: "first" if random.Random(ann.id).random() < 0.8 else "second")
    both = [*data, *people, *prefer(data, lambda bob, ann: "second", "judge:m")]
    of_people, of_judge = rejoinder.comparison.rank_by_preference(both)
    assert (of_people.judge, of_judge.judge) == (None, "judge:m")
    assert of_people == rejoinder.comparison.rank_by_preference([*data, *people])[0]
    assert of_people.sentence().startswith("overall: people prefer bob")
    assert of_judge.sentence().startswith("overall: judge:m prefers ann")
    assert "not of people" in str(of_judge.table())
    report = rejoinder.agreement([*both, *prefer(data, lambda bob, ann: "first", "fay")])
    assert report.judgements.by_judges == 12
    assert report.judgements.raters == ["eva", "fay"]
    assert pilot_from_records(both) == pilot_from_records([*data, *people])


# The command


def test_the_command_prints_the_tables_and_writes_what_other_commands_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejoinder.write(talks(("ann", "bob"), 25), tmp_path / "talks.jsonl")
    out = tmp_path / "choices.jsonl"
    with served(judges(model_judge(0.4, 0.0, {"ann": 1.5}))) as server:
        reach(server, monkeypatch)
        words = ["arena", str(tmp_path / "talks.jsonl"), "--judge", "m", "-n", "20", "-o", str(out)]
        done = CliRunner().invoke(program, words)
        as_json = CliRunner().invoke(program, [*words, "--format", "json"])
        assert len(server.sent) == 40
    assert done.exit_code == 0, done.output
    assert "20 pairs of replies, 40 requests to m" in done.stderr
    assert "Systems by the preferences of judge:m: appropriate" in done.stdout
    assert [table["title"] for table in json.loads(as_json.stdout)][1:] == ["Win rates", "The judge itself", "Cost"]
    written = [json.loads(line) for line in out.read_text().splitlines()]
    preferences = [one for one in written if one["kind"] == "preference"]
    assert len(preferences) == 20
    assert {one["rater"] for one in preferences} == {"judge:m"}
    assert all(len(one["meta"]["orders"]) == 2 for one in preferences)
    compared = CliRunner().invoke(program, ["compare", str(out), "--preferences"])
    assert "by judge:m (Bradley-Terry)" in compared.stdout
    scored = CliRunner().invoke(program, ["score", str(out), "-m", "length", "-o", str(tmp_path / "run")])
    assert scored.exit_code == 0, scored.output
    assert "by judge:m" in CliRunner().invoke(program, ["compare", str(tmp_path / "run")]).stdout
    assert CliRunner().invoke(program, ["report", str(tmp_path / "run"), "-o", str(tmp_path / "r.html")]).exit_code == 0
    with served(judges(model_judge(0.4, 0.0, {"ann": 1.5}))) as server:
        reach(server, monkeypatch)
        again = CliRunner().invoke(program, ["arena", str(tmp_path / "run"), "--judge", "m"])
        assert not server.sent, "a run folder holds the same replies"
    assert "20 pairs of replies, 0 requests to m" in again.stderr


def test_a_file_of_one_system_says_what_to_type_and_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for system in ("ann", "bob"):
        rows = [f"Question {i}?,{system} says {i} {'well ' * i}" for i in range(6)]
        (tmp_path / f"{system}.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    done = CliRunner().invoke(program, ["arena", str(tmp_path / "ann.csv"), "--judge", "m"])
    message = str(done.exception)
    assert "ann.csv: no item has replies of two systems that can be judged; " in message
    words = message.partition(": rejoinder ")[2].replace("FIRST=FILE", f"ann={tmp_path / 'ann.csv'}")
    with served(judges(model_judge(0.0, 0.0, {"ann": 2.0}))) as server:
        reach(server, monkeypatch)
        words = words.replace("SECOND=FILE", f"bob={tmp_path / 'bob.csv'}")
        done = CliRunner().invoke(program, [*words.split(), "--judge", "m"])
    assert done.exit_code == 0, done.output
    assert "6 pairs of replies, 12 requests to m" in done.stderr


def test_the_embedded_judge_says_what_it_is_worth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.judges import embedded

    def compare(self: Any, pairs: Any) -> list[PairComparison]:
        return [PairComparison.of_odds(1.0, -0.5) for _ in pairs]

    monkeypatch.setattr(embedded.EmbeddedJudge, "compare", compare)
    rejoinder.write(talks(("ann", "bob"), 20), tmp_path / "talks.jsonl")
    done = CliRunner().invoke(program, ["arena", str(tmp_path / "talks.jsonl")])
    assert done.exit_code == 0, done.output
    assert "agreed with people no more often than a coin flip" in done.stderr
    assert "judge:embedded prefers ann" in done.stdout
    assert "20 pairs of replies, no request" in done.stderr


def test_a_pair_is_told_by_its_dialogue_or_its_item() -> None:
    choice = PairComparison("first", "first", "first", 1.0)
    replies = Response("a", "i", "ann", "One two."), Response("b", "i", "bob", "One two three four.")
    assert ComparedPair(Item("i", ()), *replies, choice).cluster == ("item", "i")
    assert ComparedPair(Item("i", (), dialogue="d"), *replies, choice).cluster == ("dialogue", "d")
    assert ComparedPair(Item("i", ()), *replies, choice).doublings == -1.0


# Whole dialogues


def conversations(systems: tuple[str, ...], n: int = 12, own: bool = True) -> list[Record]:
    """Dialogues of two replies of each system; the last one says done more often the later a system's name."""
    records: list[Record] = []
    for d in range(n):
        opening = Turn(f"Book table {d}.", "user")
        for number, system in enumerate(systems):
            said = Turn(f"I am {system if own else 'someone'}: which day?", "assistant")
            contexts = [(opening,), (opening, said, Turn("Friday.", "user"))]
            for k, (context, text) in enumerate(zip(contexts, [said.text, "done " * (number + d % 2)], strict=True)):
                name = f"d{d}/{system}/{k}" if own else f"d{d}/{k}"
                if own or number == 0:
                    records.append(Item(name, context, dialogue=f"d{d}"))
                records.append(Response(f"d{d}/{system}/{k}", name, system, f"{text}for table {d}."))
    return records


def by_done(handler: Any, sent: dict[str, Any]) -> None:
    """Choose the dialogue that says done more often."""
    shown = json.loads(sent["messages"][-1]["content"].splitlines()[1])
    counts = [
        sum(turn["text"].count("done") for turn in shown[f"{place} conversation"]) for place in ("first", "second")
    ]
    better = "tie" if counts[0] == counts[1] else "first" if counts[0] > counts[1] else "second"
    handler.give(200, completion(json.dumps({"better": better, "reason": "so"})))


def test_by_a_rubric_of_whole_dialogues_two_dialogues_are_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = collect(conversations(("ann", "bob", "cleo")))
    with served(by_done) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(data, "m", rubric="goal_reached")
        assert len(server.sent) == 3 * 12 * 2
        shown = json.loads(server.sent[0]["messages"][-1]["content"].splitlines()[1])
        again = rejoinder.arena(data, "m", rubric="goal_reached")
        assert len(server.sent) == 3 * 12 * 2
    assert [turn["speaker"] for turn in shown["first conversation"]] == ["user", "assistant", "user", "assistant"]
    assert shown["judged speaker of the second"] == "assistant"
    assert again.preferences() == found.preferences()
    assert [one.system for one in found.ranking.strengths] == ["cleo", "bob", "ann"]
    assert "36 pairs of dialogues on 12 dialogue names" in str(found.table())
    assert "the longer dialogue" in str(found.bias_table())
    assert "stored context" not in str(found.table())
    # The dialogues are written as they were compared, and other commands read them.
    rejoinder.write(found.records(), tmp_path / "choices.jsonl")
    written = rejoinder.read(tmp_path / "choices.jsonl")
    assert written.responses["d0/ann/1"].text.splitlines()[:2] == [
        "user: Book table 0.",
        "assistant: I am ann: which day?",
    ]
    (ranking,) = rejoinder.comparison.rank_by_preference(written)
    assert [one.system for one in ranking.ranking.strengths] == ["cleo", "bob", "ann"]


def test_dialogues_whose_earlier_replies_are_not_the_systems_own_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(by_done) as server:
        reach(server, monkeypatch)
        found = rejoinder.arena(conversations(("ann", "bob"), own=False), "m", rubric="knowledge_kept")
    assert "In 12 pairs both systems answered the same stored context" in " ".join(found.table().notes)


def test_dialogues_without_a_common_name_say_what_is_missing() -> None:
    with pytest.raises(InputError, match="their items need the same 'dialogue'"):
        rejoinder.arena(conversations(("ann",)), "m", rubric="goal_reached")


# Money


def test_a_dry_run_of_an_arena_counts_both_orders_and_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejoinder.write(talks(("ann", "bob"), 10), tmp_path / "talks.jsonl")
    command = ["arena", str(tmp_path / "talks.jsonl"), "--judge", "gpt-4o-mini", "--format", "csv"]
    done = CliRunner().invoke(program, [*command, "--dry-run"])
    assert done.exit_code == 0, done.output
    cells = dict(zip(*(line.split(",") for line in done.stdout.splitlines()[:2]), strict=True))
    assert (cells["requests"], cells["answered before"], cells["to send"]) == ("20", "0", "20")
    assert 0 < float(cells["cost"]) < float(cells["with longest answers"])
    with served(judges()) as server:
        reach(server, monkeypatch)
        assert CliRunner().invoke(program, [*command, "-n", "4"]).exit_code == 0
        assert len(server.sent) == 8
        estimate = rejoinder.judges.arena.estimate_arena_cost(tmp_path / "talks.jsonl", "gpt-4o-mini")
        assert (estimate.answered, estimate.to_send, estimate.calibrated_on) == (8, 12, 8)
        assert len(server.sent) == 8
    done = CliRunner().invoke(program, ["arena", str(tmp_path / "talks.jsonl"), "--dry-run"])
    assert "nothing has to be paid" in done.stdout


def test_an_arena_stops_before_its_budget_and_goes_on_with_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_INPUT_PRICE", "1000")
    monkeypatch.setenv("REJOINDER_JUDGE_OUTPUT_PRICE", "1000")
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    rejoinder.write(talks(("ann", "bob"), 30), tmp_path / "talks.jsonl")
    command = ["arena", str(tmp_path / "talks.jsonl"), "--judge", "m"]
    with served(judges()) as server:
        reach(server, monkeypatch)
        stopped = CliRunner().invoke(program, [*command, "--budget", "5"])
        assert isinstance(stopped.exception, BudgetError)
        sent = len(server.sent)
        assert 0 < sent < 60
        assert f"{sent} of 60 requests are answered" in str(stopped.exception)
        assert "run the same command with a larger --budget" in str(stopped.exception)
        assert sent * 110 * 1000 / 1e6 <= 5  # as the server counted
        done = CliRunner().invoke(program, [*command, "--budget", "50", "--format", "json"])
        assert done.exit_code == 0, done.output
        assert len(server.sent) == 60
    tables = {table["title"]: table for table in json.loads(done.stdout)}
    row = tables["Cost"]["rows"][0]
    assert (row["requests"], row["answered before"], row["input tokens"]) == (60, sent, 6000)
    assert row["cost"] == pytest.approx(6.6)
    text = " ".join(CliRunner().invoke(program, command).stdout.split())
    assert "judge:m: 60 requests (60 answered before), 6,000 input and 600 output tokens; cost 6.60" in text
    wrong = CliRunner().invoke(program, [*command, "--budget", "0"])
    assert "the budget must be a number above 0" in str(wrong.exception)
