"""The human steps of a situated set: projects for the annotation page, sheets, and grades from what people said."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import orjson
import pytest
from annotation_projects import answer_to
from situated_seeds import axes, seeds

from rejoinder.annotation.exports import export_judgements
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.units import make_units
from rejoinder.data.inputs.seeds import read_seeds, write_seeds
from rejoinder.data.questions import find_right_candidates
from rejoinder.data.reader import stream
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.selection.sheet import read_scoring_sheet
from rejoinder.situation.build import situate
from rejoinder.situation.grades import grade_questions, grading_sheet_to_ratings, write_grading_sheet
from rejoinder.situation.projects import STEPS, write_step_project
from rejoinder.types import Candidate, Question, Rating, Turn


def answered(path: Path, format: str, raters: tuple[str, ...] = ("ann", "bob", "cem")) -> bytes:
    """What some people say on the page of a project, in a format."""
    project = read_project(path)
    store = open_store(project, str(path.with_suffix(".sqlite")))
    try:
        store.load(make_units(project))
        for name in raters:
            me = store.who(store.add_rater(name))
            assert me is not None
            while (given := store.next_unit(me)) is not None:
                answer = answer_to(project, given.unit, name)
                if project.form == "validate":
                    answer = dict.fromkeys(answer, 1)
                store.submit(me, given.id, answer, 4)
        return export_judgements(store, format).content
    finally:
        store.close()


def test_requests_become_seeds_by_way_of_people(tmp_path: Path) -> None:
    requests = [{"id": f"r{n}", "request": f"Open window {n}.", "goal": f"to cool off {n}"} for n in range(2)]
    (tmp_path / "requests.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in requests))
    given = [str(tmp_path / "requests.jsonl")]
    assert write_step_project("situation", given, tmp_path / "two.toml") == 2
    (tmp_path / "two.texts.jsonl").write_bytes(answered(tmp_path / "two.toml", "texts", ("ann",)))
    write_step_project("write", given, tmp_path / "three.toml")
    (tmp_path / "three.texts.jsonl").write_bytes(answered(tmp_path / "three.toml", "texts", ("ann", "bob")))
    write_step_project("validate", [str(tmp_path / "three.texts.jsonl")], tmp_path / "four.toml")
    (tmp_path / "four.texts.jsonl").write_bytes(answered(tmp_path / "four.toml", "texts", ("cem", "dan", "eve")))
    files = [str(tmp_path / "four.texts.jsonl"), str(tmp_path / "two.texts.jsonl")]
    shown = write_step_project("complete", files, tmp_path / "five.toml")
    assert shown == 8  # two people wrote two replies to each of two requests
    unit = make_units(read_project(tmp_path / "five.toml"))[0]
    assert unit.payload["goal"].startswith("to cool off")
    assert "The window is open." in unit.payload["initial"]["location"]
    (tmp_path / "five.texts.jsonl").write_bytes(answered(tmp_path / "five.toml", "texts", ("fay",)))
    found = read_seeds(tmp_path / "five.texts.jsonl")
    assert sorted(seed.id for seed in found)[:2] == ["r0/1", "r0/2"]
    assert all(len(seed.statements) == 12 and seed.goal.startswith("to cool off") for seed in found)


def test_seeds_can_be_looked_through(tmp_path: Path) -> None:
    write_seeds(seeds(3), tmp_path / "seeds.jsonl")
    assert write_step_project("complete", [str(tmp_path / "seeds.jsonl")], tmp_path / "look.toml") == 3
    units = make_units(read_project(tmp_path / "look.toml"))
    assert units[0].payload["initial"] == {
        "environment": "The window thing0 stands nearby.",
        "possession": "[user] owns item0 gear0.",
    }
    assert [read.polarity for read in read_seeds(tmp_path / "look.jsonl")] == ["no", "yes", "no"]


def test_a_project_must_be_toml_and_have_something_to_show(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a \.toml file"):
        write_step_project("grade", ["x"], tmp_path / "project")
    with pytest.raises(InputError, match="no file is named for the step 'grade'"):
        write_step_project("grade", [], tmp_path / "project.toml")
    assert [step.number for step in STEPS.values()] == [2, 3, 4, 5, 8]


def test_a_set_is_graded_on_the_page(tmp_path: Path) -> None:
    made = situate(seeds(8, "yes"), encode=axes)
    write(made.questions, tmp_path / "set.jsonl")
    write_step_project("grade", [str(tmp_path / "set.jsonl")], tmp_path / "grade.toml")
    project = read_project(tmp_path / "grade.toml")
    assert (project.form, project.raters_per_unit) == ("grade", 3)
    assert "reference" not in str([unit.payload for unit in make_units(project)])
    (tmp_path / "ratings.jsonl").write_bytes(answered(tmp_path / "grade.toml", "ratings"))
    found = grade_questions(made.questions, stream(tmp_path / "ratings.jsonl"), keep=True)
    assert found.facts["ratings"] == 8 * 3 * 3
    assert found.facts["raters"] == 3
    assert all(one.grade in ("Bad", "Acceptable", "Best") for q in found.questions for one in q.candidates)
    assert all(len(one.meta["ratings"]) == 3 for q in found.questions for one in q.candidates)


def question(name: str, *texts: str) -> Question:
    candidates = tuple(Candidate(text, f"c{n}", source="distractor") for n, text in enumerate(texts))
    return Question(name, (Turn("Open the window."),), candidates, meta={"goal": "to cool off", "has_bad": None})


def ratings(of: str, *rows: tuple[int, int, int]) -> list[Rating]:
    return [
        Rating(rater, "grade", float(value), f"{of}/c{n}")
        for n, row in enumerate(rows)
        for rater, value in zip(("ann", "bob", "cem"), row, strict=True)
    ]


def test_grades_are_what_most_said() -> None:
    given = [question("q", "a", "b", "c"), question("p", "a", "b", "c")]
    said = ratings("q", (2, 2, 1), (0, 0, 0), (1, 1, 2)) + ratings("p", (2, 2, 2), (1, 1, 1), (1, 1, 0))
    found = grade_questions(given, said, "majority")
    assert [[one.grade for one in q.candidates] for q in found.questions] == [
        ["Best", "Bad", "Acceptable"],
        ["Best", "Acceptable", "Acceptable"],
    ]
    assert [q.meta["has_bad"] for q in found.questions] == [True, False]
    assert [sorted(find_right_candidates(q)) for q in found.questions] == [[0], [0]]
    assert found.facts["counts"]["candidates graded Acceptable"] == 3
    # All pairs of ratings by hand would be long; the paper's own figure is .484, and here people nearly agree.
    assert 0.5 < found.facts["alpha"] < 1.0
    ordinal = grade_questions(given, said)
    assert [one.grade for one in ordinal.questions[0].candidates] == ["Best", "Bad", "Acceptable"]


def test_questions_of_one_grade_or_without_one_must_be_rated_again() -> None:
    given = [question("same", "a", "b"), question("none", "a", "b"), question("good", "a", "b")]
    said = ratings("same", (1, 1, 1), (1, 1, 1)) + ratings("none", (2, 2, 2)) + ratings("good", (2, 2, 2), (0, 0, 0))
    found = grade_questions(given, said, "majority")
    assert [q.id for q in found.questions] == ["good"]
    assert found.again == ("same", "none")
    assert found.facts["again"] == ["same", "none"]
    kept = grade_questions(given, said, "majority", keep=True)
    assert [q.meta["has_bad"] for q in kept.questions] == [False, None, True]


def test_ratings_that_are_no_grades_are_an_error() -> None:
    given = [question("q", "a", "b")]
    with pytest.raises(InputError, match=r"is 3; grades must be 0 \(Bad\), 1 \(Acceptable\) or 2 \(Best\)"):
        grade_questions(given, [Rating("ann", "grade", 3.0, "q/c0")])
    with pytest.raises(InputError, match="there are no ratings of the aspect 'grade'"):
        grade_questions(given, [Rating("ann", "fluency", 1.0, "q/c0"), Rating("ann", "grade", 1.0, "else/c0")])
    with pytest.raises(InputError, match="a mean is not a grade"):
        grade_questions(given, [], "mean")


def test_a_sheet_shows_the_situation_and_comes_back_as_grades(tmp_path: Path) -> None:
    made = situate(seeds(6, "yes"), encode=axes)
    path = tmp_path / "sheet.csv"
    assert write_grading_sheet(made.questions, path) == 18
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert rows[0][-1] == "score 3"
    assert "goal: to enjoy" in rows[1][2]
    assert rows[1][2].count("situation: ") == len(made.questions[0].situation)
    for n, row in enumerate(rows[1:]):
        row[4:] = [str(n % 3)] * 3
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")
    found = grade_questions(made.questions, grading_sheet_to_ratings(read_scoring_sheet(path, made.questions)))
    assert [one.grade for one in found.questions[0].candidates] == ["Bad", "Acceptable", "Best"]
    assert found.facts["alpha"] == 1.0
