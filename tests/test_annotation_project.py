"""The project file: every key is read, and what is wrong is told in one sentence that names the key."""

from __future__ import annotations

import string
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import NOTICE, Project
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.units import make_units
from rejoinder.errors import InputError, RejoinderError

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "annotation" / "project.toml"


def project(tmp_path: Path, text: str, name: str = "p.toml") -> Project:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_project(path)


def test_the_example_is_a_project_with_units() -> None:
    found = read_project(EXAMPLE)
    units = make_units(found)
    assert found.raters_per_unit == 3
    assert [a.name for a in found.aspects] == ["appropriate", "on-topic"]
    assert {kind: sum(u.kind == kind for u in units) for kind in ("unit", "gold", "attention", "exercise")} == {
        "unit": 191,
        "gold": 1,
        "attention": 1,
        "exercise": 2,
    }


def test_a_short_file_has_the_defaults_of_its_form(tmp_path: Path) -> None:
    for form, defaults in FORMS.items():
        found = project(tmp_path, f'form = "{form}"\ndata = "x.jsonl"')
        assert found.aspects == defaults.aspects
        assert found.raters_per_unit == defaults.raters_per_unit
        assert (found.name, found.title, found.notice) == ("p", "p", NOTICE)
        assert found.data == (str(tmp_path / "x.jsonl"),)
        assert found.database == str(tmp_path / "p.sqlite")
        assert not found.redact


def test_ssrem_asks_its_two_questions_on_five_points_and_chosen_scores_from_0_for_ungrammatical() -> None:
    rate, candidates = FORMS["rate"], FORMS["candidates"]
    assert [(a.name, [o.value for o in a.options]) for a in rate.aspects] == [
        ("appropriate", [1, 2, 3, 4, 5]),
        ("on-topic", [1, 2, 3, 4, 5]),
    ]
    assert [o.value for o in candidates.aspects[0].options] == [0, 1, 2, 3, 4, 5]
    assert candidates.aspects[0].options[0].anchor == "ungrammatical"
    assert [o.label for o in FORMS["grade"].aspects[0].options] == ["Bad", "Acceptable", "Best"]
    assert [a.name for a in FORMS["situation"].aspects] == [
        *("location", "possession", "time", "date", "behavior", "environment")
    ]


def test_scales_of_numbers_and_of_words(tmp_path: Path) -> None:
    text = """
form = "rate"
data = "x.jsonl"
[[aspects]]
name = "fluent"
question = "Is it fluent?"
low = -1
high = 1
anchors = { -1 = "no", 1 = "yes" }
[[aspects]]
name = "kind"
question = "Is it kind?"
words = ["Rude", "Neutral", "Kind"]
"""
    fluent, kind = project(tmp_path, text).aspects
    assert [(o.value, o.label, o.anchor) for o in fluent.options] == [(-1, "-1", "no"), (0, "0", ""), (1, "1", "yes")]
    assert [(o.value, o.label) for o in kind.options] == [(0, "Rude"), (1, "Neutral"), (2, "Kind")]


def test_a_database_is_a_file_beside_the_project_or_a_url(tmp_path: Path) -> None:
    head = 'form = "rate"\ndata = "dataset:fed/turn"\n'
    assert project(tmp_path, head).data == ("dataset:fed/turn",)
    assert project(tmp_path, head + 'database = "sub/x.sqlite"').database == str(tmp_path / "sub" / "x.sqlite")
    url = "postgresql://me@127.0.0.1/judgements"
    assert project(tmp_path, head + f'database = "{url}"').database == url


def test_redaction_is_all_or_some(tmp_path: Path) -> None:
    head = 'form = "rate"\ndata = "x.jsonl"\n'
    assert project(tmp_path, head + "redact = true").redact == {"link", "email", "handle", "number", "phone"}
    assert project(tmp_path, head + 'redact = ["email"]').redact == {"email"}


HEAD = 'form = "rate"\ndata = "x.jsonl"\n'
WRONG = {
    "an unknown key names the nearest": (HEAD + "raters_per_units = 3", "did you mean 'raters_per_unit'"),
    "an unknown form names the nearest": ('form = "rates"\ndata = "x"', "did you mean 'rate'"),
    "no form": ('data = "x"', "needs 'form'"),
    "no data": ('form = "rate"', "needs 'data'"),
    "a text for a number": (HEAD + 'seed = "one"', "'seed' must be a whole number"),
    "true for a number": (HEAD + "seed = true", "'seed' must be a whole number"),
    "a number out of range": (HEAD + "raters_per_unit = 0", "from 1 to 1000"),
    "a number for a text": (HEAD + "title = 3", "'title' must be a text"),
    "not a number": (HEAD + "minimum_seconds = nan", "'minimum_seconds' must be a number"),
    "no TOML": ("form = ", "is not valid TOML"),
    "an unknown kind of redaction": (HEAD + 'redact = ["mail"]', "did you mean 'email'"),
    "labels elsewhere": (HEAD + 'labels = ["x"]', "is only for the form 'errors'"),
    "labels twice": ('form = "errors"\ndata = "x"\nlabels = ["x", "x"]', "'labels' must be a list of different"),
    "the label none": ('form = "errors"\ndata = "x"\nlabels = ["none"]', "'none' is always offered"),
    "aspects where one thing is asked": (
        'form = "errors"\ndata = "x"\n[[aspects]]\nname = "a"\nquestion = "b"',
        "asks only one question",
    ),
    "a scale for a text": (
        'form = "write"\ndata = "x"\n[[aspects]]\nname = "a"\nquestion = "b"\nlow = 1',
        "has no scale",
    ),
    "an aspect twice": (
        HEAD + '[[aspects]]\nname = "a"\nquestion = "b"\n[[aspects]]\nname = "a"\nquestion = "b"',
        "two aspects have the same name",
    ),
    "an aspect with a point in its name": (HEAD + '[[aspects]]\nname = "a.b"\nquestion = "b"', "'name' must be"),
    "an aspect called comment": (HEAD + '[[aspects]]\nname = "comment"\nquestion = "b"', "not 'comment'"),
    "a scale of one": (HEAD + '[[aspects]]\nname = "a"\nquestion = "b"\nlow = 1\nhigh = 1', "at least two"),
    "words and high": (
        HEAD + '[[aspects]]\nname = "a"\nquestion = "b"\nhigh = 1\nwords = ["x", "y"]',
        "leave out 'high'",
    ),
    "an anchor off the scale": (
        HEAD + '[[aspects]]\nname = "a"\nquestion = "b"\nanchors = { 9 = "x" }',
        "by numbers from 1 to 5",
    ),
    "replies_per_unit of pairs": ('form = "compare"\ndata = "x"\nreplies_per_unit = 3', "does not apply"),
    "a gold question of nothing": (HEAD + "[[gold]]\nanswer = { appropriate = 1 }", "either 'of'"),
    "a gold question without an answer": (HEAD + '[[gold]]\nof = "x"', "'answer' must be a table"),
    "an attention check of the data": (HEAD + '[[attention]]\nof = "x"\nanswer = { appropriate = 1 }', "[[gold]]"),
    "texts beside of": (HEAD + '[[gold]]\nof = "x"\nreply = "y"\nanswer = { appropriate = 1 }', "leave out 'reply'"),
    "an exercise of nothing": (HEAD + "[exercise]\nneeded = 1", "needs [[exercise.questions]]"),
    "a right answer to a text": (
        'form = "write"\ndata = "x"\n[[gold]]\nof = "x"\nanswer = { accepting = "x" }',
        "no single right answer",
    ),
    "checks with an unknown key": (HEAD + "[checks]\nevry = 3", "did you mean 'every'"),
    "a table for a list": (HEAD + "[gold]\nof = 1", "list of tables"),
    "a name for a file": (HEAD + 'name = "../../etc"', "'name' must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    with pytest.raises(InputError) as error:
        project(tmp_path, text)
    assert message in str(error.value)
    assert str(error.value).startswith("p.toml")
    assert "\n" not in str(error.value)


def test_a_project_that_is_not_there_is_told_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not be read"):
        read_project(tmp_path / "none.toml")


_KEYS = sorted({f.name for f in fields(Project)} | {"checks", "every", "of", "answer", "questions", "words", "low"})
_LEAVES = st.one_of(
    st.integers(-5, 2000), st.booleans(), st.floats(allow_nan=True), st.text(string.printable, max_size=8)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=6))
def test_whatever_a_file_holds_there_is_a_project_or_a_sentence(found: dict[str, Any]) -> None:
    from rejoinder.annotation.project_file import _KEYS as known
    from rejoinder.annotation.project_file import TomlTable, _parse_project

    found = {"form": "rate", "data": "x.jsonl", **found}
    try:
        made = _parse_project(TomlTable(found, "p.toml", known), Path("p.toml"))
    except RejoinderError:
        return
    assert isinstance(made, Project)


def test_the_page_explains_every_key() -> None:
    from rejoinder.annotation import project_file
    from rejoinder.annotation.project_file import _KEYS

    page = (ROOT / "docs" / "annotating.md").read_text(encoding="utf-8")
    for key in {
        *_KEYS,
        *project_file.ASPECT_KEYS,
        *project_file.CHECK_KEYS,
        "every",
        "stop_after",
        "needed",
        "attempts",
        "questions",
    }:
        assert f"`{key}`" in page, key
    for form in FORMS:
        assert f"`{form}`" in page, form
