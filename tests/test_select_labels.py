"""Error labels: the rules on sentences, suggestions that stay suggestions, and labels from people in every way."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rejoinder import cli
from rejoinder.annotation.exports import export_judgements
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.units import make_units
from rejoinder.data.collection import collect, read_files
from rejoinder.data.writer import write
from rejoinder.errors import RejoinderError
from rejoinder.selection.breakdown import break_down_accuracy, by_suggestion
from rejoinder.selection.label_files import make_label_records, make_label_sheet, read_label_file
from rejoinder.selection.label_rules import find_label_reasons, measure_suggestions, suggest_labels
from rejoinder.selection.labels import (
    LABELS,
    accept_suggestions,
    candidate_response_id,
    check_error_labels,
    describe_labelled_set,
    find_false_places,
    read_labelled_questions,
)
from rejoinder.selection.result import SelectionResult
from rejoinder.text.english.grammar import count_negations, find_expected_subject, find_subject, find_tense
from rejoinder.types import Question
from tests.annotation_projects import project_of


@pytest.mark.parametrize(
    ("text", "whom"),
    [
        ("I'll be finished soon.", "speaker"),
        ("Well, then we go home.", "speaker"),
        ("Could he not focus on that?", "others"),
        ("You are to be finished very soon.", "hearer"),
        ("Do not lose your focus!", "hearer"),
        ("Give me the key.", "hearer"),
        ("Let's go.", "speaker"),
        ("The man said that I was late.", None),
        ("It rains.", None),
        ("Water costs a lot.", None),
        ("Of course. They know.", "others"),
        ("", None),
    ],
)
def test_the_subject_is_told_by_pronouns_and_word_order(text: str, whom: str | None) -> None:
    assert find_subject(text) == whom


def test_a_question_says_whom_its_answer_is_about() -> None:
    assert find_expected_subject("Good. Do you like it?") == "speaker"
    assert find_expected_subject("Am I late?") == "hearer"
    assert find_expected_subject("Does she know?") == "others"
    assert find_expected_subject("You like it.") is None


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("I watered it.", "past"),
        ("She stopped there.", "past"),
        ("They were late.", "past"),
        ("It cooled down.", "past"),
        ("I'll call her.", "future"),
        ("We're going to leave.", "future"),
        ("He likes tea.", "present"),
        ("I want to know.", "present"),
        ("Give me that.", "present"),
        ("I would like that.", None),
        ("We have been there.", None),
        ("On Monday.", None),
        ("", None),
    ],
)
def test_the_tense_is_that_of_the_first_verb_that_shows_one(text: str, when: str | None) -> None:
    assert find_tense(text) == when


def test_an_answer_no_is_no_denial() -> None:
    assert count_negations("No, I get off at York.") == 0
    assert count_negations("I don't know nobody.") == 2


# After the examples in the paper's Tables 4, 9 and 10, in words of our own.
LIKE_THE_PAPERS = [
    ("Stop that game now!", "Mum, I'll be ready soon.", "You have to be ready soon."),
    ("And what are you doing tonight?", "I'm at my aunt's house.", "We were at my cousin's house."),
    ("You should stay in bed today.", "Sure, I will.", "Sure, sure, I..."),
]


@pytest.mark.parametrize(("last", "truth", "false"), LIKE_THE_PAPERS, ids=["subject", "tense", "insufficient"])
def test_the_rules_find_what_the_paper_shows(last: str, truth: str, false: str, request: Any) -> None:
    name = request.node.callspec.id
    label = {"subject": "wrong-subject", "tense": "wrong-tense"}.get(name, name)
    assert list(find_label_reasons([last], truth, false)) == [label]


@pytest.mark.parametrize(
    ("truth", "false", "because"),
    [
        ("Yes, the shop is open today.", "No, the shop is open today.", "it answers no, the true reply yes"),
        (
            "The museum opens at nine.",
            "The museum never opens.",
            "it denies what was said: 'The museum opens at nine.'",
        ),
        ("Take the red bag.", "Take the green bag.", "it says green, and red was said"),
    ],
)
def test_a_contradiction_is_told_with_its_reason(truth: str, false: str, because: str) -> None:
    assert find_label_reasons(["Which museum, and which bag?"], truth, false)["inconsistent"] == because


def test_what_is_not_near_to_anything_gets_no_label() -> None:
    assert find_label_reasons(["Where is he?"], "I saw him at the station.", "You sold the car.") == {}
    assert find_label_reasons(["Where is he?"], "I saw him there.", "You saw him there. He was with his dog.") == {}


def test_a_piece_of_the_true_reply_says_too_little() -> None:
    assert find_label_reasons(["What happened?"], "Our old bus broke down near the bridge.", "The bridge.") == {
        "insufficient": "it is a small part of the true reply"
    }
    assert find_label_reasons(["Is it open?"], "Of course it is.", "Of course.") == {}


def test_without_a_context_the_rules_still_work() -> None:
    assert find_label_reasons([], "I watered the old fern.", "He watered the old fern.") == {
        "wrong-subject": "its subject is somebody else; that of the true reply is the speaker"
    }
    assert find_label_reasons([], "¿Qué?", "...") == {"insufficient": "it breaks off"}


def test_suggestions_stay_apart_from_labels_until_they_are_accepted() -> None:
    [one] = [q for q in read_labelled_questions() if q.id == "labelled-09"]
    bare = dataclasses.replace(one, candidates=tuple(dataclasses.replace(c, labels=()) for c in one.candidates))
    told = suggest_labels(bare)
    assert not any(c.labels for c in told.candidates)
    by_text = {c.text: c.meta for c in told.candidates}
    assert by_text["You woke up four times."]["suggested_labels"] == ["wrong-subject"]
    assert "somebody else" in by_text["You woke up four times."]["suggested_because"]["wrong-subject"]
    assert "suggested_labels" not in by_text["Yes, she woke us up four times."]
    assert suggest_labels(told) == told
    taken = {c.text: c for c in accept_suggestions(told).candidates}["You woke up four times."]
    assert taken.labels == ("wrong-subject",)
    assert taken.meta["labelled_by"] == "rules, accepted"
    assert "suggested_labels" not in taken.meta
    scores = {"s": [tuple(float(n) for n in range(4))]}
    assert {group.name for group in break_down_accuracy(SelectionResult([told], scores), by_suggestion)} == {
        "wrong-subject"
    }


def test_labels_that_people_gave_are_not_overwritten_by_suggestions() -> None:
    [one] = [q for q in read_labelled_questions() if q.id == "labelled-02"]
    assert [c.labels for c in accept_suggestions(suggest_labels(one)).candidates] == [c.labels for c in one.candidates]


def test_the_measured_set_is_ours_and_halved() -> None:
    assert "Written for this package" in describe_labelled_set()
    halves = [read_labelled_questions(split) for split in ("valid", "test")]
    assert [len(half) for half in halves] == [14, 14]
    assert len(read_labelled_questions()) == 28
    false = [q.candidates[place] for q in read_labelled_questions() for place in find_false_places(q)]
    assert len(false) == 84
    assert all(check_error_labels(c.labels, "ours") == c.labels for c in false)
    given = Counter(label for c in false for label in c.labels)
    assert min(given[label] for label in LABELS) >= 13
    assert sum(not c.labels for c in false) == 20


def test_the_rules_are_as_good_on_our_examples_as_the_page_says() -> None:
    """Golden: what this package's rules gave when they were written; a rule that changes must change the docs too."""
    page = (Path(__file__).parent.parent / "docs" / "selecting.md").read_text()
    for one in measure_suggestions(read_labelled_questions("test")):
        assert one.n == 42
        row = f"| `{one.label}` | {one.suggested} | {one.given} | {_shown(one.precision)} | {_shown(one.recall)} |"
        assert row in page


def _shown(estimate: Any) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def test_precision_and_recall_are_counted_by_hand() -> None:
    found = {one.label: one for one in measure_suggestions(read_labelled_questions("test"))}
    assert (found["wrong-subject"].suggested, found["wrong-subject"].given) == (9, 10)
    assert found["wrong-subject"].precision.value == 1.0
    assert found["wrong-subject"].recall.value == pytest.approx(9 / 10)
    assert found["inconsistent"].recall.value == pytest.approx(2 / 11)
    nothing = measure_suggestions([q for q in read_labelled_questions() if q.id == "labelled-22"])
    assert {one.label: one.given for one in nothing} == {
        "inconsistent": 1,
        "insufficient": 1,
        "wrong-subject": 1,
        "wrong-tense": 0,
    }


def some_questions() -> list[Question]:
    """Three questions, unlabelled."""
    return [
        dataclasses.replace(q, candidates=tuple(dataclasses.replace(c, labels=()) for c in q.candidates))
        for q in read_labelled_questions()[:3]
    ]


def judged_by_three(questions: list[Question], tmp_path: Path, form: str) -> Path:
    """What three raters say through the annotation page's store: the first candidate twice wrong-tense, others none."""
    data = tmp_path / "people.jsonl"
    write(make_label_records(questions), data)
    project = dataclasses.replace(project_of("errors"), labels=LABELS, data=(str(data),))
    store = open_store(project, str(tmp_path / "people.sqlite"))
    store.load(make_units(project, collect(read_files([data]))))
    wanted = candidate_response_id(questions[0], find_false_places(questions[0])[0])
    for rater in range(3):
        for unit in store.units():
            [field] = list_fields(project, unit)
            [reply] = unit.hidden["replies"].values()
            labels = ["wrong-tense", "inconsistent"] if rater == 0 else ["wrong-tense"] if rater == 1 else ["none"]
            answer = {field.name: labels if reply["response"] == wanted else ["none"]}
            store.record(f"rater-{rater}", unit.id, answer, seconds=3.0)
    path = tmp_path / f"said.{form}"
    path.write_bytes(export_judgements(store, {"jsonl": "ratings", "csv": "csv"}[form]).content)
    store.close()
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_labels_come_back_from_the_annotation_page_by_majority(tmp_path: Path, form: str) -> None:
    questions = some_questions()
    found = read_label_file(questions, judged_by_three(questions, tmp_path, form))
    assert found.judged == 9
    assert found.label_counts == {"wrong-tense": 1, "none": 8}
    first = found.questions[0].candidates[find_false_places(questions[0])[0]]
    assert first.labels == ("wrong-tense",)
    assert first.meta["labelled_by"] == "people (3 a candidate)"
    assert sum(len(c.labels) for q in found.questions for c in q.candidates) == 1


def test_the_project_of_the_page_asks_for_these_labels(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "selecting.md").read_text()
    (tmp_path / "errors.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    write(make_label_records(some_questions()), tmp_path / "people.jsonl")
    project = read_project(tmp_path / "errors.toml")
    assert project.labels == LABELS
    assert len(make_units(project)) == 9


def test_labels_come_back_from_a_spreadsheet(tmp_path: Path) -> None:
    questions = [suggest_labels(one) for one in some_questions()]
    rows = list(csv.DictReader(io.StringIO(make_label_sheet(questions).decode())))
    assert len(rows) == 9
    assert rows[0]["context"].startswith("A: Did you water the plants")
    assert {row["suggested"] for row in rows} >= {"insufficient", "wrong-tense", ""}
    rows[0]["labels"] = "wrong-tense; wrong-subject"
    rows[1]["labels"] = " none "
    path = tmp_path / "sheet.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = read_label_file(questions, path)
    place = find_false_places(questions[0])[0]
    assert found.questions[0].candidates[place].labels == ("wrong-subject", "wrong-tense")
    assert "suggested_labels" not in found.questions[0].candidates[place].meta


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            "question,candidate,labels\nq,labelled-01/false-1,wrong-tence\n",
            "line 2: .*did you mean 'wrong-tense'",
        ),
        ("a.csv", "question,candidate,labels\nq,elsewhere/1,wrong-tense\n", "has no candidate 'elsewhere/1'"),
        ("a.csv", "unit,rater,value\nu,r,5\n", "no column 'response'"),
        ("a.csv", 'response,rater,value\nlabelled-01/false-1,r,"[oops"\n', "not a list of labels"),
        ("a.jsonl", '{"kind": "rating", "rater": "r", "aspect": "good", "value": 1, "response": "x"}', "found: 'good'"),
        ("a.jsonl", '{"kind": "item", "id": "i", "context": []}', "it has no ratings"),
    ],
)
def test_a_file_that_holds_no_labels_is_named(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(RejoinderError, match=said):
        read_label_file(some_questions(), tmp_path / name)


def ran(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *argv: object) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["rejoinder", *map(str, argv)])
    cli.main()
    out, err = capfd.readouterr()
    return out, err


def test_the_command_suggests_accepts_hands_out_and_reads_back(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write(some_questions(), "set.jsonl")
    _, err = ran(capfd, monkeypatch, "label", "set.jsonl", "--suggest", "-o", "suggested.jsonl")
    assert "9 false candidates; suggestions: " in err
    _, err = ran(capfd, monkeypatch, "label", "suggested.jsonl", "--accept", "-o", "accepted.jsonl")
    assert "; labels: " in err
    ran(capfd, monkeypatch, "label", "set.jsonl", "--suggest", "--for-people", "sheet.csv")
    assert "wrong-tense" in Path("sheet.csv").read_text()
    ran(capfd, monkeypatch, "label", "set.jsonl", "--for-people", "people.jsonl")
    assert len(read_files([Path("people.jsonl")]).responses) == 9
    out, err = ran(capfd, monkeypatch, "label", "set.jsonl", "--from", "sheet.csv")
    assert "9 candidates judged by people" in err
    assert len(out.splitlines()) == 3
    out, _ = ran(capfd, monkeypatch, "label", "--measure", "--format", "json")
    assert [table["title"].rpartition(", ")[2] for table in json.loads(out)] == ["reported on", "developed on"]
    out, _ = ran(capfd, monkeypatch, "label", "accepted.jsonl", "--measure")
    assert "counts as one that people checked" in out
