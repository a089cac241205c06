"""An old run beside a new one: what changed item by item, what could not be compared, and ratings as results."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rejoinder
from rejoinder.cli import program
from rejoinder.data.collection import collect
from rejoinder.errors import InputError, RejoinderError, RunError, SpecError
from rejoinder.scoring.result import Scores
from rejoinder.types import Item, Rating, Record, Reference, Response, Statement, Turn

OPENING = ("When does {} open?", "The {} opens at nine on weekdays.", "I like soup.")
PLACES = [f"shop {n}" for n in range(40)]


def talk(
    worse: range = range(0),
    system: str = "bot",
    items: range = range(40),
    contexts: dict[int, str] | None = None,
    references: str = "The {} opens at nine.",
    prefix: str = "i",
) -> list[Record]:
    """Replies to the same question about forty shops; some of them are off the topic."""
    records: list[Record] = []
    for n in items:
        asked = (contexts or {}).get(n, OPENING[0].format(PLACES[n]))
        good = (Reference(references.format(PLACES[n])),)
        records.append(Item(f"{prefix}{n}", (Turn(asked, "guest"),), good, dialogue=f"d{n}"))
        said = OPENING[2] if n in worse else OPENING[1].format(PLACES[n])
        records.append(Response(f"{prefix}{n}/{system}", f"{prefix}{n}", system, said))
    return records


def scored(records: list[Record], *metrics: str) -> Scores:
    return rejoinder.score(collect(records), list(metrics or ("rouge_l",)))


def test_differences_are_new_minus_old_with_the_replies_that_changed() -> None:
    compared = rejoinder.compare(scored(talk(range(30, 32))), scored(talk(range(10))))
    (change,) = compared.changes
    assert (change.n, change.n_worse, change.n_better, change.n_same) == (40, 10, 2, 28)
    assert change.difference.low <= change.difference.value <= change.difference.high < 0
    assert change.new - change.old == pytest.approx(change.difference.value)
    assert change.survives
    assert compared.sentences()[0].startswith("rouge_l: bot got worse by 0.")
    worse, better = compared.worse("rouge_l", 3), compared.better("rouge_l")
    assert [one.item for one in worse] == ["i0", "i1", "i2"]
    assert {one.item for one in better} == {"i30", "i31"}
    assert (worse[0].old_reply, worse[0].new_reply) == ("The shop 0 opens at nine on weekdays.", "I like soup.")
    assert worse[0].context == "When does shop 0 open?"
    assert worse[0].new < worse[0].old
    assert "When does shop 0 open?" in str(compared.replies_table("rouge_l"))


def test_a_run_that_did_not_change_is_not_tested() -> None:
    compared = rejoinder.compare(scored(talk()), scored(talk()))
    assert compared.sentences() == ["rouge_l: bot did not change: its replies to 40 items are the same."]
    assert math.isnan(compared.changes[0].p)
    assert compared.replies_table("rouge_l") is None


def test_unchanged_systems_do_not_dilute_the_correction() -> None:
    def both(worse: range) -> Scores:
        others = [Response(f"i{n}/{s}", f"i{n}", s, "At nine.") for n in range(40) for s in ("x", "y", "z")]
        return scored([*talk(worse), *others])

    bot, *others = rejoinder.compare(both(range(0)), both(range(8))).changes
    assert bot.corrected == bot.p
    assert all(math.isnan(one.corrected) for one in others)


def test_items_that_are_missing_or_whose_context_changed_are_counted_and_left_out() -> None:
    old = scored(talk(items=range(38)))
    new = scored(
        talk(range(3), items=range(2, 40), contexts={5: "Where is the exit?", 6: "  When does   shop 6 open?"})
    )
    compared = rejoinder.compare(old, new)
    assert compared.changes[0].n == 35
    assert compared.pair.pairing.changed == ["i5"]
    rows = {row[0]: row[1:] for row in compared.items_table().rows}
    assert rows["compared"][0] == 35
    assert rows["left out: the context changed"] == [1, "i5"]
    assert rows["only in the old run"] == [2, "i0, i1"]
    assert rows["only in the new run"] == [2, "i38, i39"]


def test_a_speaker_may_be_renamed_but_a_turn_may_not_change_hands() -> None:
    def run(*speakers: str | None) -> Scores:
        turns = tuple(Turn(f"Turn {n}", speaker) for n, speaker in enumerate(speakers))
        return scored([Item("i", turns, (Reference("Yes."),)), Response("r", "i", "bot", "Yes.")])

    old = run("user", "bot", "user")
    for same in (("customer", "agent", "customer"), (None, None, None)):
        assert not rejoinder.compare(old, run(*same)).pair.pairing.changed
    with pytest.raises(RunError, match="the contexts of all 1 common items changed"):
        rejoinder.compare(old, run("user", "bot", "bot"))


def test_another_situation_is_another_context() -> None:
    def run(*statements: str) -> Scores:
        facts = tuple(Statement(text) for text in statements)
        item = Item("i", (Turn("Well?"),), (Reference("Yes."),), situation=facts)
        return scored([item, Response("r", "i", "bot", "Yes.")])

    assert not rejoinder.compare(run("It rains.", "It is late."), run("It is late.", "It rains.")).pair.pairing.changed
    with pytest.raises(RunError, match="no reply can be compared"):
        rejoinder.compare(run("It rains."), run("It is dry."))


def test_changed_references_count_only_where_a_metric_reads_them() -> None:
    old, new = (
        scored(talk(range(n), references=text), "rouge_l", "context_overlap") for n, text in ((0, "A"), (3, "B"))
    )
    by_metric = {one.metric: one.n for one in rejoinder.compare(old, new).changes}
    assert by_metric == {"rouge_l": 0, "context_overlap": 40}


def test_runs_with_other_ids_are_paired_by_context() -> None:
    compared = rejoinder.compare(scored(talk(prefix="old-")), scored(talk(range(4), prefix="new-")))
    assert compared.changes[0].n_worse == 4
    assert "40 items paired by context" in " ".join(compared.notes())
    shuffled = [
        replace(one, id=f"i{39 - n}") if isinstance(one, Item) else replace(one, item=f"i{39 - n}")
        for n in range(40)
        for one in talk(range(4), items=range(n, n + 1))
        if isinstance(one, Item | Response)
    ]
    assert rejoinder.compare(scored(talk()), scored(shuffled)).changes[0].n_worse == 4


def test_a_metric_that_was_computed_differently_is_refused_with_the_part_that_differs() -> None:
    old, new = scored(talk(), "rouge_l", "chrf"), scored(talk(range(3)), "rouge_l", "chrf")
    facts = {**new.facts, "chrf": new.facts["chrf"]._replace(signature=new.metrics["chrf"].replace("beta:2", "beta:3"))}
    changed = replace(new, facts=facts)
    for metrics in (None, ["chrf"]):
        with pytest.raises(RunError, match=r"computed chrf differently \(beta:2 before, beta:3 now\); .*--ignore-sig"):
            rejoinder.compare(old, changed, metrics=metrics)
    assert [one.metric for one in rejoinder.compare(old, changed, metrics=["rouge_l"]).changes] == ["rouge_l"]


def test_runs_with_other_signatures_are_compared_where_that_is_asked_for_and_said() -> None:
    old, new = scored(talk(), "chrf"), scored(talk(range(3)), "chrf")
    changed = replace(new, facts={"chrf": new.facts["chrf"]._replace(signature=new.metrics["chrf"] + "|file:1")})
    compared = rejoinder.compare(old, changed, ignore_signatures=True)
    assert [one.difference for one in compared.changes] == [
        one.difference for one in rejoinder.compare(old, new).changes
    ]
    assert any("chrf: the signatures differ (nothing before, file:1 now)" in note for note in compared.notes())
    assert not any("signatures" in note for note in rejoinder.compare(old, new).notes())


def test_systems_are_paired_by_name_or_as_the_only_one_of_each_run() -> None:
    assert rejoinder.compare(scored(talk()), scored(talk(system="v2"))).changes[0].system.name == "bot → v2"
    more = [Response(f"i{n}/{s}", f"i{n}", s, "At nine.") for n in range(40) for s in ("x", "y")]
    compared = rejoinder.compare(scored([*talk(), *more]), scored(talk()))
    assert [one.system.name for one in compared.changes] == ["bot"]
    assert "Only the old run has the systems x, y: not compared." in compared.notes()
    with pytest.raises(RunError, match=r"no system in common \(bot, x, y before, v2 now\)"):
        rejoinder.compare(scored([*talk(), *more]), scored(talk(system="v2")))


def test_several_replies_to_an_item_are_averaged() -> None:
    twice = [*talk(), *(Response(f"i{n}/again", f"i{n}", "bot", OPENING[2]) for n in range(40))]
    compared = rejoinder.compare(scored(talk()), scored(twice))
    assert compared.changes[0].n == 40
    assert compared.worse("rouge_l", 1)[0].new_reply == "The shop 0 opens at nine on weekdays. (and 1 more)"


def test_a_descriptive_metric_gets_neither_better_nor_worse() -> None:
    compared = rejoinder.compare(scored(talk(), "length"), scored(talk(range(20)), "length"))
    assert compared.worse("length") == compared.better("length") == []
    assert compared.sentences()[0].startswith("length: bot changed by -")


def test_scores_without_texts_are_compared_by_id_and_say_so() -> None:
    old, new = (replace(scored(talk(range(n))), data=None) for n in (0, 5))
    compared = rejoinder.compare(old, new)
    assert compared.changes[0].n_worse == 5
    assert any("contexts were not compared" in note for note in compared.notes())
    with pytest.raises(InputError, match="came without their texts"):
        compared.worse("rouge_l")


# ---- people's ratings


def rated(bot: list[float], other: list[float], raters: tuple[str, ...] = ("ann", "bob")) -> list[Record]:
    """Two systems whose replies were rated by each rater; the second rater is more severe by one."""
    records: list[Record] = list(talk())
    records += [Response(f"i{n}/other", f"i{n}", "other", "At ten.") for n in range(40)]
    for system, values in (("bot", bot), ("other", other)):
        for n, value in enumerate(values):
            records += [Rating(rater, "helpful", value - place, f"i{n}/{system}") for place, rater in enumerate(raters)]
    return records


def test_ratings_are_compared_as_a_metric_is() -> None:
    scores = scored(rated([4.0, 5.0] * 20, [3.0, 4.0] * 20))
    (by_people,) = rejoinder.compare(scores, metrics=["rating:helpful"])
    assert [(one.system, one.mean.value, one.rank) for one in by_people.standings] == [
        ("bot", 4.0, 1),
        ("other", 3.0, 2),
    ]
    assert by_people.differences[0].difference.value == 1.0
    assert by_people.differences[0].survives
    assert by_people.sentence() == "rating:helpful: bot is best, surely ahead of other."
    assert "by 2 raters, 2 per reply, averaged for each reply first" in str(by_people.leaderboard())


def test_ratings_need_no_scores() -> None:
    data = collect(rated([4.0] * 40, [3.0, 5.0] * 10, ("ann",)))
    (by_people,) = rejoinder.compare(data, metrics=["rating:helpful"])
    assert {one.system: (one.n, one.n_missing) for one in by_people.standings} == {"bot": (40, 0), "other": (20, 20)}
    assert by_people.differences[0].n == 20


def test_a_rater_of_one_system_is_named_as_a_risk() -> None:
    records = rated([4.0] * 40, [], ("ann",)) + rated([], [3.0] * 40, ("bob",))[120:]
    (by_people,) = rejoinder.compare(scored(records), metrics=["rating:helpful"])
    assert any("2 raters of 2 rated one system only" in note for note in by_people.notes)


def test_checks_are_no_ratings_and_aggregated_ratings_replace_those_of_people() -> None:
    records = rated([4.0] * 40, [3.0] * 40, ("ann",))
    records.append(Rating("cat", "helpful", 1.0, "i0/bot", meta={"right": True}))
    assert rejoinder.compare(scored(records), metrics=["rating:helpful"])[0].standings[0].mean.value == 4.0
    records += [Rating("aggregate:mean", "helpful", 2.0, f"i{n}/bot") for n in range(40)]
    (by_people,) = rejoinder.compare(scored(records), metrics=["rating:helpful"])
    assert {one.system: one.n for one in by_people.standings} == {"bot": 40, "other": 0}
    assert "aggregated by mean" in by_people.notes[0]


def test_ratings_of_two_runs_are_compared_and_checked() -> None:
    old, new = (scored(rated([value] * 40, [value] * 40)) for value in (4.0, 3.0))
    compared = rejoinder.compare(old, new, metrics=["rating:helpful"])
    assert [one.difference.value for one in compared.changes] == [-1.0, -1.0]
    assert compared.pair.range("rating:helpful") == (2.0, 4.0)
    assert any(note.startswith("new ratings: by 2 raters") for note in compared.notes())
    assert [one.outcome for one in rejoinder.check(new, older=old, metrics=["rating:helpful"])] == ["fail", "fail"]


def test_an_aspect_that_nobody_rated_is_named() -> None:
    scores = scored(rated([4.0] * 40, [3.0] * 40))
    with pytest.raises(InputError, match="did you mean 'helpful'"):
        rejoinder.compare(scores, metrics=["rating:helpfull"])
    with pytest.raises(InputError, match="there are no ratings of responses here"):
        rejoinder.compare(scored(talk()), metrics=["rating:helpful"])
    with pytest.raises(InputError, match="came without their ratings"):
        rejoinder.compare(replace(scores, data=None), metrics=["rating:helpful"])


# ---- slices


def topical(records: list[Record], topics: dict[int, str], on_response: bool = False) -> list[Record]:
    """The records with a topic per item, which the item or its reply holds."""
    kind = Response if on_response else Item
    return [
        replace(one, meta={"topic": topics[number]}) if isinstance(one, kind) and number in topics else one
        for number, one in ((int(one.id.partition("/")[0][1:]), one) for one in records)  # type: ignore[union-attr]
    ]


TOPICS = {n: "hours" if n < 16 else "prices" if n < 36 else "rare" for n in range(38)}


@pytest.mark.parametrize("on_response", [False, True])
def test_differences_per_slice_are_corrected_and_small_slices_are_not_tested(on_response: bool) -> None:
    old, new = (scored(topical(talk(worse), TOPICS, on_response)) for worse in (range(0), range(12)))
    compared = rejoinder.compare(old, new, by="meta.topic")
    (sliced,) = compared.slices
    rows = {one.slice: one for one in sliced.changes}
    assert list(rows) == ["prices", "hours", "rare"]  # the largest first
    assert rows["hours"].survives
    assert (rows["hours"].change.n, rows["hours"].change.n_worse) == (16, 12)
    assert rows["hours"].change.difference.high < 0
    assert rows["prices"].reason == "no reply changed"
    assert rows["rare"].reason == "too small (2 conversations)"
    assert math.isnan(rows["rare"].change.difference.low)
    assert rows["hours"].corrected == rows["hours"].change.p  # the only slice that is tested
    assert compared.sentences()[-1].startswith("rouge_l by meta.topic: surely worse in hours (by 0.")
    table = sliced.table()
    assert table.title == "rouge_l: old and new by meta.topic"
    assert [row[-1] for row in table.rows] == ["no reply changed", "yes", "too small"]
    assert "Too small to be tested, with fewer than 8 conversations: rare." in table.notes
    assert "2 replies have no meta.topic." in table.notes
    assert max(map(len, str(table).splitlines())) <= 100
    assert rejoinder.compare(old, new).slices == ()


def test_holm_is_over_slices_and_systems_and_a_chance_difference_is_none() -> None:
    def both(worse: range) -> Scores:
        other = [one for one in talk(worse, "other") if isinstance(one, Response)]
        return scored(topical([*talk(worse), *other], TOPICS))

    (sliced,) = rejoinder.compare(both(range(0)), both(range(14, 18)), by="meta.topic").slices
    tested = [one for one in sliced.changes if one.reason is None]
    assert {(one.slice, one.change.system.name) for one in tested} == {
        (slice_, system) for slice_ in ("hours", "prices") for system in ("bot", "other")
    }
    assert not any(one.survives for one in tested)
    assert min(one.corrected for one in tested) == min(1.0, 4 * min(one.change.p for one in tested))
    assert sliced.sentence() == "rouge_l by meta.topic: no difference in a slice survives correction."
    assert "system" in sliced.table().heads


def test_the_new_run_says_which_slice_an_item_is_in_and_a_change_is_said() -> None:
    moved = {**TOPICS, 0: "prices"}
    old, new = scored(topical(talk(), TOPICS)), scored(topical(talk(range(3)), moved))
    (sliced,) = rejoinder.compare(old, new, by="meta.topic").slices
    assert {one.slice: one.change.n for one in sliced.changes} == {"prices": 21, "hours": 15, "rare": 2}
    assert "1 reply had another meta.topic in the old run; that of the new run counts." in sliced.table().notes
    (untagged,) = rejoinder.compare(old, scored(talk(range(3))), by="meta.topic").slices
    assert {one.slice: one.change.n for one in untagged.changes} == {"prices": 20, "hours": 16, "rare": 2}


def test_two_runs_are_cut_only_by_what_items_have() -> None:
    old, new = scored(talk()), scored(talk(range(5)))
    with pytest.raises(InputError, match=r"no reply has meta\.topic"):
        rejoinder.compare(old, new, by="meta.topic")
    for by in ("system", "length", "rouge_l"):
        with pytest.raises(InputError, match=rf"cannot be cut by '{by}'.*choose turns or meta\.KEY"):
            rejoinder.compare(old, new, by=by)
    (sliced,) = rejoinder.compare(old, new, by="turns").slices
    assert [one.slice for one in sliced.changes] == ["1"]


# ---- the commands

Typed = Callable[..., Result]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type a command where there are two files and their runs, old and new."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "cache"))
    rejoinder.write(rated([4.0] * 40, [3.0] * 40), "old.jsonl")
    changed = [
        replace(one, text="I like soup.") if isinstance(one, Response) else one for one in rated([4.0] * 40, [2.5] * 40)
    ]
    rejoinder.write(changed, "new.jsonl")
    for name in ("old", "new"):
        rejoinder.run([f"{name}.jsonl"], rejoinder.Plan.of(["rouge_l"]), name)
    return lambda *words: CliRunner().invoke(program, list(words))


def test_compare_takes_two_runs(typed: Typed) -> None:
    done = typed("compare", "old", "new", "--show", "2")
    assert done.exit_code == 0, done.output
    assert "rouge_l: bot got worse by 0." in done.output
    assert done.output.count("I like soup.") == 2
    assert "replies that got worse" not in typed("compare", "old", "new", "--show", "0").output
    tables = json.loads(typed("compare", "old", "new", "--format", "json").output)
    assert [table["title"] for table in tables] == ["Old and new", "Items", "rouge_l: replies that got worse"]
    assert "rating:helpful: other got worse by 0.500" in typed("compare", "old", "new", "-m", "rating:helpful").output
    sliced = json.loads(typed("compare", "old", "new", "--by", "turns", "--format", "json").output)
    assert sliced[2]["title"] == "rouge_l: old and new by turns"
    assert set(sliced[2]["rows"][0]) >= {"turns", "items", "old", "new", "difference", "p (Holm)", "differ?"}
    assert "rouge_l by turns: surely worse in 1 (" in typed("compare", "old", "new", "--by", "turns").output
    with pytest.raises(SpecError, match="leave out --preferences"):
        raise typed("compare", "old", "new", "--preferences").exception or AssertionError


def test_compare_takes_files_where_only_ratings_are_compared(typed: Typed) -> None:
    one = typed("compare", "old.jsonl", "-m", "rating:helpful")
    assert "rating:helpful: bot is best, surely ahead of other." in one.output
    assert "other got worse" in typed("compare", "old.jsonl", "new.jsonl", "-m", "rating:helpful").output


def test_a_file_in_the_place_of_a_run_is_told_the_command_that_makes_one(typed: Typed) -> None:
    failed = typed("compare", "old.jsonl", "new.jsonl").exception
    assert isinstance(failed, RejoinderError)
    command = str(failed).partition("score it first: ")[2].partition(" (or")[0]
    assert command == "rejoinder score old.jsonl -o old-run"
    assert typed(*command.split()[1:], "-m", "rouge_l").exit_code == 0
    assert typed("compare", "old-run", "new").exit_code == 0


def test_both_commands_refuse_another_signature_unless_told_to_ignore_it(typed: Typed) -> None:
    about = json.loads(Path("old/run.json").read_text())
    about["metrics"][0]["signature"] += "|weights:1"
    Path("old/run.json").write_text(json.dumps(about))
    for words in (["compare", "old", "new"], ["check", "new", "--no-worse-than", "old"]):
        refused = typed(*words).exception
        assert isinstance(refused, RunError)
        assert "computed rouge_l differently (weights:1 before, nothing now)" in str(refused)
        assert "weights:1 before, nothing now" in " ".join(typed(*words, "--ignore-signatures").output.split())


def test_check_has_an_exit_status_for_each_outcome(typed: Typed) -> None:
    same = typed("check", "new", "--no-worse-than", "new")
    assert (same.exit_code, same.output.splitlines()[-1]) == (0, "2 passed, 0 failed, 0 inconclusive")
    worse = typed("check", "new", "--no-worse-than", "old", "--junit", "j.xml", "--markdown", "m.md")
    assert worse.exit_code == 1
    assert "FAIL  rouge_l of bot changed by -0." in worse.output
    assert '<failure message="rouge_l of bot changed by -0.' in Path("j.xml").read_text()
    assert Path("m.md").read_text().startswith("### rejoinder check: fail")
    assert Path("m.md").read_text().count("<details>") == 5
    assert "I like soup." in Path("m.md").read_text()
    assert typed("check", "new", "--min", "rouge_l>=0", "--markdown", "min.md").exit_code == 0
    assert "<details>" not in Path("min.md").read_text()
    assert "there is no folder no" in str(
        typed("check", "new", "--no-worse-than", "old", "--junit", "no/j.xml").exception
    )
    assert typed("check", "new", "--no-worse-than", "old", "--junit", "j.json").exit_code == 2
    few = [one for one in rated([], []) if isinstance(one, Item) or one.id.endswith("/bot")]  # type: ignore[union-attr]
    rejoinder.write(few, "few.jsonl")
    reworded = [
        replace(one, text=one.text.replace("on", "during")) if isinstance(one, Response) else one for one in few
    ]
    rejoinder.write(reworded, "reworded.jsonl")
    for name in ("few", "reworded"):
        rejoinder.run([f"{name}.jsonl"], rejoinder.Plan.of(["rouge_l"]), name)
    unsure = typed("check", "reworded", "--no-worse-than", "few")
    assert (unsure.exit_code, unsure.output.startswith("INCONCLUSIVE  rouge_l of bot")) == (3, True), unsure.output
    allowed = typed("check", "reworded", "--no-worse-than", "few", "--allow-inconclusive")
    assert (allowed.exit_code, allowed.output.splitlines()[-1]) == (0, "0 passed, 0 failed, 1 inconclusive (allowed)")
