"""``rejoinder rank``: orders, files, run folders, tables in every form, and every mistake that can be made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rejoinder import cli
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.selection.ranking.rank import rank
from rejoinder.systems import System
from rejoinder.types import Candidate, Question, Statement, Turn
from tests.ranking_sets import Reader, situated

LENGTHS = "def score(context, candidates):\n    return [float(text[-1]) for text in candidates]\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(LENGTHS)
    questions = [situated("a", request="Sing."), situated("b", "abB", "Dance."), situated("c", "Baa", "Dance.")]
    write(questions, tmp_path / "set.jsonl")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.program, ["rank", *arguments])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_candidates_come_in_order_and_grades_are_evaluated(home: Path) -> None:
    done = run("set.jsonl", "--ranker", "./mine.py:score", "--ranker", "tfidf(situation='u+S')", "-o", "run")
    assert done.exit_code == 0, done.output
    found = lines(home / "run" / "u+S" / "ranked.jsonl")
    assert len(found) == 6
    assert found[0] == {
        "question": "a",
        "ranker": "./mine.py:score",
        "input": "u+S",
        "order": [2, 1, 0],
        "texts": ["a reply 2", "a reply 1", "a reply 0"],
        "scores": [0.0, 1.0, 2.0],
        "used": None,
    }
    assert found[3]["used"] == [[0, 1]] * 3, "every statement of it shares a word with each candidate"
    assert "Rankers, input u+S" in done.stdout
    assert "Left out: 1 question with no Bad candidate." in done.stdout
    assert "Statements read" in done.stdout
    again = run("set.jsonl", "--ranker", "./mine.py:score", "-o", "run", "--all-questions")
    assert "(rankings computed earlier: 1 of 1)" in again.stderr
    assert "Left out" not in again.stdout


def test_several_inputs_are_ranked_one_after_another(home: Path) -> None:
    done = run("set.jsonl", "--ranker", "./mine.py:score", "--input", "u", "--input", "u+S1", "--write", "out.jsonl")
    assert done.exit_code == 0, done.output
    assert [line["input"] for line in lines(home / "out.jsonl")] == ["u"] * 3 + ["u+S1"] * 3
    (folder,) = (home / "runs").iterdir()
    assert json.loads((folder / "ranking.json").read_text())["inputs"] == ["u", "u+S1"]
    asked = lines(folder / "u+S1" / "questions.jsonl")
    assert [len(one["situation"]) for one in asked] == [1, 1, 1], "a ranker sees no more than it is shown"


def test_the_order_can_go_to_standard_output(home: Path) -> None:
    done = run("set.jsonl", "--ranker", "./mine.py:score", "--write", "-")
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == ["a", "b", "c"]


def test_tables_come_in_every_form(home: Path) -> None:
    for form in ("markdown", "html", "latex", "csv", "json"):
        done = run("set.jsonl", "--ranker", "./mine.py:score", "--format", form, "-o", "run")
        assert done.exit_code == 0, done.output
        assert "Precision@1" in done.stdout
    json.loads(run("set.jsonl", "--ranker", "./mine.py:score", "--format", "json", "-o", "run").stdout)


def test_distractors_make_a_curve(home: Path) -> None:
    expanded = [{"text": f"s{n}", "category": "time", "relevant": n == 0} for n in range(16)]
    meta = {"expanded": expanded, "distractors": {str(n): list(range(1, n + 1)) for n in (5, 10, 15)}}
    questions = [
        Question(q.id, q.context, q.candidates, q.situation, meta=meta)
        for q in (situated("a", request="x"), situated("b", request="y"))
    ]
    write(questions, home / "more.jsonl")
    inputs = [part for given in ("u+S1", "5", "10", "15") for part in ("--input", given)]
    done = run("more.jsonl", "--ranker", "./mine.py:score", *inputs, "--show", "0")
    assert done.exit_code == 0, done.output
    assert "By number of distractors" in done.stdout
    assert "15 distractors" in done.stdout


def test_what_training_had_is_counted_and_broken_down(home: Path) -> None:
    write([situated("a", request="Sing!"), situated("z", request="Go.")], home / "train.jsonl")
    done = run("set.jsonl", "--ranker", "./mine.py:score", "--train", "train.jsonl", "--show", "0")
    assert done.exit_code == 0, done.output
    assert "By seen in training" in done.stdout
    assert "the request is in training" in done.stdout


def test_questions_without_grades_are_ordered_and_not_evaluated(home: Path) -> None:
    write([situated("a", "---")], home / "plain.jsonl")
    done = run("plain.jsonl", "--ranker", "./mine.py:score")
    assert done.exit_code == 0, done.output
    assert "a reply 2" in done.stdout
    assert "Rankers" not in done.stdout
    assert "nothing to evaluate: 1 with a candidate without a grade" in done.stderr


def test_odd_questions_have_a_documented_result(home: Path) -> None:
    odd = [
        Question("one", (Turn("hi"),), (Candidate("alone 1", grade="Best"),)),
        Question("equal", (Turn("hi"),), (Candidate("x 1", grade="Bad"), Candidate("y 2", grade="Bad"))),
        Question("silent", (Turn("hi"),), (Candidate("x 1", grade="Bad"), Candidate("y 2", grade="Best"))),
        Question(
            "long",
            (Turn("hi"),),
            (Candidate("x 1", grade="Bad"), Candidate("y 2", grade="Best")),
            (Statement("word " * 5000, "a category of my own", True), Statement("no", "time", False)),
        ),
    ]
    write(odd, home / "odd.jsonl")
    done = run("odd.jsonl", "--ranker", "./mine.py:score", "--ranker", "tfidf(situation='u+S', weights='smooth')")
    assert done.exit_code == 0, done.output
    assert "Left out: 1 question with one candidate only." in done.stdout
    assert "Left out: 1 question with one grade for all candidates." in done.stdout
    assert "1.000" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 500, "a long text is shortened in a table"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.jsonl", "--ranker", "tfidf"), "no such file"),
        (("set.jsonl", "--ranker", "tfidfff"), "did you mean 'tfidf'"),
        (("set.jsonl", "--ranker", "tfidf", "--ranker", "tfidf"), "named twice"),
        (("set.jsonl", "--ranker", "tfidf", "--input", "u+S2"), "no input is called 'u+S2'"),
        (("set.jsonl", "--ranker", "tfidf", "--input", "5"), "no expanded situation with 5 distractors"),
        (("set.jsonl", "--ranker", "tfidf", "--train", "none.jsonl"), "no such file"),
        (("talk.jsonl", "--ranker", "tfidf"), "has no questions"),
        (("bare.jsonl", "--ranker", "tfidf", "--input", "u+S1"), "its statements are not marked as relevant or not"),
        (("set.jsonl", "--ranker", "tfidf", "-o", "mine.py"), "mine.py"),
    ],
)
def test_every_mistake_is_told_in_a_sentence(home: Path, arguments: tuple[str, ...], told: str) -> None:
    (home / "talk.jsonl").write_text('{"kind": "dialogue", "id": "d", "turns": ["hi"]}\n')
    write([Question("q", (Turn("hi"),), (Candidate("x"),), (Statement("s"),))], home / "bare.jsonl")
    done = CliRunner().invoke(cli.program, ["rank", *arguments])
    assert done.exit_code != 0
    assert isinstance(done.exception, InputError | SpecError | RunError | SystemExit), done.exception
    assert told in f"{done.exception} {done.output}"


@dataclass(frozen=True)
class Invents(System):
    """Says that it read statements that are not there."""

    places: tuple[int, ...] = (7,)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        return [[0.0] * len(question.candidates) for question in questions]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        return [[self.places] * (len(question.candidates) if self.places else 0) for question in questions]


def test_a_ranker_must_tell_what_it_read_truly(home: Path) -> None:
    with pytest.raises(InputError, match="read a statement that question a does not have"):
        rank("set.jsonl", [Invents()], ["u+S"], home / "one")
    with pytest.raises(InputError, match="does not say which statements it read for each candidate"):
        rank("set.jsonl", [Invents(())], ["u+S"], home / "two")


def test_rankers_of_ones_own_can_tell_what_they_read(home: Path) -> None:
    found = rank("set.jsonl", [Reader(2)], ["u+S"], home / "run")
    assert found.ranked["u+S"].used["ranking_sets(read=2)"][0] == [[0, 1]] * 3
    again = rank("set.jsonl", [Reader(2)], ["u+S", "u"], home / "run")
    assert again.fresh == 1
    assert again.ranked["u"].used["ranking_sets(read=2)"][0] == [[]] * 3


def test_a_run_of_select_is_not_written_over(home: Path) -> None:
    (home / "run").mkdir()
    (home / "run" / "selection.json").write_text("{}")
    with pytest.raises(RunError, match="is a run of rejoinder select"):
        rank("set.jsonl", [Reader()], ["u"], home / "run")
