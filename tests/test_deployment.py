"""Workflows, the container image and the Compose file: what they run exists, and they need no secret and no root."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
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
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)", PYPROJECT) == ["3.11", "3.12", "3.13", "3.14"]
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


# What the image and the Compose file run, run here: with their environment, an empty home and a folder for /data


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder in place of /data, as the image has it."""
    for name in ("data/runs", "home"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "data"


def container_environment(data: Path) -> dict[str, str]:
    """What a process in the image sees: nothing of this machine but where Python finds its libraries."""
    said = dict(word.split("=", 1) for line in instructions("ENV") for word in shlex.split(line))
    said = {name: value.replace("/data", str(data)) for name, value in said.items() if name != "PATH"}
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**said, "PATH": os.defpath, "PYTHONPATH": paths, "HOME": str(data.parent / "home")}


@contextmanager
def running(words: list[str], data: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The entry point with these words, until the block ends."""
    command = [sys.executable, "-m", "rejoinder", *words]
    with subprocess.Popen(
        command, cwd=data, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def wait_until_healthy(check: list[str], process: subprocess.Popen[str]) -> None:
    """Ask as the health check asks, until it is content."""
    deadline = time.monotonic() + 120
    while subprocess.run([sys.executable, *check[1:]], capture_output=True, check=False).returncode:
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_the_command_of_the_image_answers_its_health_check(data: Path) -> None:
    words, port = json.loads(instructions("CMD")[0]), str(free_port())
    words = [word.replace("8701", port).replace("0.0.0.0", "127.0.0.1") for word in words]
    check = [
        word.replace("8701", port) for word in json.loads(DOCKERFILE.partition("\n    CMD ")[2].partition("\n")[0])
    ]
    secret = "x" * 32
    with running(words, data, {**container_environment(data), "REJOINDER_TOKEN": secret}) as process:
        wait_until_healthy(check, process)
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Authorization": f"Bearer {secret}"})
        with urllib.request.urlopen(asked, timeout=30) as page:
            assert page.status == 200
    assert not list((data.parent / "home").iterdir())  # everything that stays is in /data


def test_any_other_command_of_the_image_works(data: Path) -> None:
    with running(["doctor"], data, container_environment(data)) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "This machine gives the expected scores." in said
    assert str(data / "cache") in said.replace("\n", "")


def test_the_annotation_of_the_compose_file_serves_people_from_its_database(data: Path) -> None:
    postgres = pytest.importorskip("postgres_server", reason="POSIX users are needed")
    if reason := postgres.why_not():
        pytest.skip(reason)
    shutil.copytree(ROOT / "examples", data / "examples")
    service, port = COMPOSE["services"]["annotation"], str(free_port())
    url, stop = postgres.start()
    try:
        words = [word.replace("8700", port).replace("0.0.0.0", "127.0.0.1") for word in service["command"]]
        words = [f"--database={url}" if word.startswith("--database=") else word for word in words]
        check = [word.replace("8700", port) for word in service["healthcheck"]["test"][1:]]
        with running(words, data, container_environment(data)) as process:
            wait_until_healthy(check, process)
            assert process.stdout is not None
            owner = next(found[0] for line in process.stdout if (found := re.findall(r"http://\S+", line)))
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the link signs in by a cookie
            with opener.open(owner, timeout=30) as page:
                assert "How good are these replies?" in page.read().decode()
    finally:
        stop()
