"""Engines: the same results whoever computes."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.engines.factory import open_engine
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import MissingExtraError, RunError, SpecError

WORKER = """
import os

class Times:
    def __init__(self, factor):
        self.factor = factor

    def compute(self, task):
        if task == "die":
            os._exit(1)
        if isinstance(task, str):  # a file: die once
            if not os.path.exists(task):
                open(task, "w").close()
                os._exit(1)
            return [0, os.getpid()]
        return [task * self.factor, os.getpid()]

    def close(self):
        pass
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSpec:
    (tmp_path / "times_worker.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    return WorkerSpec("times_worker:Times", (3,))


def results(engine: Engine, work: WorkerSpec, tasks: Any) -> dict[int, int]:
    return {one.number: one.value[0] for one in engine.compute(work, tasks)}


def test_one_process_and_several_give_the_same_results(work: WorkerSpec) -> None:
    wanted = {n: 3 * n for n in range(40)}
    assert results(LocalEngine(1), work, range(40)) == wanted
    found = list(LocalEngine(2).compute(work, range(40)))
    assert {one.number: one.value[0] for one in found} == wanted
    assert os.getpid() not in {one.value[1] for one in found}


def test_tasks_are_taken_as_they_are_needed(work: WorkerSpec) -> None:
    taken = []

    def tasks() -> Iterator[int]:
        for n in range(1000):
            taken.append(n)
            yield n

    flow = LocalEngine(2).compute(work, tasks())
    next(iter(flow))
    assert len(taken) <= 3 * 2 + 1
    flow.close()  # type: ignore[attr-defined]


def test_no_tasks_are_no_results(work: WorkerSpec) -> None:
    assert results(LocalEngine(1), work, []) == {}
    assert results(LocalEngine(2), work, []) == {}


def test_a_task_that_kills_its_process_again_and_again_is_one_sentence(work: WorkerSpec) -> None:
    engine = LocalEngine(2)
    with pytest.raises(RunError, match="a worker process died 4 times on the same tasks"):
        list(engine.compute(work, [1, "die", 2]))
    assert engine.counts.failures == 4


def test_tasks_of_a_process_that_died_are_given_to_another(work: WorkerSpec, tmp_path: Path) -> None:
    engine = LocalEngine(2)
    marks = [str(tmp_path / name) for name in ("a", "b")]
    found = results(engine, work, [*range(10), marks[0], *range(11, 30), marks[1], *range(31, 40)])
    assert found == {n: 0 if n in (10, 30) else 3 * n for n in range(40)}
    assert engine.counts.failures in (1, 2)
    assert engine.counts.retries is not None
    assert engine.counts.retries >= 1


def test_what_is_wrong_with_a_worker_is_told_as_it_was_raised(work: WorkerSpec) -> None:
    with pytest.raises(ModuleNotFoundError):
        list(LocalEngine(2).compute(WorkerSpec("no_such_module:Worker"), [1, 2]))


def test_processes_take_the_cores_once_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["import os", "at_import = os.environ.get('OMP_NUM_THREADS')", "", "class Seen:"]
    lines += ["    def compute(self, task): return [at_import, os.environ['REJOINDER_THREADS']]"]
    lines += ["    def close(self): pass"]
    (tmp_path / "seen_worker.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    found = [outcome.value for outcome in LocalEngine(2).compute(WorkerSpec("seen_worker:Seen"), range(2))]
    assert {one[0] for one in found} == {"3"}
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = [outcome.value for outcome in LocalEngine(2).compute(WorkerSpec("seen_worker:Seen"), range(2))]
    assert {one[0] for one in found} == {"1"}


def test_an_engine_is_opened_by_its_name() -> None:
    assert open_engine("local", 3).workers == 3
    assert open_engine().workers == os.cpu_count()
    with pytest.raises(SpecError, match="no engine is called 'lokal'"):
        open_engine("lokal")
    with pytest.raises(SpecError, match="an address needs the engine 'ray'"):
        open_engine("local", address="localhost:6379")


def test_a_missing_extra_can_be_told_from_a_worker() -> None:
    import pickle

    error = MissingExtraError("ray", "ray", "--engine ray")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"rejoinder\[ray\]"):
        open_engine("ray")


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own, of what it deprecates in itself
def test_a_ray_cluster_gives_the_same_results(work: WorkerSpec) -> None:
    import ray

    engine = open_engine("ray", 2)
    try:
        assert results(engine, work, range(40)) == {n: 3 * n for n in range(40)}
        assert results(engine, work, []) == {}
        taken: list[int] = []
        flow = engine.compute(work, (taken.append(n) or n for n in range(1000)))  # type: ignore[func-returns-value]
        next(flow)
        assert len(taken) <= 256
        flow.close()  # type: ignore[attr-defined]
        with pytest.raises(RunError, match="a process died 6 times on the same task"):
            results(engine, work, [1, "die"])
        assert engine.counts.retries is not None
    finally:
        ray.shutdown()


def test_a_system_is_asked_by_several_workers_and_says_the_same(tmp_path: Path) -> None:
    from rejoinder.selection.select import select
    from rejoinder.systems import parse_system
    from rejoinder.types import Candidate, Question, Turn

    questions = [
        Question(
            f"q{n}",
            (Turn(f"What is {n} and {n}?"),),
            (Candidate(f"{2 * n}.", grade="true"), Candidate("no", grade="false")),
        )
        for n in range(150)
    ]
    from rejoinder.data.objects import to_object

    path = tmp_path / "set.jsonl"
    path.write_bytes(b"".join(orjson.dumps(to_object(one)) + b"\n" for one in questions))
    (tmp_path / "mine.py").write_text(
        "def score(context, candidates):\n    return [float('nan') if c == '14.' else len(c) for c in candidates]\n"
    )
    spec = f"{tmp_path / 'mine.py'}:score"
    assert parse_system(spec).alone
    runs = [select(path, [spec], tmp_path / str(n), engine=LocalEngine(n)) for n in (1, 2)]
    files = [next((run.folder / "systems").glob("*.jsonl")).read_bytes() for run in runs]
    assert files[0] == files[1]


def test_pairs_are_scored_by_several_workers_as_by_one() -> None:
    import numpy as np

    from rejoinder.metric import parse
    from rejoinder.scoring.worker import score_pairs_with_engine
    from rejoinder.types import Item, Pair, Reference, Response, Turn

    pairs = []
    for n in range(600):
        item = Item(f"i{n // 3}", (Turn("How are you?"),), (Reference(f"I am {n // 3} and well."),))
        pairs.append(Pair(item, Response(f"r{n}", item.id, "s", "" if n % 50 == 0 else f"I am {n} and fine.")))
    for spec in ("bleu", "length", "distinct"):
        alone, shared = (score_pairs_with_engine(LocalEngine(workers), parse(spec), pairs) for workers in (1, 2))
        np.testing.assert_array_equal(alone, shared)
    assert np.isnan(alone[0])
