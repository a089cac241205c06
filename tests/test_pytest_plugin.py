"""The pytest plugin as a project uses it: a test that passes, one that fails with the reasons, nothing heavy loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rejoinder
from rejoinder.types import Response

ROOT = Path(__file__).parent.parent
TESTS = """
from rejoinder.pytest import assert_no_worse

def test_same(rejoinder_runs):
    new = rejoinder_runs.score("same.jsonl", metrics=["meteor"])
    assert_no_worse(new, rejoinder_runs.accepted("first"), ["meteor"], margin=0.02)

def test_worse(rejoinder_runs):
    new = rejoinder_runs.score("worse.jsonl", metrics=["meteor"])
    assert_no_worse(new, rejoinder_runs.accepted("first"), margin=0.02)

def test_missing(rejoinder_runs):
    rejoinder_runs.accepted("second")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an accepted run, the same replies again, and worse ones."""
    data = rejoinder.read(ROOT / "examples" / "chats.jsonl")
    rejoinder.write(data, tmp_path / "same.jsonl")
    rejoinder.write(
        [replace(one, text="Soup.") if isinstance(one, Response) else one for one in data], tmp_path / "worse.jsonl"
    )
    rejoinder.run([tmp_path / "same.jsonl"], rejoinder.Plan.of(["meteor"]), tmp_path / "accepted" / "first")
    (tmp_path / "test_replies.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nrejoinder_runs = accepted\n")
    return tmp_path


def type_pytest(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    if "rejoinder" not in _installed_plugins():
        command += ["-p", "rejoinder.pytest"]
    env = {**os.environ, "REJOINDER_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout


def _installed_plugins() -> set[str]:
    from importlib.metadata import entry_points

    return {one.name for one in entry_points(group="pytest11")}


def test_a_project_uses_the_fixture_and_the_assertion(project: Path) -> None:
    said = type_pytest(project, "-q")
    assert "1 passed" in said
    assert "2 failed" in said
    assert "fail: meteor of attentive changed by -0." in said
    assert "holds no run; make one with: rejoinder score FILE -o " in said
    assert "def check(" not in said  # the traceback ends in the test


def test_the_plugin_alone_loads_nothing_of_rejoinder(project: Path) -> None:
    (project / "test_replies.py").write_text(
        "import sys\n\ndef test_nothing():\n    assert 'numpy' not in sys.modules\n"
        "    loaded = {name for name in sys.modules if name.startswith('rejoinder')}\n"
        "    assert loaded == {'rejoinder', 'rejoinder.pytest'}\n"
    )
    assert "1 passed" in type_pytest(project, "-q")


def test_the_plugin_is_an_entry_point_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nrejoinder = "rejoinder.pytest"\n' in text
