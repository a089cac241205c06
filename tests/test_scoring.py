"""Scoring: the same numbers whatever the processes, chunks, cache or order; every run folder whole or resumable."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from benchmarks.synthetic import records, write_file
from rejoinder.errors import InputError, RejoinderError, RunError, SpecError
from rejoinder.scoring import index
from rejoinder.scoring.run import Plan, run
from rejoinder.types import Item, Reference, Response, Turn

METRICS = ["bleu", "rouge_l", "distinct(over='system')", "length"]
ITEM = Item("i1", (Turn("Are you there?", "A"),), (Reference("Yes, I am."),), dialogue="d1")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return write_file(tmp_path / "chats.jsonl", 3_000)


def results(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / name).read_bytes() for name in ("run.json", "scores.jsonl", "dialogues.jsonl", "data.jsonl"))


def test_processes_cache_and_chunks_change_no_byte(
    chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan.of(METRICS, matched=True)
    first = run([chats], plan, tmp_path / "one", processes=1, cache=False)
    assert first.fresh
    truth = results(tmp_path / "one")
    run([chats], plan, tmp_path / "two", processes=2, cache=False)
    assert results(tmp_path / "two") == truth
    run([chats], plan, tmp_path / "cold", processes=2)
    run([chats], plan, tmp_path / "warm")
    assert results(tmp_path / "cold") == results(tmp_path / "warm") == truth
    warm = json.loads((tmp_path / "warm" / "timings.json").read_text())
    assert all(m["chunks_from_cache"] == m["chunks"] > 1 for m in warm["metrics"].values())
    for name in ("_MEAN_CHUNK", "_SMALLEST_CHUNK", "_LARGEST_CHUNK"):
        monkeypatch.setattr(index, name, {"_MEAN_CHUNK": 8, "_SMALLEST_CHUNK": 1, "_LARGEST_CHUNK": 9}[name])
    run([chats], plan, tmp_path / "small", cache=False)
    assert results(tmp_path / "small") == truth


def test_memory_and_run_folder_give_the_same_scores(chats: Path, tmp_path: Path) -> None:
    kept = run([chats], Plan.of(METRICS), tmp_path / "run").scores
    loaded = rejoinder.load(tmp_path / "run")
    in_memory = rejoinder.score(rejoinder.read(chats), METRICS)
    for scores in (kept, loaded):
        assert list(scores.responses) == list(in_memory.responses)
        assert list(scores.items) == list(in_memory.items)
        for spec in in_memory.metrics:
            np.testing.assert_array_equal(scores[spec], in_memory[spec])
        assert str(scores.table()) == str(in_memory.table())
        assert list(scores.dialogue_scores()) == list(in_memory.dialogue_scores())
        assert scores.metrics == in_memory.metrics


def test_a_damaged_cache_is_computed_anew(chats: Path, tmp_path: Path, own_cache: Path) -> None:
    plan = Plan.of(["bleu"])
    run([chats], plan, tmp_path / "first")
    for i, path in enumerate(sorted(p for p in own_cache.rglob("*") if p.is_file())):
        raw = path.read_bytes()
        path.write_bytes([raw[: len(raw) // 2], b"", raw[:-1] + b"!", raw][i % 4])
    run([chats], plan, tmp_path / "second")
    assert results(tmp_path / "first") == results(tmp_path / "second")


def test_a_line_in_front_leaves_most_chunks_in_the_cache(chats: Path, tmp_path: Path) -> None:
    run([chats], Plan.of(["bleu"]), tmp_path / "first")
    extra = rejoinder.Response("extra", "item-0", "system-0", "One more reply.")
    chats.write_bytes(rejoinder.data.writer.encode_record(extra) + chats.read_bytes())
    run([chats], Plan.of(["bleu"]), tmp_path / "second")
    timing = json.loads((tmp_path / "second" / "timings.json").read_text())["metrics"]["bleu"]
    assert 0 < timing["chunks"] - timing["chunks_from_cache"] <= 2


def test_a_finished_run_is_not_repeated_and_never_overwritten(chats: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run([chats], Plan.of(["length"]), folder)
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert not run([chats], Plan.of(["length"]), folder).fresh
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    with pytest.raises(RunError, match="holds another run"):
        run([chats], Plan.of(["bleu"]), folder)


def test_a_folder_that_is_not_ours_is_left_alone(chats: Path, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="is not empty and holds no run"):
        run([chats], Plan.of(["length"]), folder)
    with pytest.raises(RunError, match="is a file"):
        run([chats], Plan.of(["length"]), folder / "thesis.txt")
    assert (folder / "thesis.txt").read_text() == "years of work"


def test_bad_input_leaves_no_folder_behind(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"item": "nowhere", "system": "s", "text": "t"}\n')
    with pytest.raises(InputError):
        run([bad], Plan.of(["length"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_file_without_responses_says_what_it_found(tmp_path: Path) -> None:
    rejoinder.write([ITEM], tmp_path / "items.jsonl")
    with pytest.raises(InputError, match="no responses to score \\(found 1 item\\)"):
        run([tmp_path / "items.jsonl"], Plan.of(["length"]), tmp_path / "run")


def test_two_processes_cannot_write_one_run(chats: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / "run"
    folder.mkdir()
    with (folder / ".unfinished").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="another process is writing this run"):
            run([chats], Plan.of(["length"]), folder)


def test_an_empty_reply_is_an_error_or_a_counted_nan(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    rejoinder.write([ITEM, Response("a", "i1", "s", "Yes."), Response("b", "i1", "t", "")], path)
    with pytest.raises(InputError, match="line 3: 'text' of response is empty"):
        run([path], Plan.of(["bleu"]), tmp_path / "run")
    found = run([path], Plan.of(["bleu"], empty="nan"), tmp_path / "run")
    assert math.isnan(found.scores["bleu"][1])
    assert found.about["metrics"][0]["missing"] == 1
    assert found.about["flags"]["empty"] == 1
    assert lines(tmp_path / "run" / "scores.jsonl")[1]["scores"] == {"bleu": None}
    assert any("1 of 2 responses have no score" in note for note in found.scores.notes())


def test_odd_replies_are_flagged_counted_and_said(tmp_path: Path) -> None:
    cut = Item("i2", (Turn("And then?"),), (Reference("Nothing."),), truncated=True)
    texts = ["Fine.", "?", "Ich weiß nicht, was das soll.", "你好吗", "Je ne sais pas vraiment.", "ok"]
    replies = [Response(f"r{i}", "i1", "s", text) for i, text in enumerate(texts)]
    path = tmp_path / "chats.jsonl"
    rejoinder.write([ITEM, cut, *replies, Response("c", "i2", "s", "We left.")], path)
    found = run([path], Plan.of(["length"]), tmp_path / "run")
    assert found.about["flags"] == {"empty": 0, "near_empty": 1, "not_english": 3, "truncated_context": 1}
    flagged = {line["response"]: line["flags"] for line in lines(tmp_path / "run" / "scores.jsonl") if "flags" in line}
    assert flagged == {"r1": ["near_empty"], "r2": ["not_english"], "r3": ["not_english"], "r4": ["not_english"],
                       "c": ["truncated_context"]}  # fmt: skip
    assert "3 replies that do not look English" in str(found.scores)


def test_dialogue_scores_derive_from_turn_scores() -> None:
    items = [Item(f"i{i}", (Turn("Go on."),), dialogue="d") for i in range(3)]
    texts = ["one two three", "one", "one two"]
    replies = [Response(f"r{i}", f"i{i}", "s", text) for i, text in enumerate(texts)]
    found = list(rejoinder.score(rejoinder.data.collect([*items, *replies]), "length").dialogue_scores())
    assert [tuple(f) for f in found] == [("d", "s", "length", 2.0, 1.0, 2.0, 3)]
    shown = rejoinder.score(rejoinder.data.collect([*items, *replies]), "length").dialogue_table()
    assert [table_row[:3] for table_row in shown.rows] == [["s", "length", 1]]
    assert [cell.value for cell in shown.rows[0][3:]] == [2.0, 1.0, 2.0]  # type: ignore[union-attr]


def test_the_table_says_means_with_intervals_by_hand() -> None:
    scores = rejoinder.score(["a", "a b", "a b c"], metrics="length")
    mean = scores.mean("length")
    # Three independent values 1, 2, 3: standard error 1/sqrt(3), Student's t with 2 degrees of freedom 4.302653.
    assert mean.value == 2.0
    assert mean.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-6)
    assert mean.low == 0.0  # cut to what a length can be
    assert "<table>" in scores._repr_html_()
    assert next(scores.rows()) == {"response": "0/system", "item": "0", "system": "system", "length": 1.0}


def test_the_impatient_may_give_plain_lists() -> None:
    found = rejoinder.score(["Fine, thanks."], references=[["Fine, thanks."]], contexts=["How are you?"])
    assert found["bleu"][0] == pytest.approx(1, abs=1e-6)
    with pytest.raises(InputError, match="a file or a table has its own"):
        rejoinder.score(rejoinder.from_lists(["a"]), references=["b"])
    with pytest.raises(InputError, match="no responses"):
        rejoinder.score([])
    with pytest.raises(SpecError, match="no metric was named"):
        rejoinder.score(["a"], metrics=[])


def test_a_metric_given_twice_is_an_error() -> None:
    with pytest.raises(SpecError, match="given twice"):
        Plan.of(["bleu", "bleu(n=4)"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return [1.0]", "must return one value per pair, not 1 for 2"),
        ("return ['x'] * len(pairs)", "returned 'x'; a score must be a number"),
        ("return [True] * len(pairs)", "returned True"),
        ("return [7.0] * len(pairs)", "outside its range from 0.0 to 1.0"),
        ("raise ValueError('no idea')", "failed: ValueError: no idea"),
    ],
)
def test_a_users_metric_that_misbehaves_is_named(body: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / f"mine{abs(hash(body))}.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom rejoinder import Metric\n\n"
        "@dataclass(frozen=True)\nclass Mine(Metric):\n"
        f"    def score(self, pairs):\n        {body}\n"
    )
    with pytest.raises(RejoinderError) as error:
        rejoinder.score(["a b", "c"], metrics=[str(file)])
    assert said in str(error.value)


def test_a_metric_of_the_whole_set_is_cached_per_item_and_settled_over_the_set(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    rejoinder.write(records(300, systems=2), path)
    found = run([path], Plan.of(["distinct(n=1, over='system')"]), tmp_path / "run")
    spec = "distinct(n=1, over='system')"
    texts: dict[str, list[str]] = {}
    for pair in rejoinder.read(path).pairs():
        texts.setdefault(pair.response.system, []).append(pair.response.text)
    metric = rejoinder.parse(spec)
    for system, replies in texts.items():
        direct = rejoinder.score(replies, metrics=[metric]).mean(spec).value
        assert found.scores.mean(spec, system).value == pytest.approx(direct, abs=1e-12)


def test_killed_at_twenty_random_moments_and_resumed_it_ends_the_same(tmp_path: Path) -> None:
    chats = write_file(tmp_path / "chats.jsonl", 6_000)
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    command = [sys.executable, "-m", "rejoinder", "score", str(chats), "--processes", "2", "--no-cache"]
    command += [word for metric in METRICS for word in ("-m", metric)]
    begun = time.perf_counter()
    subprocess.run([*command, "-o", str(calm)], check=True, capture_output=True)
    whole = time.perf_counter() - begun
    moment = random.Random(7)
    kills = finished = 0
    while kills < 20:
        process = subprocess.Popen([*command, "-o", str(stormy)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert process.wait(timeout=moment.uniform(0.02, 0.95) * whole) == 0
            assert results(stormy) == results(calm)
            shutil.rmtree(stormy)
            finished += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    subprocess.run([*command, "-o", str(stormy)], check=True, capture_output=True)
    assert results(stormy) == results(calm)
    assert {p.name for p in stormy.iterdir()} == {p.name for p in calm.iterdir()}


def test_a_dialogue_without_any_score_has_no_lowest_turn() -> None:
    """Neither infinite nor 0: the lowest of nothing is not known, and the dialogue counts in no mean."""
    data = rejoinder.Collection()
    for i, dialogue in enumerate(["d", "d", "empty"]):
        item = rejoinder.Item(f"i{i}", (rejoinder.Turn("Hi."),), dialogue=dialogue)
        data.add(item)
        data.add(rejoinder.Response(f"r{i}", f"i{i}", "s", "one two" if i else "one"))
    scores = rejoinder.score(data, "length")
    scores.values["length"][2] = math.nan
    by_dialogue = {one.dialogue: one for one in scores.dialogue_scores()}
    assert by_dialogue["d"][3:] == (1.5, 1.0, 2.0, 2)
    assert all(math.isnan(value) for value in by_dialogue["empty"][3:6])
    assert by_dialogue["empty"][6] == 0
    assert "inf" not in str(scores.dialogue_table())
