"""The GitHub action: its steps are run as a runner would run them, and the example workflow names its inputs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import rejoinder
from rejoinder.types import Response

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "name" in step}


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A workspace with replies, worse replies and an accepted run, and the command on the path."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "rejoinder"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m rejoinder "$@"\n')
    command.chmod(0o755)
    data = rejoinder.read(ROOT / "examples" / "chats.jsonl")
    rejoinder.write(data, tmp_path / "same.jsonl")
    worse = [replace(one, text="Soup.") if isinstance(one, Response) else one for one in data]
    rejoinder.write(worse, tmp_path / "worse.jsonl")
    rejoinder.run([tmp_path / "same.jsonl"], rejoinder.Plan.of(["meteor"]), tmp_path / "accepted run")
    return tmp_path


def take_step(name: str, folder: Path, **inputs: str) -> int:
    """Run one step of the action with these inputs and the defaults of all others."""
    values = {key: str(entry.get("default", "")) for key, entry in ACTION["inputs"].items()}
    values |= {key.replace("_", "-"): value for key, value in inputs.items()}
    env = {key: _fill(text, values) for key, text in STEPS[name]["env"].items()}
    env |= {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    env |= {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "REJOINDER_CACHE": str(folder / "cache")}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(script, cwd=folder, env={**os.environ, **env}, capture_output=True).returncode


def _fill(text: str, values: dict[str, str]) -> str:
    return values[text.removeprefix("${{ inputs.").removesuffix(" }}")]


@pytest.mark.parametrize(
    ("replies", "more", "status", "outcome"),
    [
        ("same.jsonl", {}, 0, "pass"),
        ("worse.jsonl", {"margin": "1%\nmeteor=0.01"}, 1, "fail"),
        ("worse.jsonl", {"margin": "0.05", "old": "", "minimum": "meteor@plain>=0\nmeteor<=1"}, 0, "pass"),
        ("same.jsonl", {"old": "nowhere"}, 2, "error"),
        ("same.jsonl", {"old": "", "minimum": "meteor>=0", "min_coverage": "1"}, 0, "pass"),
        ("same.jsonl", {"old": "", "minimum": "meteor>=0", "min_coverage": "95"}, 2, "error"),
    ],
)
def test_the_steps_score_and_check(runner: Path, replies: str, more: dict[str, str], status: int, outcome: str) -> None:
    inputs = {"replies": replies, "metrics": "meteor", "old": "accepted run", "new": "new run", **more}
    assert take_step("Score the new replies", runner, **inputs) == 0
    assert take_step("Check the new run", runner, **inputs) == status
    assert (runner / "output").read_text() == f"outcome={outcome}\n"
    if outcome != "error":
        assert (runner / "summary.md").read_text().startswith(f"### rejoinder check: {outcome}")
        assert (runner / "rejoinder.xml").is_file()


def test_no_input_is_pasted_into_a_script() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"]


def test_the_example_workflow_uses_inputs_that_exist() -> None:
    workflow: dict[Any, Any] = yaml.safe_load((ROOT / "examples" / "github" / "replies.yml").read_text())
    steps = workflow["jobs"]["check"]["steps"]
    (used,) = [step for step in steps if step.get("uses", "").startswith("OWNER/rejoinder@")]
    assert set(used["with"]) <= set(ACTION["inputs"])
    assert "rejoinder.xml" in steps[-1]["with"]["path"]
    assert ACTION["inputs"]["junit"]["default"] == "rejoinder.xml"
