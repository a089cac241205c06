"""Exports of a test set: their content, and that the programs they are for find what we find, question by question."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.errors import RejoinderError
from rejoinder.selection.exports import ExportSettings, export, list_export_names, make_task_name
from rejoinder.selection.labels import read_labelled_questions
from rejoinder.selection.result import SelectionResult
from rejoinder.systems import parse_system
from rejoinder.types import Candidate, Question, Statement, Turn

RUNNER = Path(__file__).with_name("harness_run.py")


def question(**changes: Any) -> Question:
    made = Question(
        "q1",
        (Turn("Is it\n raining?"), Turn("A little.")),
        (Candidate("Take a coat.", grade="true"), Candidate("  I ate\tsoup. ", grade="false")),
    )
    return dataclasses.replace(made, **changes)


def test_a_task_for_the_harness_is_a_yaml_a_jsonl_and_a_reader(tmp_path: Path) -> None:
    made = export([question()], "lm-eval", tmp_path / "out", ExportSettings("rain"))
    assert [path.name for path in made] == ["rain.yaml", "rain.jsonl", "rain_data.py"]
    assert json.loads(made[1].read_text()) == {
        "id": "q1",
        "query": "Is it raining?\nA little.",
        "choices": ["Take a coat.", "I ate soup."],
        "gold": 0,
    }
    assert 'target_delimiter: "\\n"' in made[0].read_text()
    assert 'task: "rain"\n' in made[0].read_text()


def test_a_turn_may_end_with_a_token_of_the_model(tmp_path: Path) -> None:
    made = export([question()], "lm-eval", tmp_path, ExportSettings("rain", "<|end|>"))
    row = json.loads(made[1].read_text())
    assert row["query"] == "Is it\n raining?<|end|>A little.<|end|>"
    assert row["choices"] == ["Take a coat.", "I ate\tsoup."]
    assert 'target_delimiter: ""' in made[0].read_text()


def test_several_right_candidates_make_every_target_a_list(tmp_path: Path) -> None:
    three = (*question().candidates, Candidate("Yes, take an umbrella.", grade="true"))
    made = export([question(), question(id="q2", candidates=three)], "lm-eval", tmp_path, ExportSettings("rain"))
    assert [json.loads(line)["gold"] for line in made[1].read_text().splitlines()] == [[0], [0, 2]]
    made = export([question(), question(id="q2", candidates=three)], "inspect", tmp_path, ExportSettings("rain"))
    assert [json.loads(line)["target"] for line in made[1].read_text().splitlines()] == ["A", ["A", "C"]]
    assert "any_right()" in made[0].read_text()


def test_a_sample_for_inspect_shows_situation_and_speakers(tmp_path: Path) -> None:
    asked = question(
        context=(Turn("Shall we go?", "Mia"), Turn("Where?")), situation=(Statement("It is late."),), dialogue="d7"
    )
    task, rows = export([asked], "inspect", tmp_path, ExportSettings("rain"))
    row = json.loads(rows.read_text())
    assert row["input"] == (
        "Situation:\n- It is late.\n\nMia: Shall we go?\nB: Where?\n\n"
        "Which of these is the best next reply in the conversation?"
    )
    assert row["metadata"] == {"right": [0], "dialogue": "d7"}
    compile(task.read_text(), "rain.py", "exec")
    assert "scorer=choice()" in task.read_text()


def test_names_are_made_of_what_a_file_is_called() -> None:
    assert list_export_names() == ["inspect", "lm-eval"]
    assert make_task_name("folder/my-set.v2.jsonl.gz") == "my_set_v2"
    assert make_task_name("dataset:dailydialogpp/test") == "dailydialogpp_test"
    assert make_task_name("2024.jsonl") == "set_2024"
    assert make_task_name("import.jsonl") == "set_import"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("my task",), "cannot be called 'my task'"),
        (("class",), "cannot be called 'class'"),
        (("task", ""), "turn_end must not be empty"),
    ],
)
def test_settings_that_no_program_takes_are_refused(settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(RejoinderError, match=said):
        ExportSettings(*settings)


def test_a_question_without_a_right_candidate_is_not_exported(tmp_path: Path) -> None:
    same = tuple(dataclasses.replace(one, grade="true") for one in question().candidates)
    with pytest.raises(RejoinderError, match="q1"):
        export([question(candidates=same)], "lm-eval", tmp_path / "out", ExportSettings("rain"))
    assert not (tmp_path / "out").exists()


def several_right() -> list[Question]:
    """The labelled questions with another candidate right as well in every second of them."""
    found = []
    for number, one in enumerate(read_labelled_questions()):
        wrong = next(place for place, c in enumerate(one.candidates) if c.grade == "false")
        changed = [
            dataclasses.replace(c, grade="true") if place == wrong and number % 2 else c
            for place, c in enumerate(one.candidates)
        ]
        found.append(dataclasses.replace(one, candidates=tuple(changed)))
    return found


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    from tiny_language_model import write_language_model

    folder = tmp_path_factory.mktemp("tiny")
    write_language_model(folder)
    return folder


def run(program: str, folder: Path, model: Path, *tasks: str) -> dict[str, list[dict[str, Any]]]:
    """What a program finds in tasks of a folder, by task."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "HF_DATASETS_CACHE": str(folder / "hub" / "sets")}
    done = subprocess.run(
        [sys.executable, str(RUNNER), program, str(model), *tasks],
        capture_output=True,
        text=True,
        env={**os.environ, **offline},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW ")]
    return {task: [row for row in rows if row["task"] == task] for task in tasks}


SETS = {"one_right": read_labelled_questions, "several_right": several_right}


@pytest.fixture(scope="module")
def by_harness(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> dict[str, list[dict[str, Any]]]:
    if importlib.util.find_spec("lm_eval") is None:
        pytest.skip("lm_eval is not installed")
    folder = tmp_path_factory.mktemp("harness")
    for name, questions in SETS.items():
        export(questions(), "lm-eval", folder, ExportSettings(name, "<|end|>"))
    export(read_labelled_questions(), "lm-eval", folder, ExportSettings("lines"))
    return run("lm-eval", folder, tiny, *SETS, "lines")


@pytest.fixture(scope="module")
def by_inspect(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> dict[str, list[dict[str, Any]]]:
    if importlib.util.find_spec("inspect_ai") is None:
        pytest.skip("inspect_ai is not installed")
    folder = tmp_path_factory.mktemp("inspect")
    for name, questions in SETS.items():
        export(questions(), "inspect", folder, ExportSettings(name))
    return run("inspect", folder, tiny, *SETS)


def ours(questions: list[Question], model: Path, join: str) -> SelectionResult:
    system = parse_system(f"causal(model={str(model)!r}, join={join!r}, normalise='none')")
    return SelectionResult(questions, {"tiny": [tuple(line) for line in system.score(questions)]})


def of_lengths(selected: SelectionResult, length: Callable[[str], int]) -> list[float]:
    """Our points where every sum is divided by the candidate's length."""
    divided = [
        tuple(score / length(c.text) for score, c in zip(line, q.candidates, strict=True))
        for line, q in zip(selected.scores["tiny"], selected.questions, strict=True)
    ]
    points: list[float] = SelectionResult(selected.questions, {"tiny": divided}).points["tiny"].tolist()
    return points


@pytest.mark.parametrize("name", list(SETS))
def test_the_harness_finds_what_we_find_where_turns_end_in_a_token(
    by_harness: dict[str, list[dict[str, Any]]], tiny: Path, name: str
) -> None:
    questions, theirs = SETS[name](), by_harness[name]
    selected = ours(questions, tiny, "eos")
    assert [row["id"] for row in theirs] == [one.id for one in questions]
    for row, line in zip(theirs, selected.scores["tiny"], strict=True):
        assert row["sums"] == pytest.approx(line, abs=1e-3)
    assert [row["acc"] for row in theirs] == selected.points["tiny"].tolist()
    assert [row["acc_norm"] for row in theirs] == of_lengths(selected, len)
    assert [row["acc_bytes"] for row in theirs] == of_lengths(selected, lambda text: len(text.encode()))
    assert 0 < sum(row["acc"] for row in theirs) < len(theirs)


def test_the_harness_finds_what_we_find_with_lines(by_harness: dict[str, list[dict[str, Any]]], tiny: Path) -> None:
    selected = ours(read_labelled_questions(), tiny, "newline")
    assert [row["acc"] for row in by_harness["lines"]] == selected.points["tiny"].tolist()
    for row, line in zip(by_harness["lines"], selected.scores["tiny"], strict=True):
        # The harness counts the line break before a choice too, which is the same for all choices of a question.
        apart = [theirs - mine for theirs, mine in zip(row["sums"], line, strict=True)]
        assert apart == pytest.approx([apart[0]] * len(apart), abs=1e-3)


@pytest.mark.parametrize("name", list(SETS))
def test_inspect_finds_what_we_find(by_inspect: dict[str, list[dict[str, Any]]], tiny: Path, name: str) -> None:
    questions, theirs = SETS[name](), by_inspect[name]
    selected = ours(questions, tiny, "newline")
    assert [row["id"] for row in theirs] == [one.id for one in questions]
    assert [row["acc"] for row in theirs] == selected.points["tiny"].tolist()
    assert 0 < sum(row["acc"] for row in theirs) < len(theirs)
