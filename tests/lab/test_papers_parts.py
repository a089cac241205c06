"""What a reproduction needs, what is missing of it, and answers that are stored for it."""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rejoinder_lab import papers
from rejoinder_lab.papers import list_missing_parts, reproduction_names, stored_answers
from rejoinder_lab.papers.base import (
    EARLIER,
    NOT_MEASURED,
    Figure,
    Reproduction,
    reproduction_tables,
    write_reproduction,
)
from rejoinder_lab.papers.requirements import Requirements, find_missing_parts
from rejoinder_lab.papers.stored_answers import (
    AnswerLine,
    StoredAnswers,
    find_stored_answers,
    read_stored_answers,
    stored_answers_path,
    write_stored_answers,
)

from rejoinder.cli import models, program
from rejoinder.data.datasets import datasets_under
from rejoinder.data.download import FetchError
from rejoinder.errors import InputError
from rejoinder.models.catalog.entries import find_model

ANSWERS = StoredAnswers(
    "mine",
    "digest",
    {"signature": "x|version:1"},
    {
        ("0", "test", "q2"): AnswerLine((0.1234567891, math.nan), [[0], [1]]),
        ("0", "test", "q1"): AnswerLine((1.0, 2.0)),
    },
)


# Stored answers


def test_answers_are_read_back_with_nine_digits_and_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "mine.jsonl.gz", tmp_path / "b" / "mine.jsonl.gz"]
    for path in paths:
        write_stored_answers(path, ANSWERS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    read = read_stored_answers(paths[0], "mine", "digest")
    assert read.about == ANSWERS.about
    assert read.lines["0", "test", "q1"] == ((1.0, 2.0), None)
    scores, more = read.lines["0", "test", "q2"]
    assert scores[0] == 0.123456789
    assert math.isnan(scores[1])
    assert more == [[0], [1]]


def test_answers_to_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl.gz"
    write_stored_answers(path, ANSWERS)
    for name, asked in (("another", "digest"), ("mine", "another")):
        with pytest.raises(InputError, match="another network or to other questions"):
            read_stored_answers(path, name, asked)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    path.write_bytes(gzip.compress(b"\n".join([*lines, lines[-1]])))
    with pytest.raises(InputError, match="two answers to a question"):
        read_stored_answers(path, "mine", "digest")
    for content in (b"nothing", gzip.compress(b"[1]\n"), gzip.compress(b"")):
        path.write_bytes(content)
        with pytest.raises(InputError, match="has no stored answers"):
            read_stored_answers(path, "mine", "digest")


def test_a_users_own_answers_come_before_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "_PAPERS", tmp_path)
    assert find_stored_answers("sugar", "mine") is None
    shipped, own = stored_answers_path("sugar", "mine", shipped=True), stored_answers_path("sugar", "mine")
    write_stored_answers(shipped, ANSWERS)
    assert find_stored_answers("sugar", "mine") == shipped
    write_stored_answers(own, ANSWERS)
    assert find_stored_answers("sugar", "mine") == own


# What is missing


@pytest.mark.parametrize("name", reproduction_names())
def test_every_part_that_is_required_is_known(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    for part in list_missing_parts(name):
        if part.kind == "model":
            assert find_model(part.name)
        elif part.kind == "dataset":
            assert datasets_under(part.name)
        assert part.remedy


def test_missing_parts_are_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    required = Requirements(("sugar",), ("glove-6b-50d",), ("minilm",), {"no_such": ("GRADE", "USR")}, ("cross",))
    told = [str(part) for part in find_missing_parts("sugar", required)]
    assert told == [
        "dataset sugar: needed; get it with: rejoinder data get sugar "
        "(or set REJOINDER_DATA to the folder that has it)",
        "model glove-6b-50d: needed; get it with: rejoinder models get glove-6b-50d",
        "model minilm: some rows need it; get it with: rejoinder models get minilm",
        "library no_such: without it these rows are not measured: GRADE, USR; "
        'install it with: pip install "rejoinder[no_such]"',
        "stored answers cross: some rows need it; python -m rejoinder_lab.papers.sugar.jobs --help says how they are "
        "computed, on a machine with a GPU",
    ]


def require(monkeypatch: pytest.MonkeyPatch, required: Requirements) -> None:
    monkeypatch.setattr("rejoinder_lab.papers.own.REQUIREMENTS", {"confounders": required})
    monkeypatch.setattr(
        "rejoinder_lab.papers.own.confounders.reproduce",
        lambda: Reproduction("confounders", "t", [Figure("T", "r", "c", 1, 2)]),
    )


def test_the_command_lists_what_is_missing_and_measures_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(monkeypatch, Requirements(row_models=("minilm", "mpnet")))
    done = CliRunner().invoke(program, ["reproduce", "confounders", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert done.stderr.index("missing for confounders:") < done.stderr.index("model mpnet: some rows need it")
    assert (tmp_path / "confounders.json").is_file()


def test_the_command_stops_before_the_work_where_nothing_can_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(monkeypatch, Requirements(models=("minilm", "mpnet")))
    done = CliRunner().invoke(program, ["reproduce", "confounders", "-o", str(tmp_path)])
    assert isinstance(done.exception, InputError)
    assert "cannot be measured without model minilm, model mpnet" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_get_downloads_models_with_consent_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, bool]] = []

    def pretend(name: str, yes: bool, mirror: str | None) -> None:
        asked.append((name, yes))
        if name == "mpnet":
            raise FetchError("no network")

    require(monkeypatch, Requirements(row_models=("minilm", "mpnet", "gpt2")))
    monkeypatch.setattr(models.get, "callback", pretend)
    done = CliRunner().invoke(program, ["reproduce", "confounders", "--get", "--yes", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert asked == [("minilm", True), ("mpnet", True), ("gpt2", True)]
    assert "mpnet: no network" in done.stderr


def test_without_a_terminal_nothing_is_downloaded_unless_agreed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(monkeypatch, Requirements(row_models=("minilm",)))
    done = CliRunner().invoke(program, ["reproduce", "confounders", "--get", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "give --yes to agree" in done.stderr


_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from rejoinder.metric import parse
from rejoinder_lab.papers.idk.prior import LIVE, find_printed_row
from rejoinder_lab.papers.own.relevance.relevance import SPECS, split_usable
for specs in (SPECS, LIVE):
    able, _ = split_usable(specs)
    absent = [spec for spec in specs if str(parse(spec)) not in able]
    print(",".join(map(find_printed_row, absent) if specs is LIVE else absent))
"""


def test_the_rows_that_need_torch_are_named_before_the_work(own_cache: Path) -> None:
    """With an empty cache and without torch, what two reproductions drop is what their requirements name."""
    done = subprocess.run([sys.executable, "-c", _WITHOUT_TORCH], capture_output=True, text=True, check=True)
    for name, absent in zip(("relevance", "idk"), done.stdout.splitlines(), strict=True):
        required = papers._find_requirements(name)[1]
        assert required.row_libraries == {"torch": tuple(absent.split(","))}
        assert not [part for part in list_missing_parts(name) if part.kind == "model"], "no model is needed"


def test_a_paper_need_not_say_what_it_requires() -> None:
    assert papers.reproduction_names()
    assert find_missing_parts("sugar", Requirements()) == []


# Pages


def test_figures_measured_earlier_are_marked_by_row_or_by_column() -> None:
    figures = [
        Figure("T", "a", "x", None, 1.0),
        Figure("T", "a", "y", None, 2.0, note=EARLIER),
        Figure("T", "b", "y", None, 3.0, note=EARLIER),
    ]
    [table] = reproduction_tables(Reproduction("n", "N", figures))
    assert table.heads == ["T", "x", "y (measured earlier)"]
    assert [row[0] for row in table.rows] == ["a", "b (measured earlier)"]
    mixed = [*figures, Figure("T", "c", "y", None, 3.0)]
    with pytest.raises(ValueError, match="y has figures measured earlier and now"):
        reproduction_tables(Reproduction("n", "N", mixed))


def test_a_row_without_a_value_says_why_on_the_page(tmp_path: Path) -> None:
    note = f"{NOT_MEASURED}, since the model is not available"
    figures = [Figure("T", "a", "x", 0.7, 0.8), *(Figure("T", "b", c, 0.7, math.nan, note=note) for c in "xy")]
    page, *_ = write_reproduction(Reproduction("n", "N", figures), tmp_path)
    assert "- Not measured: b, since the model is not available." in page.read_text(encoding="utf-8").splitlines()
