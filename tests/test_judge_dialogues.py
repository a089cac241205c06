"""Whole dialogues judged once each, from score to compare, trust and report; items that lack what a rubric needs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from judge_server import Judge as Server
from judge_server import completion, forget_endpoints, served

import rejoinder
from rejoinder.cli import program
from rejoinder.comparison.rated_scores import list_rated_aspects
from rejoinder.scoring.reader import load_data

GOAL = "judge(model='m', rubric='goal_reached')"
N = 12


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch)
    monkeypatch.setenv("REJOINDER_JUDGE_KEY", "sk-0123456789")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    with served(by_thanks) as found:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", found.url)
        yield found


def by_thanks(handler: Any, sent: dict[str, Any]) -> None:
    """Rate a dialogue by how often it says done, from 1 to 5."""
    line = sent["messages"][1]["content"].splitlines()[1]
    score = min(5, 1 + line.count("done"))
    handler.give(200, completion(json.dumps({"score": score, "reason": "so"})))


def turn(speaker: str, text: str) -> dict[str, str]:
    return {"speaker": speaker, "text": text}


def dialogues(systems: dict[str, int], n: int = N) -> list[dict[str, Any]]:
    """Dialogues of two replies each; a system says done as often as its number, and once more every third time."""
    records: list[dict[str, Any]] = []
    for system, often in systems.items():
        for k in range(n):
            opening = turn("user", f"Book table {k}.")
            first = f"I am {system}: which day?"
            last = "done " * (often + (k % 3 == 0)) + f"for table {k} by {system}."
            turns = [opening, turn("assistant", first), turn("user", "Friday.")]
            later = [turn("user", f"Thanks {k}!")]
            for number, (context, reply, future) in enumerate(
                [(turns[:1], first, [*turns[2:], turn("assistant", last), *later]), (turns, last, later)]
            ):
                item = f"talk-{k}/{system}/{number}"
                records.append(
                    {"kind": "item", "id": item, "context": context, "future": future, "dialogue": f"talk-{k}"}
                )
                records.append({"kind": "response", "item": item, "system": system, "text": reply})
    return records


def ratings(systems: dict[str, int], n: int = N) -> list[dict[str, Any]]:
    """Two people's ratings of the whole dialogues of each system, in the aspect overall."""
    return [
        {
            "kind": "rating",
            "dialogue": f"talk-{k}",
            "rater": f"{rater}-{system}",
            "aspect": "overall",
            "value": often + (k % 3 == 0) + (rater == "bo" and k % 4 == 0),
            "meta": {"system": system},
        }
        for system, often in systems.items()
        for k in range(n)
        for rater in ("ana", "bo")
    ]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


SYSTEMS = {"alpha": 2, "beta": 0}


@pytest.fixture
def run(tmp_path: Path, server: Server) -> Path:
    file = write(tmp_path / "talks.jsonl", dialogues(SYSTEMS) + ratings(SYSTEMS))
    return rejoinder.run([str(file)], rejoinder.Plan.of([GOAL, "length"]), tmp_path / "run").folder


def test_a_dialogue_is_judged_once_at_its_last_reply(run: Path, server: Server) -> None:
    assert len(server.sent) == 2 * N
    lines = [json.loads(sent["messages"][1]["content"].splitlines()[1]) for sent in server.sent]
    assert all(len(line["conversation"]) == 5 and "reply" not in line for line in lines)
    assert all(line["conversation"][-1]["text"].startswith("Thanks") for line in lines), "what followed is known"
    scores = rejoinder.load(run)
    last = np.array([item.endswith("/1") for item in scores.items])
    assert scores.is_last is not None
    assert (scores.is_last == last).all()
    assert np.isnan(scores[GOAL][~last]).all()
    assert not np.isnan(scores[GOAL][last]).any()
    about = json.loads((run / "run.json").read_text())["metrics"][0]
    assert (about["n"], about["missing"], about["unit"]) == (2 * N, 0, "dialogue")
    notes = scores.notes()
    assert not any("have no score" in note for note in notes)
    assert any(f"one score per dialogue and system ({2 * N})" in note for note in notes)
    lines = [json.loads(line)["scores"] for line in (run / "scores.jsonl").read_text().splitlines()]
    assert [GOAL in line for line in lines] == last.tolist()


def test_the_same_dialogues_again_cost_nothing(run: Path, server: Server, tmp_path: Path) -> None:
    before = len(server.sent)
    plan = rejoinder.Plan.of([GOAL])
    rejoinder.run([str(tmp_path / "talks.jsonl")], plan, tmp_path / "again", cache=False)
    assert len(server.sent) == before
    collection = rejoinder.read(str(tmp_path / "talks.jsonl"))
    scored = rejoinder.score(collection, GOAL)
    assert len(server.sent) == before
    np.testing.assert_array_equal(scored[GOAL], rejoinder.load(run)[GOAL])


def test_compare_pairs_dialogues_and_counts_no_reply_as_missing(run: Path) -> None:
    comparison = rejoinder.compare(run, metrics=[GOAL])[0]
    assert [(s.system, s.n, s.n_missing) for s in comparison.standings] == [("alpha", N, 0), ("beta", N, 0)]
    (difference,) = comparison.differences
    assert (difference.n, difference.difference.value, difference.reason) == (N, 2.0, None)
    assert difference.survives
    assert "paired on dialogues" in str(comparison.matrix())
    assert "dialogues" in comparison.matrix().heads
    by_length = rejoinder.compare(run, metrics=["length"])[0]
    assert by_length.differences[0].n == 0, "no item is common to both"


def test_trust_joins_ratings_of_dialogues(run: Path) -> None:
    scores, data = rejoinder.load(run), load_data(run)
    assert list_rated_aspects(data, scores) == ["dialogue:overall"]
    found = rejoinder.trust(run, resamples=200)
    assert found.evidence.unit == "dialogue"
    assert len(found.evidence) == 2 * N
    judge, length = (next(m for m in found.metrics if m.name == name) for name in (GOAL, "length"))
    assert judge.levels["pooled"].value > 0.8
    assert judge.levels["pooled"].n == 2 * N
    expected = scores["length"].reshape(-1, 2).mean(axis=1)
    np.testing.assert_allclose(sorted(found.evidence.scores["length"]), sorted(expected))
    assert length.levels["pooled"].n == 2 * N
    assert set(found.evidence.baselines) == {
        "which system wrote it",
        "length in words",
        "words shared with the context",
    }


def test_a_dialogue_of_two_systems_needs_a_rating_that_names_one(run: Path, tmp_path: Path, server: Server) -> None:
    records = [{**one, "meta": {}} if one["kind"] == "rating" else one for one in ratings(SYSTEMS)]
    file = write(tmp_path / "unnamed.jsonl", dialogues(SYSTEMS) + records)
    unnamed = rejoinder.run([str(file)], rejoinder.Plan.of([GOAL]), tmp_path / "unnamed")
    with pytest.raises(rejoinder.RejoinderError, match=r"no rating of 'dialogue:overall' belongs to a dialogue with"):
        rejoinder.trust(unnamed, resamples=200)
    one = {"alpha": 2}
    records = [{**each, "meta": {}} for each in ratings(one)]
    file = write(tmp_path / "one.jsonl", dialogues(one) + records)
    alone = rejoinder.run([str(file)], rejoinder.Plan.of([GOAL]), tmp_path / "one")
    assert len(rejoinder.trust(alone, resamples=200).evidence) == N


def test_the_commands_show_dialogues(run: Path, tmp_path: Path) -> None:
    for command in (["compare", str(run)], ["trust", str(run), "--resamples", "200"]):
        result = CliRunner().invoke(program, command)
        assert result.exit_code == 0, result.output
        assert "dialogue" in result.output
    page = tmp_path / "report.html"
    result = CliRunner().invoke(program, ["report", str(run), "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "dialogue:overall" in page.read_text()
    assert f"{2 * N} rated dialogues" in page.read_text()
    result = CliRunner().invoke(program, ["judge", str(run)])
    assert result.exit_code == 0, result.output
    assert "without a stored answer" not in result.output


def test_two_runs_are_compared_by_dialogue(run: Path, tmp_path: Path, server: Server) -> None:
    better = {"alpha": 3, "beta": 0}
    file = write(tmp_path / "new.jsonl", dialogues(better))
    new = rejoinder.run([str(file)], rejoinder.Plan.of([GOAL, "length"]), tmp_path / "new")
    changes = {c.system.name: c for c in rejoinder.compare(run, new, metrics=[GOAL]).changes}
    assert (changes["alpha"].n, changes["alpha"].difference.value) == (N, 1.0)
    assert changes["beta"].difference.value == 0
    result = CliRunner().invoke(program, ["compare", str(run), str(new.folder), "-m", GOAL])
    assert result.exit_code == 0, result.output
    checked = CliRunner().invoke(program, ["check", str(new.folder), "--no-worse-than", str(run), "-m", GOAL])
    assert checked.exit_code != 2, checked.output
    assert GOAL in checked.output
    other = [
        {**one, "context": [turn("user", "Hello."), *one["context"][1:]]} if one.get("dialogue") == "talk-3" else one
        for one in dialogues(better)
    ]
    file = write(tmp_path / "other.jsonl", other)
    changed = rejoinder.run([str(file)], rejoinder.Plan.of([GOAL, "length"]), tmp_path / "other")
    found = rejoinder.compare(run, changed, metrics=[GOAL])
    assert {change.n for change in found.changes} == {N - 1}
    assert any("1 dialogue with another first turn" in note for note in found.notes())


def test_systems_that_answered_the_same_last_context_are_named(tmp_path: Path, server: Server) -> None:
    records = dialogues({"alpha": 2})
    copies = [{**one, "system": "gamma", "text": "done"} for one in records if one["kind"] == "response"]
    scores = rejoinder.score(str(write(tmp_path / "static.jsonl", records + copies)), GOAL)
    assert any(f"in {N} of the dialogues several systems answered the same last context" in n for n in scores.notes())
    lines = [json.loads(sent["messages"][1]["content"].splitlines()[1]) for sent in server.sent]
    assert all(len(line["conversation"]) == 4 for line in lines), "what followed was said to one of them only"


def test_an_item_without_a_dialogue_is_one_by_itself(tmp_path: Path, server: Server) -> None:
    records = [
        {
            "kind": "item",
            "id": f"i{k}",
            "context": ["Well?"],
            **({"references": ["So."], "future": ["Oh."]} if k else {}),
        }
        for k in range(3)
    ] + [{"kind": "response", "item": f"i{k}", "system": "s", "text": "done"} for k in range(3)]
    scores = rejoinder.score(str(write(tmp_path / "single.jsonl", records)), GOAL)
    assert scores[GOAL].tolist() == [2.0, 2.0, 2.0]
    line = json.loads(server.sent[-1]["messages"][1]["content"].splitlines()[1])
    assert [one["text"] for one in line["conversation"]] == ["Well?", "done"], "the future followed the reference"


def test_shards_and_processes_change_nothing(tmp_path: Path, server: Server) -> None:
    records = dialogues(SYSTEMS)
    whole = rejoinder.score(str(write(tmp_path / "whole.jsonl", records)), GOAL)
    folder = tmp_path / "shards"
    folder.mkdir()
    for k in range(N):
        own = [r for r in records if (r.get("dialogue") or r.get("item", "").partition("/")[0]) == f"talk-{k}"]
        write(folder / f"{k}.jsonl", own)
    result = CliRunner().invoke(program, ["score", str(folder), "-m", GOAL, "-o", str(tmp_path / "sharded")])
    assert result.exit_code == 0, result.output
    assert "have no score" not in result.output
    sharded = rejoinder.load(tmp_path / "sharded")
    expected = dict(zip(whole.responses, whole[GOAL].tolist(), strict=True))
    for response, value in zip(sharded.responses, sharded[GOAL].tolist(), strict=True):
        assert value == expected[response] or (math.isnan(value) and math.isnan(expected[response]))


# What a rubric needs


def faithful(n_with: int, n: int = 4) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for k in range(n):
        meta = {"documents": [f"The pool opens at {k}."]} if k < n_with else {}
        records.append({"kind": "item", "id": f"i{k}", "context": ["When?"], "meta": meta})
        records.append({"kind": "response", "item": f"i{k}", "system": "s", "text": f"At {k}."})
    return records


def test_items_without_documents_have_no_score_and_are_counted(tmp_path: Path, server: Server) -> None:
    file = write(tmp_path / "pool.jsonl", faithful(3))
    spec = "judge(model='m', rubric='faithful')"
    result = CliRunner().invoke(program, ["score", str(file), "-m", spec, "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "1 of 4 responses have no score" in result.output
    assert len(server.sent) == 3
    page = tmp_path / "page.html"
    assert CliRunner().invoke(program, ["report", str(tmp_path / "run"), "-o", str(page)]).exit_code == 0
    assert "1 without documents (meta.documents)" in page.read_text()


def test_when_no_item_has_what_is_needed_one_line_says_so(tmp_path: Path, server: Server) -> None:
    file = write(tmp_path / "pool.jsonl", faithful(0))
    spec = "judge(model='m', rubric='faithful')"
    result = CliRunner().invoke(program, ["score", str(file), "-m", spec, "-m", "length", "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert f"none of 4 replies has a score under {spec} (4 without documents (meta.documents))" in result.output
    result = CliRunner().invoke(program, ["score", str(file), "-m", spec, "-o", str(tmp_path / "other")])
    assert result.exit_code == 1
    assert "4 without documents (meta.documents)" in result.output
    assert not server.sent
