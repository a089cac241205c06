"""What long commands show while they run, and what they say at the end."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rejoinder.cli import program
from rejoinder.cli._options import VERBOSE
from rejoinder.cli._progress import progress_bar, show_progress
from rejoinder.engines.base import FailureCounts
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import SpecError
from rejoinder.files import size_on_disk

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
ALL = ("--least-aptness", "0")  # to score aptness takes a while
COST = r"in \d+\.\d s with 1 worker: \d+\.\d{3} s and [\d,]+ bytes per thousand; 0 failures, 0 retries"


def test_nobody_watching_means_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("scoring", "replies", LocalEngine()) as reporter:
        assert reporter.progress is None
    with progress_bar("reading") as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_plain_line_every_so_many_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REJOINDER_PROGRESS", "0.05")
    engine = LocalEngine(2, counts=FailureCounts(1, 6))
    with show_progress("scoring", "replies", engine) as reporter:
        assert reporter.progress is not None
        reporter.progress(1_500, 6_000)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    wanted = r"scoring: 1,500 of 6,000 replies \(25%\), [\d,]+/s, 0:00:0\d left, 1 failure, 6 retries"
    assert all(re.fullmatch(wanted, line) for line in lines), lines


def test_a_total_that_is_not_known_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_PROGRESS", "60")
    with show_progress("indexing", "turns") as reporter:
        assert reporter.progress is not None
        reporter.progress(12_000, 0)
        assert re.fullmatch(r"indexing: 12,000 turns, [\d,]+/s", reporter.line())


@pytest.mark.parametrize("said", ["often", "0", "-3", "nan", "1e300"])
def test_seconds_that_are_none_are_said_in_one_sentence(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_PROGRESS", said)
    with pytest.raises(SpecError, match=f"must be the number of seconds between two progress lines, not '{said}'"):
        show_progress("scoring").__enter__()


def test_what_an_engine_does_not_count_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("scoring", "replies", LocalEngine(3, "ray", FailureCounts(None, None))) as reporter:
        pass
    reporter.print_summary(2_000, "replies", 50_000)
    assert capsys.readouterr().err == ""
    with click.Context(program) as context:
        context.meta[VERBOSE] = True
        reporter.print_summary(2_000, "replies", 50_000)
    assert re.fullmatch(
        r"2,000 replies in \d+\.\d s with 3 workers: \d+\.\d{3} s and 25,000 bytes per thousand; "
        r"failures and retries not reported by ray\n",
        capsys.readouterr().err,
    )
    half = LocalEngine(3, "ray", FailureCounts(2, None))
    with show_progress("scoring", "replies", half) as reporter:
        assert reporter.failure_counts() == ["2 failures", "retries not known"]


def test_failures_are_said_without_being_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("scoring", "replies", LocalEngine(2, counts=FailureCounts(1, 6))) as reporter:
        pass
    reporter.print_summary(2_000, "replies", 50_000)
    assert capsys.readouterr().err == "scoring: 1 failure, 6 retries\n"


def test_a_pipe_at_the_output_means_silence_on_a_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import os
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stderr", Terminal())
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with show_progress("scoring") as reporter:
            assert reporter.progress is None
        monkeypatch.undo()


def test_a_bar_shows_rows_rate_and_trouble_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    engine = LocalEngine(2, counts=FailureCounts(1, 3))
    with show_progress("scoring", "replies", engine) as reporter:
        assert reporter.progress is not None
        reporter.progress(10, 400)
        time.sleep(0.15)
        reporter.progress(200, 400)
        time.sleep(0.15)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "200/400 replies" in shown
    assert "1 failure, 3 retries" in shown
    assert re.search(r"[\d,]+/s", shown)


def test_the_bytes_of_a_folder_are_those_of_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"123")
    (tmp_path / "c").write_bytes(b"45")
    assert size_on_disk(tmp_path) == 5
    assert size_on_disk(tmp_path / "c") == 2


def run(*typed: Any) -> str:
    done = CliRunner().invoke(program, [str(one) for one in typed])
    assert done.exit_code == 0, done.output
    return done.stderr


def test_scoring_says_what_it_cost_and_nothing_where_nothing_was_computed(tmp_path: Path) -> None:
    typed = ("score", CHATS, "-m", "length", "--processes", 1, "-o", tmp_path / "run")
    assert "per thousand" not in run(*typed[:-1], tmp_path / "quiet")
    typed = (*typed, "-v")
    assert re.search(r"^\d+ replies " + COST, run(*typed), re.MULTILINE)
    assert "per thousand" not in run(*typed)


def test_every_long_command_says_what_it_cost(tmp_path: Path) -> None:
    from tiny_talks import talks

    from rejoinder.data.writer import write

    write(talks(12), tmp_path / "talks.jsonl")
    told = run("index", "build", tmp_path / "talks.jsonl", "-v", "-o", tmp_path / "index")
    assert re.search(r"\d+ turns indexed into .*index\n\d+ turns in .* bytes per thousand", told)
    told = run(
        "index", "build", tmp_path / "talks.jsonl", "-o", tmp_path / "two", "--shards", 2, "--processes", 1, "-v"
    )
    assert re.search(r"\d+ turns of 2 shards indexed into .*two\n\d+ turns " + COST, told)
    items = ("augment", CHATS, "-o", tmp_path / "more.jsonl", "--corpus", tmp_path / "talks.jsonl", "--no-comet")
    assert re.search(r"^\d+ items " + COST, run(*items, "-v", *ALL), re.MULTILINE)
    told = run("attack", tmp_path / "talks.jsonl", "-m", "length", "--contexts", 5, "--split", "train", "-v")
    assert re.search(r"^\d+ contexts under 1 metric in .* per thousand; 0 failures, 0 retries$", told, re.MULTILINE)


def test_what_is_printed_meanwhile_stands_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "30")
    with show_progress("scoring", "replies") as reporter:
        assert reporter.progress is not None
        reporter.progress(5, 10)
        sys.stdout.write("a note\x1b[2J\n")
        reporter.progress(10, 10)
    shown = screen.getvalue()
    assert "\ra note\\u001b[2J\n" in shown
    assert "\x1b" not in shown
    assert shown.endswith("\r")  # erased
    assert max(map(len, re.split(r"[\r\n]", shown))) < 30  # one line
