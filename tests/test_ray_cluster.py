"""A real Ray cluster of node processes: the results of one process, whatever is killed; skipped where Ray is not."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from slow_metric import write_slow

from benchmarks.cluster_cases import Case, cases, outputs, write_data
from benchmarks.ray_nodes import Nodes, children_of, driver, killed

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.xdist_group("ray"),
]
ONE = ["--processes", "1"]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return cases(write_data(tmp_path_factory.mktemp("cluster") / "data", shards=4, items=10))


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with Nodes(2) as started:
        yield started


def on(nodes: Nodes) -> list[str]:
    return ["--engine", "ray", "--address", nodes.address]


def run(case: Case, out: Path, engine: list[str]) -> str:
    """What a command says, which ends well."""
    out.mkdir(exist_ok=True)
    process = driver(case.command(out, engine), cwd=out)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return said + errors


@pytest.fixture(scope="module")
def wanted(known: dict[str, Case], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What one process writes."""
    found = {}
    for name in ("score shards", "augment", "build"):
        out = tmp_path_factory.mktemp("local")
        run(known[name], out, ONE)
        found[name] = outputs(out)
    return found


@pytest.mark.parametrize("name", ["score shards", "augment", "build"])
def test_two_nodes_write_what_one_process_writes(
    name: str, nodes: Nodes, known: dict[str, Case], wanted: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    said = run(known[name], tmp_path, on(nodes))
    assert outputs(tmp_path) == wanted[name]
    assert "ray" not in said.replace("array", "").replace(str(tmp_path), "").lower()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".kept")]


@pytest.mark.parametrize("what", ["worker", "node", "driver"])
def test_what_is_killed_loses_and_doubles_nothing(
    what: str, nodes: Nodes, known: dict[str, Case], wanted: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    case = known["score shards"]
    process = driver(case.command(tmp_path, on(nodes)))
    try:
        while process.poll() is None and not nodes.is_computing():
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()
        assert {"worker": nodes.kill_worker, "node": nodes.kill_node}.get(what, lambda _: killed(process.pid))(0)
        _, errors = process.communicate(timeout=300)
        if what == "driver":
            assert process.returncode == -signal.SIGKILL
            run(case, tmp_path, on(nodes))
        else:
            assert process.returncode == 0, errors
    finally:
        nodes.restore()
    assert outputs(tmp_path) == wanted["score shards"]


def test_ctrl_c_ends_a_cluster_of_our_own_and_the_command_goes_on(known: dict[str, Case], tmp_path: Path) -> None:
    write_slow(tmp_path)
    words = [*known["score shards"].args[:2], "-m", "./slow.py"]
    process = driver([*words, "-o", "run", "--engine", "ray", "--processes", "2"], cwd=tmp_path)
    while process.poll() is None and not (tmp_path / "taken").exists():
        time.sleep(0.02)
    started = children_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.strip() == "rejoinder: stopped; run the same command again to continue"
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert started
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    (tmp_path / "wait").unlink()
    for out in ("run", "fresh"):
        again = driver([*words, "-o", out, *ONE], cwd=tmp_path)
        _, errors = again.communicate(timeout=300)
        assert again.returncode == 0, errors
    assert outputs(tmp_path / "run") == outputs(tmp_path / "fresh")


def test_no_cluster_at_an_address_is_one_sentence(known: dict[str, Case], tmp_path: Path) -> None:
    process = driver(known["build"].command(tmp_path, ["--engine", "ray", "--address", "127.0.0.1:9"]))
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 2
    assert "no Ray cluster answers" in errors
    assert errors.count("\n") == 1


def test_a_node_with_another_rejoinder_or_none_is_told() -> None:
    import rejoinder
    from rejoinder.engines.ray_connection import _check_versions
    from rejoinder.errors import RunError

    _check_versions({"10.0.0.1": rejoinder.__version__})
    _check_versions({})
    with pytest.raises(RunError, match=r"the node 10\.0\.0\.2 of the cluster has no rejoinder; install"):
        _check_versions({"10.0.0.1": rejoinder.__version__, "10.0.0.2": None})
    with pytest.raises(RunError, match=r"has rejoinder 0\.0\.9; install"):
        _check_versions({"10.0.0.2": "0.0.9"})


SEES = """
import os

class Sees:
    def compute(self, task):
        return {name: value for name, value in os.environ.items() if name.startswith("REJOINDER_")}

    def close(self):
        pass
"""
DRIVER = """
import json, sys
from rejoinder.engines.base import WorkerSpec
from rejoinder.engines.factory import open_engine

engine = open_engine("ray", 2, sys.argv[1])
print(json.dumps([one.value for one in engine.compute(WorkerSpec("sees_worker:Sees", ()), range(3))]))
"""
KEYS = {"REJOINDER_JUDGE_KEY": "sk-zq0123456789abcdef", "REJOINDER_TOKEN": "token-zq9876543210fedcba"}


def test_workers_get_the_key_that_they_need_and_no_file_of_rays_holds_any(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "sees_worker.py").write_text(SEES)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    mine = {**KEYS, "REJOINDER_CACHE": str(tmp_path / "cache"), "REJOINDER_JUDGE_TRIES": "2", "PYTHONPATH": path}
    command = [sys.executable, "-c", DRIVER, nodes.address]
    done = subprocess.run(command, env={**os.environ, **mine}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for seen in json.loads(done.stdout.splitlines()[-1]):
        assert {name: seen.get(name) for name in mine if name not in ("REJOINDER_TOKEN", "PYTHONPATH")} == {
            name: mine[name] for name in ("REJOINDER_JUDGE_KEY", "REJOINDER_CACHE", "REJOINDER_JUDGE_TRIES")
        }
        assert "REJOINDER_TOKEN" not in seen
    files = [file for file in nodes.folder.rglob("*") if file.is_file()]
    assert len(files) > 10
    texts = {file.name: file.read_bytes() for file in files}
    assert [name for name, text in texts.items() if any(key.encode() in text for key in KEYS.values())] == []
