"""Full disks, closed streams, impossible names, missing homes: one line or a right result, and nothing torn is left."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rejoinder
from benchmarks.synthetic import write_file
from rejoinder import paths
from rejoinder.cli import program
from rejoinder.errors import RejoinderError
from rejoinder.files import atomic_write
from rejoinder.scoring.run import Plan, run

COMMAND = f"{sys.executable} -m rejoinder"
EXAMPLES = Path(__file__).parent.parent / "examples"
LONG = "x" * 300
NOT_UTF_8 = os.fsdecode(b"caf\xe9")


def shell(line: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A line of shell in which R is our command."""
    words = ["bash", "-c", f'R() {{ {COMMAND} "$@"; }}; {line}']
    return subprocess.run(words, capture_output=True, text=True, errors="surrogateescape", check=False, **options)


def small_files() -> None:
    """Let no file grow beyond 2 KB, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


# Python would leave compiled modules of 2 KB behind, which no later process could read.
FULL: dict[str, Any] = {"preexec_fn": small_files, "env": {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}}


def is_one_line(ended: subprocess.CompletedProcess[str], said: str) -> bool:
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert said in ended.stderr, ended.stderr
    return True


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of replies and a run."""
    place = tmp_path_factory.mktemp("scored")
    write_file(place / "chats.jsonl", 300)
    run([place / "chats.jsonl"], Plan.of(["length"]), place / "run", cache=False)
    shutil.copytree(EXAMPLES / "openai", place / "logs")
    return place


@pytest.fixture
def place(scored: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored, tmp_path / "place")


def test_a_run_on_a_full_disk_is_one_line_and_goes_on_when_there_is_room(place: Path) -> None:
    line = "R score chats.jsonl -m length --no-cache -o other"
    ended = shell(line, cwd=place, **FULL)
    assert is_one_line(ended, "data.jsonl: cannot be written (File too large)")
    assert not (place / "other" / "run.json").exists()
    assert shell(line, cwd=place).returncode == 0
    for name in ("scores.jsonl", "data.jsonl", "run.json"):
        assert (place / "other" / name).read_bytes() == (place / "run" / name).read_bytes()
    assert {p.name for p in (place / "other").iterdir()} == {p.name for p in (place / "run").iterdir()}


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("R report run -o page.html", "page.html"),
        ("R import openai logs -o imported.jsonl", "imported.jsonl"),
    ],
)
def test_a_file_on_a_full_disk_stays_as_it_was(line: str, file: str, place: Path) -> None:
    (place / file).write_text("what was there before")
    before = sorted(p.name for p in place.iterdir())
    assert is_one_line(shell(line, cwd=place, **FULL), f"{file}: cannot be written (File too large)")
    assert (place / file).read_text() == "what was there before"
    assert sorted(p.name for p in place.iterdir()) == before


@pytest.mark.parametrize("file", ["/dev/null/judgements.csv", ".", LONG, "/dev/full"])
def test_judgements_exported_to_an_impossible_place_are_one_line(file: str, place: Path) -> None:
    shutil.copytree(EXAMPLES, place / "examples")
    ended = shell(f"R annotate project.toml --export csv --file {file}", cwd=place / "examples" / "annotation")
    assert is_one_line(ended, "is a folder" if file == "." else "cannot be written")


@pytest.mark.parametrize(
    "line",
    [
        "R score chats.jsonl -m length -o run",
        "R report run -o -",
        "R report run -o /dev/full",
        "R list metrics",
        "R --help",
        "R import openai logs -o -",
        "R import openai logs -o /dev/full",
    ],
)
def test_an_output_that_is_full_is_one_line(line: str, place: Path) -> None:
    assert is_one_line(shell(f"{line} >/dev/full", cwd=place), "No space left on device")


def test_devices_are_written_and_not_replaced(place: Path) -> None:
    printed = shell("R report run --format text -o /dev/stdout | cat", cwd=place)
    assert (printed.returncode, "Mean score by system" in printed.stdout) == (0, True), printed.stderr
    assert shell("R report run -o /dev/null", cwd=place).returncode == 0
    assert Path("/dev/null").is_char_device()


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far" / "file")
    for text in (b"one", b"two"):
        with atomic_write(tmp_path / "near") as file:
            file.write(text)
        assert (tmp_path / "near").is_symlink()
        assert (tmp_path / "far" / "file").read_bytes() == text
    assert [p.name for p in (tmp_path / "far").iterdir()] == ["file"]


def test_a_closed_output_is_one_line(place: Path) -> None:
    for line in ("R compare run", "R list metrics", "R report run -o -"):
        assert is_one_line(shell(f"{line} >&-", cwd=place), "standard output is closed")


def test_a_closed_error_stream_changes_no_result(place: Path) -> None:
    open_, closed = (shell(f"R score chats.jsonl -m length -o run {end}", cwd=place) for end in ("", "2>&-"))
    assert (closed.returncode, closed.stdout) == (0, open_.stdout)
    mistake = shell("R score nowhere.jsonl -m length 2>&-", cwd=place)
    assert (mistake.returncode, mistake.stdout) == (2, ""), "what cannot be told does not go to the output"


@pytest.mark.parametrize(
    "line",
    [
        f"R score chats.jsonl -m length -o {LONG}",
        f"R score logs -m length -o {LONG}",
        f"R report run -o {LONG}",
        f"R report run -o {LONG}/page.html",
        f"R compare {LONG}",
        f"R import openai logs -o {LONG}",
    ],
)
def test_a_name_that_is_too_long_is_one_short_line(line: str, place: Path) -> None:
    ended = shell(line, cwd=place)
    assert is_one_line(ended, "x" * 20)
    assert len(ended.stderr) < 400


def test_names_that_are_not_utf_8_can_be_written_and_read(place: Path) -> None:
    name = NOT_UTF_8
    for words in (
        ["score", "chats.jsonl", "-m", "length", "-o", name],
        ["compare", name],
        ["report", name],
        ["report", name, "--format", "json", "-o", "-"],
        ["report", "run", "-o", f"{name}-page.html"],
        ["score", "chats.jsonl", "-m", "length", "-o", "run", "--report", f"{name}-other.html"],
    ):
        command = [*COMMAND.split(), *words]
        ended = subprocess.run(command, cwd=place, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr
    assert (place / f"{name}-page.html").read_bytes() == (place / f"{name}-other.html").read_bytes()
    assert (place / f"{name}.html").is_file()


def test_without_a_home_one_line_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "REJOINDER_CACHE", "REJOINDER_DATA", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RejoinderError, match=r"no home folder was found .*; set REJOINDER_CACHE"):
        paths.cache_home()
    with pytest.raises(RejoinderError, match=r"no home folder was found .*; set REJOINDER_DATA"):
        paths.data_home()


@pytest.mark.parametrize("line", ["compare", "trust", "report -o -", "check --min length>=0", "next", "agreement"])
def test_a_run_that_may_not_be_read_is_one_line(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: Any, **__: Any) -> Any:
        if path.parent.name == "run":
            raise PermissionError(13, "Permission denied", str(path))
        return os.stat(path)

    monkeypatch.setattr(Path, "stat", refuse)  # as in a folder of mode 0, which root would read all the same
    command, *rest = line.split()
    ended = CliRunner().invoke(program, [command, str(place / "run"), *rest])
    assert isinstance(ended.exception, RejoinderError), ended.exception
    assert str(ended.exception) == f"{place / 'run'}: cannot be read (Permission denied)"


def test_a_damaged_run_json_is_one_line(place: Path) -> None:
    (place / "run" / "run.json").write_text("{")
    assert is_one_line(shell("R compare run", cwd=place), "run.json: cannot be read")
    (place / "run" / "run.json").unlink()
    (place / "run" / "run.json").mkdir()
    assert is_one_line(shell("R compare run", cwd=place), "run")
    with pytest.raises(RejoinderError):
        rejoinder.load(place / "run")
