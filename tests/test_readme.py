"""The three jobs at the top of the README, typed as they stand into an empty folder."""

from __future__ import annotations

import gzip
import re
import shlex
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner

from rejoinder.cli import program
from rejoinder.data import demo as module
from rejoinder.data.collection import read_files
from rejoinder.errors import InputError

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
JOBS = ["Did my new prompt make it worse?", "Which replies should we read?", "Which metric can we believe?"]


def lines_of(job: str) -> list[str]:
    """The commands below a heading, without their comments."""
    section = re.split(r"\n##+ ", README.split(f"\n### {job}\n")[1])[0]
    block = re.findall(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[0]
    return [line.partition("  #")[0].strip() for line in block.splitlines()]


def test_the_jobs_come_first_and_take_three_lines_each() -> None:
    headings = re.findall(r"^#{2,3} (.*)$", README, re.MULTILINE)
    assert headings[:3] == JOBS
    assert [len(lines_of(job)) for job in JOBS] == [3, 3, 3]


@pytest.mark.parametrize("job", JOBS)
def test_the_lines_of_a_job_work_on_a_fresh_machine(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in ["rejoinder demo", *lines_of(job)]:
        done = CliRunner().invoke(program, shlex.split(line)[1:], prog_name="rejoinder")
        assert done.exit_code == 0, f"{line}: {done.output}"
    if job == JOBS[2]:
        assert (tmp_path / "runs" / "chats.html").stat().st_size > 10_000


def test_somebody_with_a_minute_sees_the_picture_the_jobs_the_others_the_limits_and_how_to_cite() -> None:
    headings = re.findall(r"^#{2,3} (.*)$", README, re.MULTILINE)
    assert headings[:6] == [*JOBS, "How it compares", "Limits", "Citation"]
    assert re.findall(r"!\[[^]]+\]\(([^)]+)\)", README) == ["docs/report.png"]
    assert README.index("docs/report.png") < README.index(JOBS[0])
    assert len(README.partition("## Everything else")[0].split()) < 900


def test_the_picture_is_small_and_there() -> None:
    content = (ROOT / "docs" / "report.png").read_bytes()
    width, height = struct.unpack(">II", content[16:24])
    assert 700 <= width <= 2000
    assert height <= 2000
    assert len(content) < 200_000


def test_the_demo_files_are_those_of_examples_and_two_versions_of_one_bot(tmp_path: Path) -> None:
    paths = module.demo(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["old.jsonl", "new.jsonl", "chats.jsonl"]
    assert paths[2].read_bytes() == (ROOT / "examples" / "chats.jsonl").read_bytes()
    assert gzip.decompress(module._CHATS.read_bytes()) == paths[2].read_bytes()
    old, new = (read_files([path]) for path in paths[:2])
    assert list(old.items.values()) == list(new.items.values())
    assert list(old.responses) == list(new.responses)
    assert len(old.responses) == 48
    assert {one.system for one in (*old.responses.values(), *new.responses.values())} == {"assistant"}
    assert not old.ratings
    assert module.demo(tmp_path / "new" / "folder") == paths  # a second time changes nothing


def test_the_demo_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("mine")
    with pytest.raises(InputError, match="name another folder"):
        module.demo(tmp_path)
    assert (tmp_path / "old.jsonl").read_text() == "mine"
    with pytest.raises(InputError, match="is a file"):
        module.demo(tmp_path / "old.jsonl")
