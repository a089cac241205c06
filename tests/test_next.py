"""Which replies to rate next: planted disagreements and open orders come first, and the file serves as data."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.comparison.next_ratings import find_metric_disagreements, find_uncertain_order, mix_replies
from rejoinder.comparison.reading_list import _find_unusual
from rejoinder.data.collection import collect
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.stats.order_uncertainty import order_uncertainty
from rejoinder.types import Item, Rating, Record, Reference, Response, Turn
from tests.test_agreement_cli import duels, replies, run


def scored(columns: dict[str, list[float]], better: dict[str, bool | None]) -> tuple[Scores, rejoinder.Collection]:
    """A run with these scores of one system's replies."""
    n = len(next(iter(columns.values())))
    records: list[Record] = [Item(f"i{i}", (Turn("Well?"),)) for i in range(n)]
    records += [Response(f"r{i}", f"i{i}", "s", "Yes.") for i in range(n)]
    data = collect(records)
    base = rejoinder.score(data, "length")
    facts = {name: MetricFacts(name, (-99.0, 99.0), better.get(name, True), frozenset()) for name in columns}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    values = {name: np.array(column) for name, column in columns.items()}
    return Scores(facts, values, *where, base.dialogue_codes, base.clusters), data


def test_where_metrics_disagree_most_comes_first() -> None:
    # under m the replies stand 0 1 2 3 4; under k the second and the last change places
    scores, data = scored({"m": [0, 1, 2, 3, 4], "k": [0, 40, 20, 30, 10], "n": [9, 9, 9, 9, 0]}, {"n": None})
    found = find_metric_disagreements(scores, data, 5)
    assert {found[0].response, found[1].response} == {"r1", "r4"}
    assert [one.worth for one in found] == pytest.approx([0.375, 0.375, 0, 0, 0])  # shares 1/4 and 1
    assert found[0].why in (
        "k puts it above 100% of replies, m above 25%",
        "m puts it above 100% of replies, k above 25%",
    )


def test_a_metric_that_is_better_low_is_turned_and_a_missing_score_is_no_disagreement() -> None:
    nan = float("nan")
    scores, data = scored({"m": [0, 1, 2, 3], "k": [9, 8, 7, nan]}, {"k": False})
    found = find_metric_disagreements(scores, data, 9)
    assert {one.response for one in found} == {"r0", "r1", "r2"}
    assert max(one.worth for one in found) < 0.2


def test_what_is_rated_already_is_worth_less() -> None:
    scores, data = scored({"m": [0, 1, 2, 3, 4], "k": [0, 40, 20, 30, 10]}, {})
    data.add(Rating("a", "apt", 1.0, "r4"))
    found = find_metric_disagreements(scores, data, 2)
    assert [(one.response, one.rated) for one in found] == [("r1", 0), ("r4", 1)]
    assert found[1].worth == pytest.approx(found[0].worth / 2)


def test_one_metric_cannot_disagree() -> None:
    scores, data = scored({"m": [0, 1, 2], "k": [0, 1, 2]}, {"k": None})
    with pytest.raises(InputError, match="two or more metrics with a direction are needed, found 1"):
        find_metric_disagreements(scores, data, 1)


def test_the_order_of_two_means_by_hand() -> None:
    # two items: the first system is ahead when the first item is drawn at least once and the sum is positive
    found = order_uncertainty(np.array([[3.0, 0.0], [0.0, 1.0]]), n_resamples=20000, seed=1)
    # draws: both first (1/4) ahead, both second (1/4) behind, one each (1/2) ahead
    assert found[0, 1] == pytest.approx(2 * 0.25, abs=0.02)
    assert found[0, 1] == pytest.approx(found[1, 0])
    clear = order_uncertainty(np.array([[3.0, 0.0], [2.0, 1.0]]))
    assert clear[0, 1] == 0.0
    unknown = order_uncertainty(np.array([[3.0, np.nan], [2.0, np.nan]]))
    assert unknown[0, 1] == 1.0


def rivals(rated: int = 10) -> list[Record]:
    """Systems x and y are alike, z is far behind; the first items are rated once."""
    random = np.random.default_rng(3)
    records: list[Record] = []
    for i in range(30):
        records.append(Item(f"i{i}", (Turn("Well?"),)))
        for system, quality in (("x", 4.0), ("y", 4.0), ("z", 1.0)):
            records.append(Response(f"i{i}/{system}", f"i{i}", system, "Yes."))
            if i < rated:
                value = float(np.clip(np.rint(quality + random.normal()), 1, 5))
                records.append(Rating("a", "apt", value, f"i{i}/{system}"))
    return records


def test_the_two_systems_whose_order_is_open_are_rated_next_where_nobody_did() -> None:
    data = collect(rivals())
    found = find_uncertain_order(data, 10)
    assert {one.system for one in found} == {"x", "y"}
    assert all(one.rated == 0 for one in found)
    assert all(int(one.item[1:]) >= 10 for one in found)
    items = [one.item for one in found]
    assert len(set(items)) == 5  # both replies to each of five items
    other = find_uncertain_order(data, 10, seed=1)
    assert [one.item for one in other] != items


def test_a_system_without_ratings_is_open_against_all() -> None:
    records = [r for r in rivals() if not (isinstance(r, Rating) and str(r.response).endswith("/z"))]
    found = find_uncertain_order(collect(records), 6)
    assert "z" in {one.system for one in found}
    assert found[0].worth == 1.0


def test_preferences_show_an_open_order_too() -> None:
    found = find_uncertain_order(collect(duels()), 4)
    assert "by preferences in overall" in found[0].why


def test_the_command_writes_data_for_a_project(tmp_path: Path) -> None:
    write(rivals(), tmp_path / "data.jsonl")
    done = run("next", tmp_path / "data.jsonl", "-n", 6, "-o", tmp_path / "next.jsonl")
    assert "Rate next" in done.stdout
    chosen = rejoinder.read(tmp_path / "next.jsonl")
    assert (len(chosen.items), len(chosen.responses)) == (3, 6)
    run("next", tmp_path / "data.jsonl", "-n", 6, "-o", tmp_path / "next.txt")
    assert (tmp_path / "next.txt").read_text().split() == list(chosen.responses)


def test_a_name_that_ends_in_csv_gets_the_table_as_csv(tmp_path: Path) -> None:
    write(rivals(), tmp_path / "data.jsonl")
    done = run("next", tmp_path / "data.jsonl", "-n", 6, "--format", "csv", "-o", tmp_path / "next.csv")
    assert (tmp_path / "next.csv").read_text() == done.stdout.removesuffix("\n")
    assert len(list(csv.DictReader(io.StringIO(done.stdout)))) == 6
    refused = run("next", tmp_path / "data.jsonl", "-o", tmp_path / "next.xlsx")
    assert ".xlsx means a spreadsheet, but the output is JSONL" in refused.output


def test_a_run_is_asked_by_metrics_or_by_ranking(tmp_path: Path) -> None:
    known = (Reference("word word again"),)
    records = [replace(one, references=known) if isinstance(one, Item) else one for one in replies()]
    write(records, tmp_path / "data.jsonl")
    run("score", tmp_path / "data.jsonl", "-m", "bleu", "-m", "chrf", "-o", tmp_path / "run")
    assert "of replies," in run("next", tmp_path / "run").stdout
    assert "(1 is a toss-up)" in run("next", tmp_path / "run", "--by", "ranking").stdout
    assert "by apt" in run("next", tmp_path / "run", "--aspect", "apt").stdout


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--by", "metrics"], "only a run folder has metrics"),
        (["--aspect", "nothing"], "nobody judged responses in the aspect 'nothing'"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path: Path, argv: list[str], told: str) -> None:
    write(rivals(), tmp_path / "data.jsonl")
    with pytest.raises(InputError, match=told):
        run("next", tmp_path / "data.jsonl", *argv)
    write([Item("i", (Turn("Hi."),)), Response("r", "i", "s", "Yes.")], tmp_path / "one.jsonl")
    with pytest.raises(InputError, match="an order needs two or more systems, found 1"):
        run("next", tmp_path / "one.jsonl")


def diary(n: int = 60) -> list[Record]:
    """One system's replies, nobody rated: most about trains, some about soup, one long, one empty of meaning."""
    records: list[Record] = []
    for i in range(n):
        topic = "train station ticket platform" if i % 3 else "soup kitchen onion recipe"
        text = f"The {topic} number{i} is fine."
        if i == 7:
            text = " ".join(f"thing{j}" for j in range(120))
        if i in (20, 21, 22):
            text = "I do not know."
        records += [Item(f"i{i}", (Turn(f"And the {topic}?"),), (Reference(f"The {topic} is good."),))]
        records.append(Response(f"r{i}", f"i{i}", "bot", text))
    return records


def test_one_system_without_ratings_gets_a_mix_that_says_why(tmp_path: Path) -> None:
    write(diary(), tmp_path / "data.jsonl")
    run("score", tmp_path / "data.jsonl", "-m", "bleu", "-m", "chrf", "-m", "length", "-o", tmp_path / "run")
    chosen = rejoinder.next_(tmp_path / "run", count=12)
    assert len(chosen.suggestions) == 12
    kinds = [one.why.partition(":")[0] for one in chosen.suggestions]
    assert {"low", "unusual", "diverse"} <= set(kinds)
    assert "r7" in {one.response for one in chosen.suggestions}
    same = [one for one in chosen.suggestions if one.response in ("r20", "r21", "r22")]
    assert len(same) == 1  # the same words are read once
    assert chosen.suggestions == rejoinder.next_(tmp_path / "run", count=12).suggestions
    diverse = [one.why for one in chosen.suggestions if one.why.startswith("diverse")]
    assert any("soup" in why or "train" in why or "onion" in why or "ticket" in why for why in diverse)


def test_a_mix_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    for name, records in (("a", diary()), ("b", diary()[::-1])):
        write(records, tmp_path / f"{name}.jsonl")
        run("score", tmp_path / f"{name}.jsonl", "-m", "chrf", "-o", tmp_path / name)
    a, b = (rejoinder.next_(tmp_path / name, count=20).suggestions for name in "ab")
    assert [one.response for one in a] == [one.response for one in b]


def test_a_mix_works_with_any_metrics_and_any_number(tmp_path: Path) -> None:
    write(diary(6), tmp_path / "data.jsonl")
    run("score", tmp_path / "data.jsonl", "-m", "length", "-o", tmp_path / "run")
    chosen = rejoinder.next_(tmp_path / "run", count=50).suggestions
    assert sorted(one.response for one in chosen) == [f"r{i}" for i in range(6)]
    assert all(one.why for one in chosen)
    done = run("next", tmp_path / "run", "-n", 50, "-o", tmp_path / "next.jsonl")
    assert done.stdout.startswith("Read next\n")
    assert "ratings so far" not in done.stdout
    assert len(rejoinder.read(tmp_path / "next.jsonl").responses) == 6
    one = [Item("i", (Turn("Hi."),)), Response("r", "i", "s", "Yes.")]
    write(one, tmp_path / "one.jsonl")
    run("score", tmp_path / "one.jsonl", "-m", "length", "-o", tmp_path / "single")
    assert [s.response for s in rejoinder.next_(tmp_path / "single").suggestions] == ["r"]


def test_in_a_mix_disagreements_are_uncertain_and_rated_replies_come_later() -> None:
    scores, data = scored({"m": [float(i) for i in range(40)], "k": [39.0, *[float(i) for i in range(1, 39)], 0.0]}, {})
    for i, response in enumerate(data.responses.values()):
        data.responses[response.id] = replace(response, text=f"Yes {i}.")
    chosen = mix_replies(scores, data, 8)
    uncertain = [one for one in chosen if one.why.startswith("uncertain")]
    assert {one.response for one in uncertain} == {"r0", "r39"}
    assert uncertain[0].why in (
        "uncertain: k puts it above 100% of replies, m above 0%",
        "uncertain: m puts it above 100% of replies, k above 0%",
    )
    assert chosen[0].response == "r1"  # low under both; r0 and r39 are low under one only
    data.add(Rating("a", "apt", 1.0, "r1"))
    later = mix_replies(scores, data, 8)
    assert later[0].response == "r2"


def test_a_reply_that_is_long_rare_or_repeats_itself_is_unusual() -> None:
    scores, data = scored({"m": [1.0] * 30, "n": [9.0, *[5.0, 5.1, 4.9] * 9, 5.0, 5.0]}, {"m": None, "n": None})
    texts = {
        5: " ".join(f"good{j} thing" for j in range(60)),
        6: "quixotic zephyr ennui saudade",
        7: "good thing to say " * 3,
    }
    common = ["this is a good thing to say", "now", "here", "too"]
    replies = [texts.get(i, " ".join(common[: 1 + i % 4])) for i in range(len(data.responses))]
    why = {scores.responses[one.place]: one.why for one in _find_unusual(scores, replies)}
    assert set(why) == {"r0", "r5", "r6", "r7"}
    assert why["r5"] == "unusual: long, 120 words (median 8)"
    assert why["r6"] == "unusual: rare words (ennui, quixotic, saudade)"
    assert why["r7"] == "unusual: repeats its words (4 different of 12)"
    assert why["r0"] == "unusual: n 9.000 (median 5.000)"


def test_the_mix_can_be_asked_for_with_several_systems(tmp_path: Path) -> None:
    write([one for one in rivals() if not isinstance(one, Rating)], tmp_path / "data.jsonl")
    run("score", tmp_path / "data.jsonl", "-m", "length", "-o", tmp_path / "run")
    assert "random" in run("next", tmp_path / "run").stdout  # all replies are the same, and no metric has a direction
    with pytest.raises(InputError, match="only a run folder has metrics"):
        run("next", tmp_path / "data.jsonl", "--by", "mix")


def test_what_to_read_is_said_as_reading_and_the_command_in_the_note_works(tmp_path: Path) -> None:
    write(diary(), tmp_path / "data.jsonl")
    run("score", tmp_path / "data.jsonl", "-m", "chrf", "-o", tmp_path / "run")
    table = rejoinder.next_(tmp_path / "run", count=5).table()
    assert (table.title, table.heads) == ("Read next", ["response", "item", "why"])
    command = table.notes[-1].partition(": ")[2].replace("RUN", str(tmp_path / "run"))
    first, second = command.replace("ids.txt", str(tmp_path / "ids.txt")).split(", then ")
    run(*first.split()[1:])
    assert run(*second.split()[1:]).exit_code == 0
    rated = [*diary(), Rating("ann", "good", 4.0, "r3")]
    write(rated, tmp_path / "rated.jsonl")
    run("score", tmp_path / "rated.jsonl", "-m", "chrf", "-o", tmp_path / "rated")
    assert rejoinder.next_(tmp_path / "rated").table().title == "Rate next"
