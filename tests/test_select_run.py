"""``rejoinder select``: run folders that stand alone and resume, tables in every form, the page, every mistake."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rejoinder import cli
from rejoinder.data.writer import write
from rejoinder.errors import RejoinderError
from rejoinder.reports.selection import selection_tables
from rejoinder.reports.selection_page import render_selection_page
from rejoinder.selection.evaluate import evaluate_selection
from rejoinder.selection.labels import attach_error_labels, read_labelled_questions
from rejoinder.selection.select import load_selection, select
from rejoinder.systems import System
from rejoinder.table import FORMATS
from rejoinder.types import Question, Turn
from tests.selection_sets import Longest, question

LENGTHS = "def score(context, candidates):\n    return [len(text) for text in candidates]\n"


@pytest.fixture(autouse=True)
def forgotten() -> None:
    Longest.asked.clear()
    Breaking.broken.clear()


@pytest.fixture
def testset(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    write(read_labelled_questions(), path)
    (tmp_path / "set.card.json").write_text('{"questions": 28}')
    (tmp_path / "set.card.md").write_text("# The card of <set>\n")
    return path


@dataclass(frozen=True)
class Breaking(System):
    """Likes long candidates, but breaks once in the middle of the work."""

    alone = True
    broken: ClassVar[list[int]] = []

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        if any(one.id == "q100" for one in questions) and not self.broken:
            self.broken.append(1)
            raise KeyboardInterrupt
        Longest.asked.append(len(questions))
        return [[float(len(c.text)) for c in one.candidates] for one in questions]


@dataclass(frozen=True)
class Odd(System):
    """Knows nothing of one question, and finds everything endlessly bad in another."""

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        special = {"labelled-01": math.nan, "labelled-02": -math.inf}
        return [[special.get(q.id, float(n)) for n in range(len(q.candidates))] for q in questions]


def test_a_run_stands_alone(testset: Path, tmp_path: Path) -> None:
    run = select(testset, [Longest(), Odd()], tmp_path / "run")
    testset.unlink()
    names = sorted(str(path.relative_to(run.folder)) for path in run.folder.rglob("*") if path.is_file())
    assert [name for name in names if not name.startswith("systems/")] == [
        "card.json",
        "card.md",
        "questions.jsonl",
        "selection.json",
        "timings.json",
    ]
    again = load_selection(run.folder)
    assert set(again.selected.systems) == set(run.selected.systems)
    for name in run.selected.systems:
        assert str(again.selected.scores[name]) == str(run.selected.scores[name])
    assert again.selected.questions == read_labelled_questions()
    assert run.selected.signatures["selection_sets"] == "selection_sets|factor:1.0|version:1"


def test_missing_and_infinite_scores_come_back_as_they_were(testset: Path, tmp_path: Path) -> None:
    select(testset, [Odd()], tmp_path / "run")
    [lines] = load_selection(tmp_path / "run").selected.scores.values()
    assert all(math.isnan(score) for score in lines[0])
    assert lines[1] == (-math.inf,) * 4


def test_a_system_that_has_answered_is_not_asked_again(testset: Path, tmp_path: Path) -> None:
    first = select(testset, [Longest()], tmp_path / "run", order_checks=0)
    assert first.fresh == ("selection_sets",)
    second = select(testset, [Longest(), Longest(-1.0)], tmp_path / "run", order_checks=0)
    assert second.fresh == ("selection_sets(factor=-1.0)",)
    assert Longest.asked == [28, 28]
    assert select(testset, [Longest()], tmp_path / "run").fresh == ()
    assert len(load_selection(tmp_path / "run").selected.systems) == 2
    assert load_selection(tmp_path / "run", ["selection_sets"]).selected.systems == ["selection_sets"]


def test_labels_that_come_later_do_not_ask_anybody_again(testset: Path, tmp_path: Path) -> None:
    select(testset, [Longest()], tmp_path / "run", order_checks=0)
    bare = [attach_error_labels(one, dict.fromkeys(range(4), ()), "nobody") for one in read_labelled_questions()]
    write(bare, testset)
    run = select(testset, [Longest()], tmp_path / "run", order_checks=0)
    assert run.fresh == ()
    assert not any(c.labels for one in load_selection(tmp_path / "run").selected.questions for c in one.candidates)


def test_a_system_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    write([question(f"q{n}") for n in range(150)], tmp_path / "set.jsonl")
    with pytest.raises(KeyboardInterrupt):
        select(tmp_path / "set.jsonl", [Breaking()], tmp_path / "run", order_checks=0)
    assert Longest.asked == [64]
    [part] = (tmp_path / "run" / "systems").glob(".*.part")
    part.write_bytes(part.read_bytes() + b'{"question":"q64","sco')  # as if the machine had stopped while writing
    shown: list[tuple[int, int]] = []
    run = select(tmp_path / "set.jsonl", [Breaking()], tmp_path / "run", 0, lambda *told: shown.append(told))
    assert Longest.asked == [64, 64, 22]
    assert shown == [(128, 150), (150, 150)]
    whole = select(tmp_path / "set.jsonl", [Longest()], tmp_path / "other", order_checks=0)
    assert run.selected.scores["test_select_run"] == whole.selected.scores["selection_sets"]


def test_the_same_command_gives_the_same_bytes(testset: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        select(testset, [Longest(), Odd()], tmp_path / name)
    for path in (tmp_path / "one").rglob("*.json*"):
        if path.name != "timings.json":
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_a_folder_of_other_questions_is_left_alone(testset: Path, tmp_path: Path) -> None:
    select(testset, [Longest()], tmp_path / "run", order_checks=0)
    changed = [dataclasses.replace(one, context=(Turn("Hello."),)) for one in read_labelled_questions()]
    write(changed, tmp_path / "other.jsonl")
    with pytest.raises(RejoinderError, match="is a selection run of other questions"):
        select(tmp_path / "other.jsonl", [Longest()], tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("Dear all")
    with pytest.raises(RejoinderError, match="is not empty and not a selection run"):
        select(testset, [Longest()], tmp_path / "full")
    with pytest.raises(RejoinderError, match="is a file"):
        select(testset, [Longest()], testset)


def test_a_damaged_run_is_named(testset: Path, tmp_path: Path) -> None:
    run = select(testset, [Longest()], tmp_path / "run", order_checks=0)
    [path] = (run.folder / "systems").glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(RejoinderError, match="cannot be read"):
        load_selection(run.folder)
    (run.folder / "selection.json").write_text('{"format": 99}')
    with pytest.raises(RejoinderError, match="another version"):
        load_selection(run.folder)


class Ran:
    """How a command ended."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *argv: object) -> None:
        before = sys.argv
        sys.argv = ["rejoinder", *map(str, argv)]
        self.status = 0
        try:
            cli.main()
        except SystemExit as stop:
            self.status = int(stop.code or 0)
        finally:
            sys.argv = before
        self.out, self.err = capfd.readouterr()


@pytest.fixture
def ran(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(LENGTHS)
    return lambda *argv: Ran(capfd, *argv)


def test_the_command_ranks_systems_and_says_where_the_results_are(ran: Callable[..., Ran], testset: Path) -> None:
    done = ran("select", testset, "--system", "tfidf", "--system", "./mine.py:score", "--report", "report.html")
    assert done.status == 0, done.err
    for title in ("Accuracy of selection", "Differences in accuracy", "By error label", "Selections by position"):
        assert title in done.out
    assert "Chance gives 0.250" in done.out
    assert "wrong-subject" in done.out
    assert "tfidf: tfidf|fit:None" in done.err
    page = Path("report.html").read_text()
    assert "The card of &lt;set&gt;" in page
    assert "./mine.py:score" in page
    again = ran("select", testset, "--system", "tfidf", "--system", "./mine.py:score")
    assert again.out == done.out
    assert "2 systems answered earlier" in again.err
    folder = done.err.rpartition("results: ")[2].split()[0]
    shown = ran("select", folder, "--system", "tfidf", "--format", "json")
    assert [row["system"] for row in json.loads(shown.out)[0]["rows"]] == ["tfidf"]


@pytest.mark.parametrize("form", list(FORMATS))
def test_the_tables_come_in_every_form(ran: Callable[..., Ran], testset: Path, form: str) -> None:
    done = ran(
        "select", testset, "--system", "./mine.py:score", "--system", "tfidf", "--order-checks", 0, "--format", form
    )
    assert done.status == 0, done.err
    if form == "json":
        titles = [table["title"] for table in json.loads(done.out)]
        assert titles[0] == "Accuracy of selection"
        assert titles[-1] == "Questions on which systems disagree"
        row = json.loads(done.out)[0]["rows"][0]
        assert row["accuracy"]["low"] < row["accuracy"]["value"] < row["accuracy"]["high"]


def test_one_system_alone_is_not_compared(ran: Callable[..., Ran], testset: Path) -> None:
    done = ran("select", testset, "--system", "tfidf")
    assert "Fewer than two systems answered" in done.out
    assert "Differences" not in done.out


MISTAKES: list[tuple[list[str], str]] = [
    (["select", "set.jsonl"], "no system is named"),
    (["select", "set.jsonl", "--system", "tfdif"], "did you mean 'tfidf'"),
    (["select", "set.jsonl", "--system", "tfidf", "--system", "tfidf"], "the system tfidf is named twice"),
    (["select", "nowhere.jsonl", "--system", "tfidf"], "nowhere.jsonl: no such file"),
    (["select", "items.jsonl", "--system", "tfidf"], "has no questions"),
    (["select", "twice.jsonl", "--system", "tfidf"], "question id 'q' was already used"),
    (["select", "ungraded.jsonl", "--system", "tfidf"], "has no grade"),
    (["export", "items.jsonl", "--to", "lm-eval", "-o", "out"], "has no questions"),
    (["export", "set.jsonl", "--to", "lmeval", "-o", "out"], "did you mean 'lm-eval'"),
    (["export", "set.jsonl", "--to", "inspect", "-o", "out", "--turn-end", "x"], "--turn-end is for lm-eval only"),
    (["label", "set.jsonl"], "choose what to do"),
    (["label", "--suggest"], "Missing argument 'TESTSET'"),
    (["label", "set.jsonl", "--suggest", "--from", "x.csv"], "give one or the other"),
    (["label", "set.jsonl", "--from", "x.csv"], "x.csv: cannot be read"),
]


@pytest.mark.parametrize(("argv", "said"), MISTAKES, ids=[" ".join(a)[:45] for a, _ in MISTAKES])
def test_a_mistake_is_one_line(ran: Callable[..., Ran], testset: Path, argv: list[str], said: str) -> None:
    Path("items.jsonl").write_text('{"kind": "item", "id": "i", "context": ["Hi."]}\n')
    asked = '{"kind": "question", "id": "q", "context": ["Hi."], "candidates": [%s]}\n'
    Path("twice.jsonl").write_text(2 * (asked % '{"text": "Ho.", "grade": 1}, {"text": "Hu.", "grade": 0}'))
    Path("ungraded.jsonl").write_text(asked % '{"text": "Ho."}, {"text": "Hu."}')
    done = ran(*argv)
    assert done.status == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.startswith("rejoinder: ")
    assert done.err.count("\n") == 1


def test_the_page_escapes_what_comes_from_data(tmp_path: Path) -> None:
    bad = "<script>alert('x')</script>"
    first, *rest = read_labelled_questions()
    spoiled = dataclasses.replace(
        first,
        id=bad,
        context=(Turn(bad, bad),),
        candidates=tuple(dataclasses.replace(c, text=f"{bad}{n}", source=bad) for n, c in enumerate(first.candidates)),
    )
    write([spoiled, *rest], tmp_path / "set.jsonl")
    run = select(tmp_path / "set.jsonl", [Longest(), Longest(-1.0), Odd()], tmp_path / "run")
    found = evaluate_selection(run.selected, most=50)
    page = render_selection_page(found, run.about, run.folder)
    assert bad not in page
    assert page == render_selection_page(
        evaluate_selection(load_selection(run.folder, run.selected.systems).selected, 50), run.about, run.folder
    )


def test_what_was_not_answered_is_said_with_the_accuracy_it_may_cost(testset: Path, tmp_path: Path) -> None:
    run = select(testset, [Odd()], tmp_path / "run", order_checks=0)
    [first, *_] = selection_tables(evaluate_selection(run.selected))
    [row] = first.rows
    assert row[1:4] == [27, 1, 1]
    [note] = [note for note in first.notes if "without a score" in note]
    right = run.selected.points["test_select_run"][1:].sum()
    assert note == (
        "test_select_run: left out 1 question with a candidate without a score; counted as wrong, the accuracy "
        f"would be {right / 28:.3f}."
    )


def test_published_sets_can_be_selected_from(published: Path, tmp_path: Path) -> None:
    """One right among several (SUGAR has words for grades), and five right of fifteen (DailyDialog++)."""
    run = select("dataset:dailydialogpp/dev", ["tfidf"], tmp_path / "dd", order_checks=0)
    assert len(run.selected.questions) == 1028
    assert run.selected.chance == pytest.approx(1 / 3)
    assert not evaluate_selection(run.selected).shuffled
    run = select("dataset:sugar/0/test", ["tfidf"], tmp_path / "sugar", order_checks=0)
    found: Any = evaluate_selection(run.selected)
    assert run.selected.n_clusters < len(run.selected.questions)
    assert {one.name for one in found.groups["grade"]} == {"Bad", "Acceptable", "Best"}


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_sets_give_tables_and_a_page(tmp_path: Path, n: int) -> None:
    write([question(f"q{i}") for i in range(n)], tmp_path / "set.jsonl")
    run = select(tmp_path / "set.jsonl", [Longest(), Longest(-1.0), Silent()], tmp_path / "run")
    found = evaluate_selection(run.selected)
    assert [one.system for one in found.standings][-1] == "test_select_run(word='hush')"
    for form in FORMATS.values():
        assert all(form(table) for table in selection_tables(found))
    assert "no answers" in render_selection_page(found, run.about, run.folder)


@dataclass(frozen=True)
class Silent(System):
    """Says nothing at all."""

    word: str = "quiet"

    def __str__(self) -> str:
        return "test_select_run(word='hush')"

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        return [[math.nan] * len(one.candidates) for one in questions]


def test_report_makes_the_page_and_the_tables_of_a_selection_run(testset: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    run = select(testset, [Longest()], tmp_path / "run")
    page = CliRunner().invoke(cli.program, ["report", str(run.folder), "-o", "-"])
    assert page.exit_code == 0
    assert page.output.rstrip("\n") == render_selection_page(
        evaluate_selection(run.selected), run.about, run.folder
    ).rstrip("\n")
    told = CliRunner().invoke(cli.program, ["report", str(run.folder), "--format", "csv"])
    assert "Accuracy of selection" in told.output
    wrong = CliRunner().invoke(cli.program, ["report", str(run.folder), "--aspect", "overall"])
    assert "no ratings" in str(wrong.exception)
