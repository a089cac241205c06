"""What an engine keeps: a command that was stopped goes on, with the results that it would have had."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slow_metric import write_slow

from benchmarks.ray_nodes import interruptible
from rejoinder.engines.base import FailureCounts, TaskResult, WorkerSpec
from rejoinder.engines.caching import CachingEngine, caching_engine
from rejoinder.errors import InputError, RunError

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
WORK = WorkerSpec("nowhere:Nobody", (1, {"b": 2, "a": 1}))


class Counting:
    """An engine that doubles tasks, the last first, and notes what it was asked; it can stop after some."""

    name, workers, counts = "counting", 2, FailureCounts()

    def __init__(self, most: int = 1000) -> None:
        self.asked: list[Any] = []
        self._most = most

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        some = list(enumerate(tasks))
        for number, task in reversed(some):
            if len(self.asked) == self._most:
                raise RunError("killed")
            self.asked.append(task)
            yield TaskResult(number, 2 * task)


def values(engine: CachingEngine, tasks: Iterable[int], work: WorkerSpec = WORK) -> list[int]:
    found = {one.number: one.value for one in engine.compute(work, tasks)}
    return [found[number] for number in range(len(found))]


def test_what_was_done_is_not_asked_again(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="killed"):
        values(CachingEngine(Counting(4), tmp_path), range(10))
    after = Counting()
    assert values(CachingEngine(after, tmp_path), range(10)) == [2 * n for n in range(10)]
    assert sorted(after.asked) == [0, 1, 2, 3, 4, 5]
    third = Counting()
    assert values(CachingEngine(third, tmp_path), [3, 20, 4]) == [6, 40, 8]
    assert third.asked == [20]


def test_tasks_that_are_kept_come_without_reading_on(tmp_path: Path) -> None:
    values(CachingEngine(Counting(), tmp_path), range(5))
    taken = []

    def tasks() -> Iterator[int]:
        for n in range(5):
            taken.append(n)
            yield n

    flow = CachingEngine(Counting(), tmp_path).compute(WORK, tasks())
    assert next(flow) == TaskResult(0, 0)
    assert taken == [0]


def test_other_work_other_files_and_torn_results_are_asked_anew(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text("one")
    folder = tmp_path / "kept"
    values(CachingEngine(Counting(), folder, [str(file)]), range(3))
    again = Counting()
    values(CachingEngine(again, folder, [str(file)]), range(3))
    assert again.asked == []
    values(CachingEngine(again, folder, [str(file)]), [1], WorkerSpec("nowhere:Other"))
    assert again.asked == [1]
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1])
    values(CachingEngine(again, folder, [str(file)]), [2])
    assert again.asked == [1, 2]
    file.write_text("other")
    values(CachingEngine(again, folder, [str(file)]), [2])
    assert again.asked == [1, 2, 2]


def test_a_result_that_was_changed_is_asked_anew(tmp_path: Path) -> None:
    values(CachingEngine(Counting(), tmp_path), [21])
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path.read_bytes().endswith(b"42")
    path.write_bytes(path.read_bytes()[:-2] + b"43")  # still JSON, but not what was computed
    again = Counting()
    assert values(CachingEngine(again, tmp_path), [21]) == [42]
    assert again.asked == [21]


def kept_until(problem: BaseException, out: Path) -> None:
    with caching_engine(Counting(), out) as engine:
        list(engine.compute(WORK, [1]))
        raise problem


def test_the_folder_goes_with_the_output_and_stays_where_it_was_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        kept_until(KeyboardInterrupt(), out)
    assert (tmp_path / ".out.jsonl.kept").is_dir()
    with caching_engine(Counting(), out) as engine:
        list(engine.compute(WORK, [1]))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError):
        kept_until(InputError("a wrong line"), out)
    assert list(tmp_path.iterdir()) == []
    plain = Counting()
    with caching_engine(plain, "-") as engine:
        assert engine is plain


def attack(folder: Path, out: str, *more: str) -> subprocess.Popen[str]:
    """An attack on a slow metric, in several tasks."""
    args = ["attack", str(CHATS), "-m", "./slow.py", "--contexts", "200", "-o", out, *more]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-m", "rejoinder", *args],
        cwd=folder,
        start_new_session=True,
        preexec_fn=interruptible,
        **pipes,
    )


@pytest.mark.parametrize(("how", "processes"), [(signal.SIGINT, "2"), (signal.SIGKILL, "1")])
def test_a_stopped_attack_goes_on_and_leaves_no_process(tmp_path: Path, how: signal.Signals, processes: str) -> None:
    write_slow(tmp_path)
    process = attack(tmp_path, "a.json", "--processes", processes)
    kept = tmp_path / ".a.json.kept"
    while process.poll() is None and not (kept.is_dir() and any(p.is_file() for p in kept.rglob("[!.]*"))):
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -how), said
    if how == signal.SIGINT:
        assert said.strip() == "rejoinder: stopped; run the same command again to continue"
    _gone(process.pid)
    assert not (tmp_path / "a.json").exists()
    (tmp_path / "wait").unlink()
    for out in ("a.json", "b.json"):
        again = attack(tmp_path, out, "--processes", "1")
        _, said = again.communicate(timeout=120)
        assert again.returncode == 0, said
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert not kept.exists()


def _gone(group: int) -> None:
    """Wait until no process of a group is left."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a process is left")
