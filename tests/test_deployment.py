"""Workflows, the container image and the Compose file: what they run exists, and they need no secret and no root."""

from __future__ import annotations

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from rejoinder.cli import program

ROOT = Path(__file__).parent.parent
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def jobs(name: str) -> dict[str, Any]:
    """The jobs of a workflow."""
    found: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["jobs"]
    return found


def steps(name: str) -> list[dict[str, Any]]:
    """The steps of all jobs of a workflow."""
    return [step for job in jobs(name).values() for step in job.get("steps", [])]


def check_options(words: list[str]) -> None:
    """Fail unless the command line takes these words; nothing is run."""
    command = program.get_command(click.Context(program), words[0])
    assert command is not None, f"rejoinder {words[0]}"
    command.make_context(words[0], words[1:])


def instructions(name: str) -> list[str]:
    """What follows an instruction of the Dockerfile, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^{name} (.+)$", joined, re.MULTILINE)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_jobs_that_run_somewhere_with_the_least_rights(name: str) -> None:
    whole = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))
    assert whole["name"] == name
    assert True in whole  # YAML reads the key "on" as a truth value
    assert whole["permissions"] == {"contents": "read"}
    for job in whole["jobs"].values():
        assert ("uses" in job) != ("runs-on" in job)
    for step in steps(name):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[\w./-]+", step["uses"])


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_commands_of_a_workflow_exist(name: str) -> None:
    for line in (line for step in steps(name) for line in step.get("run", "").splitlines()):
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", MAKEFILE, re.MULTILINE), line
        elif line.startswith("python -m "):
            assert find_spec(line.split()[2]) is not None, line
        elif line.startswith("rejoinder "):
            assert program.get_command(click.Context(program), line.split()[1]) is not None, line
        else:
            assert line.split()[0] in ("ruff", "mypy", "test", "gh", "rm"), line


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_workflow_reads_a_secret(name: str) -> None:
    text = WORKFLOWS[name].read_text(encoding="utf-8")
    assert "secrets." not in text
    assert not re.search(r"\$\{\{ *github\.(event|head_ref)[^}]*\}\}", text)  # which strangers can choose


def test_every_python_and_system_that_is_supported_is_tested() -> None:
    matrix = jobs("test")["test"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.10", "3.11", "3.12", "3.13"]
    assert f'requires-python = ">={matrix["python"][0]}"' in PYPROJECT
    systems = {*matrix["os"], *(one["os"] for one in matrix["include"])}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}


def test_a_release_is_published_without_a_password() -> None:
    publish = jobs("release")["publish"]
    assert publish["permissions"]["id-token"] == "write"
    assert publish["environment"] == "release"
    last = publish["steps"][-1]
    assert last["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in last


def test_the_image_runs_the_server_as_an_ordinary_user() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert instructions("USER") == ["rejoinder"]
    assert final.index("\nUSER ") < final.index("\nENTRYPOINT ")
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["rejoinder"]
    words = json.loads(instructions("CMD")[0])
    assert words[0] == "serve"
    check_options(words)
    assert instructions("EXPOSE") == [words[words.index("--port") + 1]]
    assert f":{instructions('EXPOSE')[0]}/health" in DOCKERFILE


def test_the_image_is_made_of_files_that_are_there_with_extras_that_exist() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    for line in instructions("COPY"):
        for name in line.split()[:-1] if not line.startswith("--from") else []:
            assert (ROOT / name).exists(), name
            assert f"!{name}\n" in ignored
    extras = re.findall(r"\.\[([\w,]+)\]", DOCKERFILE)[0].split(",")
    for extra in extras:
        assert re.search(rf"^{extra} = \[", PYPROJECT, re.MULTILINE), extra
    assert {"web", "postgres"} <= set(extras)


def test_annotation_in_containers_waits_for_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    annotation, database = COMPOSE["services"]["annotation"], COMPOSE["services"]["database"]
    check_options(annotation["command"])
    assert annotation["build"] == "."
    assert annotation["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in database
    named = {volume.partition(":")[0] for one in (annotation, database) for volume in one["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(COMPOSE["volumes"])
    assert all(port.startswith("127.0.0.1:") for port in annotation["ports"])


def test_no_password_is_written_into_the_compose_file() -> None:
    for service, key in (("annotation", "PGPASSWORD"), ("database", "POSTGRES_PASSWORD")):
        assert COMPOSE["services"][service]["environment"][key].startswith("${DATABASE_PASSWORD:?")
    (url,) = [word for word in COMPOSE["services"]["annotation"]["command"] if word.startswith("--database=")]
    assert re.fullmatch(r"--database=postgresql://\w+@database/\w+", url)


def test_images_have_plain_names() -> None:
    images = [line.split()[0] for line in instructions("FROM")]
    images += [one["image"] for one in COMPOSE["services"].values() if "image" in one]
    assert all(re.fullmatch(r"[a-z]+:[\w.-]+", image) for image in images), images


def test_what_the_docs_show_of_containers_is_what_the_files_say() -> None:
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    shown = [shlex.split(line) for line in re.findall(r"^docker .+$", page, re.MULTILINE)]
    assert [words[1] for words in shown] == ["build", "run", "run"]
    assert program.get_command(click.Context(program), shown[-1][-1]) is not None
