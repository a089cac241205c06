"""Run folders: a damaged one is refused wherever it is opened, and going on with one removes nothing but our files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from benchmarks.synthetic import write_file
from rejoinder.data.inputs import Input
from rejoinder.errors import RunError
from rejoinder.scoring import cache as store
from rejoinder.scoring import compute, folder
from rejoinder.scoring.run import Plan, run
from rejoinder.scoring.sharded.run import score_shards
from rejoinder.types import Rating

COMMANDS = ("compare", "check --min length>=0", "trust", "report -o -", "next", "agreement")


def rejoin(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rejoinder", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 400 replies with ratings."""
    place = tmp_path_factory.mktemp("whole")
    chats = write_file(place / "chats.jsonl", 400)
    ratings = [Rating(f"r{i % 2}", "quality", i % 5, response=r) for i, r in enumerate(rejoinder.read(chats).responses)]
    rejoinder.write(ratings, place / "ratings.jsonl")
    run([chats, place / "ratings.jsonl"], Plan.of(["length", "bleu"]), place / "run", cache=False)
    return place / "run"


def halved(raw: bytes) -> bytes:
    lines = raw.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


def doubled(raw: bytes) -> bytes:
    return raw + raw


def changed(raw: bytes) -> bytes:
    return raw.replace(b"1", b"2", 1)


@pytest.mark.parametrize("name", ["scores.jsonl", "data.jsonl", "dialogues.jsonl"])
@pytest.mark.parametrize("damage", [halved, doubled, changed])
def test_a_damaged_run_is_not_loaded(name: str, damage: Callable[[bytes], bytes], whole: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(whole, tmp_path / "run")
    assert len(rejoinder.load(copy)) == 400
    (copy / name).write_bytes(damage((copy / name).read_bytes()))
    said = "was changed after it was written" if damage is changed else r"has [\d,]+ lines instead of [\d,]+"
    with pytest.raises(RunError, match=rf"{name}: {said}.*remove .*run and run the command"):
        rejoinder.load(copy)
    (copy / name).unlink()
    with pytest.raises(RunError, match=f"{name}: cannot be read"):
        rejoinder.load(copy)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_on_a_run_refuses_a_damaged_one(words: str, whole: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(whole, tmp_path / "run")
    name = "data.jsonl" if words == "agreement" else "scores.jsonl"
    (copy / name).write_bytes(halved((copy / name).read_bytes()))
    command, *rest = words.split()
    ended = rejoin(command, str(copy), *rest)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert f"{name}: has " in ended.stderr


def test_the_raw_answers_of_a_judge_are_checked_too(whole: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(whole, tmp_path / "run")
    (copy / "judge.jsonl").write_text("{}\n{}\n")
    about = json.loads((copy / "run.json").read_text())
    about["files"] |= folder.describe_run_files(copy, ["judge.jsonl"])
    (copy / "run.json").write_text(json.dumps(about))
    folder.check_run_files(copy)
    (copy / "judge.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match=r"judge.jsonl: has 1 lines instead of 2"):
        folder.check_run_files(copy, {"judge.jsonl"})


def test_a_run_of_an_earlier_version_is_held_to_its_counts(whole: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(whole, tmp_path / "run")
    about = json.loads((copy / "run.json").read_text())
    del about["files"]
    (copy / "run.json").write_text(json.dumps(about))
    assert len(rejoinder.load(copy)) == 400
    for name in ("scores.jsonl", "data.jsonl"):
        raw = (copy / name).read_bytes()
        (copy / name).write_bytes(halved(raw))
        with pytest.raises(RunError, match=f"{name}: has "):
            rejoinder.load(copy)
        (copy / name).write_bytes(raw)


def test_a_shard_that_was_cut_is_refused_and_scored_again_once_removed(tmp_path: Path) -> None:
    from rejoinder.data.shards.files import list_data_files
    from rejoinder.engines.local import LocalEngine

    shards = tmp_path / "logs"
    shards.mkdir()
    rows = write_file(tmp_path / "chats.jsonl", 200).read_bytes().splitlines(keepends=True)
    (shards / "one.jsonl").write_bytes(b"".join(rows[: len(rows) // 2]))
    plan, target = Plan.of(["length"]), tmp_path / "run"
    before = score_shards(list_data_files(str(shards)), plan, target, LocalEngine(1))
    scores = next(target.glob("shards/*/scores.jsonl"))
    scores.write_bytes(halved(scores.read_bytes()))
    with pytest.raises(RunError, match=r"scores.jsonl: has .* lines instead of"):
        rejoinder.load(target)
    shutil.rmtree(scores.parent)
    assert score_shards(list_data_files(str(shards)), plan, target, LocalEngine(1)).sums == before.sums
    rejoinder.load(target)


def stopped(chats: Path, target: Path, monkeypatch: pytest.MonkeyPatch, metric: str = "length") -> None:
    """A run without a cache that is stopped when all chunks are there."""
    with monkeypatch.context() as patch:
        patch.setattr("rejoinder.scoring.run.assemble_scores", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run([chats], Plan.of([metric]), target, cache=False)


@pytest.mark.parametrize("metric", ["length", "bleu"])  # the same plan goes on, another one begins anew
def test_going_on_removes_our_files_alone(metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 300), tmp_path / "run"
    stopped(chats, target, monkeypatch)
    (target / ".data.jsonl.abcd1234").write_text("half of our data")
    (target / "notes.txt").write_text("mine")
    (target / ".hidden").write_text("mine")
    (target / "plots").mkdir()
    (target / "plots" / "one.svg").write_text("mine")
    run([chats], Plan.of([metric]), target, cache=False)
    assert (target / "notes.txt").read_text() == (target / "plots" / "one.svg").read_text() == "mine"
    assert {p.name for p in target.iterdir()} == {
        *("run.json", "timings.json", "scores.jsonl", "data.jsonl", "dialogues.jsonl"),
        *("notes.txt", ".hidden", "plots"),
    }


def test_bad_input_leaves_what_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 300), tmp_path / "run"
    stopped(chats, target, monkeypatch)
    (target / "notes.txt").write_text("mine")
    chats.write_text('{"item": "nowhere", "system": "s", "text": "t"}\n')
    with pytest.raises(rejoinder.RejoinderError, match="nowhere"):
        run([chats], Plan.of(["length"]), target, cache=False)
    assert [p.name for p in target.iterdir()] == ["notes.txt"]


def test_a_run_that_goes_on_computes_no_chunk_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 1500), tmp_path / "run"
    stopped(chats, target, monkeypatch)
    assert any((target / ".scores").iterdir())
    run([chats], Plan.of(["length"]), target, cache=False)
    timing = json.loads((target / "timings.json").read_text())["metrics"]["length"]
    assert timing["chunks"] == timing["chunks_from_cache"] > 1


def test_the_later_of_two_processes_takes_the_run_that_the_first_has_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 100), tmp_path / "run"
    look = folder.read_finished_run

    def slow_look(place: Path, identity: str) -> dict[str, Any] | None:
        found = look(place, identity)
        if not (place / "run.json").exists():  # we have looked; now the other process writes the whole run
            monkeypatch.setattr("rejoinder.scoring.run.read_finished_run", look)
            assert run([chats], Plan.of(["length"]), place).fresh
        return found

    monkeypatch.setattr("rejoinder.scoring.run.read_finished_run", slow_look)
    second = run([chats], Plan.of(["length"]), target)
    assert not second.fresh
    assert len(second.scores) == len(rejoinder.load(target)) == 100
    assert not (target / ".unfinished").exists()


def test_the_later_of_two_processes_leaves_another_run_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 100), tmp_path / "run"
    run([chats], Plan.of(["length"]), target)
    before = sorted(p.name for p in target.iterdir())
    monkeypatch.setattr("rejoinder.scoring.run.read_finished_run", lambda *_: None)
    with pytest.raises(RunError, match="holds another run"):
        run([chats], Plan.of(["bleu"]), target)
    assert sorted(p.name for p in target.iterdir()) == before


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 100), tmp_path / "run"
    synced, named = set(), []
    sync, replace = os.fsync, os.replace

    def fsync(handle: int) -> None:
        sync(handle)
        synced.add(os.fstat(handle).st_ino)

    def rename(source: str, name: str) -> None:
        if Path(name).parent == target:
            assert os.stat(source).st_ino in synced, name
            named.append(Path(name).name)
        replace(source, name)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    run([chats], Plan.of(["length"]), target)
    assert set(named) == {"data.jsonl", "scores.jsonl", "dialogues.jsonl", "timings.json", "run.json"}
    assert named[-1] == "run.json"


def test_a_cached_chunk_of_another_length_is_computed_anew(tmp_path: Path, own_cache: Path) -> None:
    chats = write_file(tmp_path / "chats.jsonl", 200)
    pairs = list(rejoinder.read(chats).pairs())
    of = compute.ScoreColumn("score", rejoinder.parse("length"))
    cache = store.ScoreStore(own_cache)
    kept = compute.compute_cached(of, pairs, cache, {})
    truth = cache.get(kept.address)
    assert truth is not None
    for wrong in (truth[:-1], [*truth, 1.0], []):
        cache.put(kept.address, wrong)
        assert not compute.compute_cached(of, pairs, cache, {}).cached
        assert cache.get(kept.address) == truth
    assert compute.compute_cached(of, pairs, cache, {}).cached


@pytest.fixture
def selection(tmp_path: Path) -> Path:
    """A selection of four questions by one system."""
    questions = [
        {"id": f"q{i}", "context": [{"text": f"Shall we go at {i}?"}], "candidates": [
            {"text": "At ten.", "grade": "true"}, {"text": f"It is {i} now, yes.", "grade": "false"}]}
        for i in range(4)
    ]  # fmt: skip
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps({"kind": "question", **one}) + "\n" for one in questions))
    ended = rejoin("select", str(path), "--system", "tfidf", "-o", str(tmp_path / "run"))
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "run"


def test_a_damaged_selection_is_refused(selection: Path) -> None:
    from rejoinder.selection.select import load_selection

    load_selection(selection)
    questions, answers = selection / "questions.jsonl", next((selection / "systems").iterdir())
    for path, old, new in ((questions, b'"true"', b'"fine"'), (answers, b"[0.", b"[9.")):
        raw = path.read_bytes()
        assert old in raw
        path.write_bytes(raw.replace(old, new, 1))
        with pytest.raises(RunError, match=r"was changed after it was written"):
            load_selection(selection)
        path.write_bytes(raw)
    load_selection(selection)


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "fifo", "folder"])
def test_a_marker_that_no_run_made_is_refused_and_its_target_is_left(tmp_path: Path, kind: str) -> None:
    chats, target, victim = write_file(tmp_path / "chats.jsonl", 20), tmp_path / "run", tmp_path / "victim.txt"
    target.mkdir()
    marker = target / ".unfinished"
    if kind != "dangling link":
        victim.write_text("precious\n")
    try:
        if "link" in kind and kind != "hard link":
            marker.symlink_to(victim)
        elif kind == "hard link":
            marker.hardlink_to(victim)
        elif kind == "fifo":
            os.mkfifo(marker)
        else:
            marker.mkdir()
    except (OSError, AttributeError, NotImplementedError):
        pytest.skip("this file system has no such files")
    with pytest.raises(RunError) as refused:
        run([chats], Plan.of(["length"]), target)
    assert "\n" not in str(refused.value)
    assert "choose another folder" in str(refused.value)
    assert (victim.read_text() if victim.exists() else "nothing") == ("nothing" if "dang" in kind else "precious\n")


def test_files_that_a_planted_marker_names_are_left(tmp_path: Path) -> None:
    chats, target = write_file(tmp_path / "chats.jsonl", 20), tmp_path / "run"
    target.mkdir()
    mine = {"thesis.docx": "mine", "notes.jsonl": '{"id": 1}\n', "list.jsonl": "[1]\n", "empty.jsonl": ""}
    for name, content in mine.items():
        (target / name).write_text(content)
    trace = '{"response": "r0", "metric": "judge", "answer": "5"}\n'
    (target / "judge.jsonl").write_text(trace)  # this one a stopped run did write
    (target / ".unfinished").write_text("\n".join(["0" * 16, *mine, "judge.jsonl", "../chats.jsonl"]))
    before = chats.read_bytes()
    assert run([chats], Plan.of(["length"]), target).fresh
    assert {name: (target / name).read_text() for name in mine} == mine
    assert not (target / "judge.jsonl").exists()
    assert chats.read_bytes() == before


def test_links_that_were_planted_for_the_files_of_a_run_lead_nowhere(tmp_path: Path) -> None:
    chats, target, victim = write_file(tmp_path / "chats.jsonl", 20), tmp_path / "run", tmp_path / "victim"
    plan = Plan.of(["length"])
    target.mkdir()
    victim.mkdir()
    (victim / "file").write_text("precious")
    (target / ".unfinished").write_text(plan.identity([Input(chats)]))
    for name in ("data.jsonl", "scores.jsonl", "timings.json"):
        (target / name).symlink_to(victim / "file")
    (target / ".scores").symlink_to(victim)
    assert run([chats], plan, target, cache=False).fresh
    assert [(one.name, one.read_text()) for one in victim.iterdir()] == [("file", "precious")]


def test_a_flag_that_nobody_knows_is_one_line(tmp_path: Path) -> None:
    chats = write_file(tmp_path / "chats.jsonl", 20)
    run([chats], Plan.of(["length"]), tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    about["flags"]["nope"] = 1
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match=r"run.json: has the flag 'nope', which .* \(known: empty, .*\); score") as said:
        print(rejoinder.load(tmp_path / "run"))
    assert "\n" not in str(said.value)


def test_the_later_of_two_commands_into_one_folder_ends_with_status_2(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    chats = write_file(tmp_path / "chats.jsonl", 20)
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-m", "rejoinder", "score", str(chats), "-m", "length", "-o", str(tmp_path / "run")]
    with (tmp_path / "run" / ".unfinished").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        later = subprocess.run(command, capture_output=True, text=True)
    assert later.returncode == 2
    assert "another process is writing this run; wait for it to end, then run this command again" in later.stderr
    page = (Path(__file__).parents[1] / "docs" / "scoring.md").read_text(encoding="utf-8")
    assert "the later one ends with exit status 2" in " ".join(page.split())
    assert subprocess.run(command, capture_output=True).returncode == 0
