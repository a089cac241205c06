"""Answers: what the server takes, whatever a browser sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.annotation.answers import check_answer, is_accepted_answer, parse_answer_form, split_answer_lines
from rejoinder.annotation.errors import AnswerError
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.unit import AnswerField, AnswerOption, FormName
from tests.annotation_projects import NAMES, answer_to, project_of, units_for

SCALE = AnswerField("a.r1", "choice", "a", "?", "r1", tuple(AnswerOption(n, str(n)) for n in (1, 2, 3)))
LABELS = AnswerField(
    "errors.r1",
    "labels",
    "errors",
    "?",
    "r1",
    (AnswerOption("bad", "bad"), AnswerOption("odd", "odd"), AnswerOption("none", "-")),
)
TEXT = AnswerField("t", "text", "t", "?", longest=10)
VERDICT = AnswerField("v", "choice", "v", "?", options=(AnswerOption("accept", "A"), AnswerOption("edit", "E")))
EDIT = AnswerField("e", "text", "e", "?", only_if=("v", "edit"))
LINES = (AnswerField("x", "lines", "x", "?", required=False), AnswerField("y", "lines", "y", "?", required=False))


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_a_valid_answer_of_every_form_stays_as_it_is(form: FormName, seed: int) -> None:
    project = project_of(form, comments=True)
    for unit in units_for(project):
        fields = list_fields(project, unit)
        answer = answer_to(project, unit, seed)
        assert check_answer(fields, answer) == answer


@pytest.mark.parametrize("form", NAMES)
def test_what_a_page_sends_comes_out_as_the_answer(form: FormName) -> None:
    project = project_of(form, comments=True)
    for unit in units_for(project):
        fields = list_fields(project, unit)
        answer = answer_to(project, unit)
        pairs: list[tuple[str, str]] = [("csrf", "x"), ("seconds", "3")]
        for name, value in answer.items():
            pairs += [(name, one) for one in value] if isinstance(value, list) else [(name, str(value))]
        assert check_answer(fields, parse_answer_form(fields, pairs)) == answer


REFUSED: dict[str, tuple[tuple[AnswerField, ...], dict[str, Any], str, str]] = {
    "nothing": ((SCALE,), {}, "a.r1", "please answer"),
    "off the scale": ((SCALE,), {"a.r1": 4}, "a.r1", "cannot be chosen"),
    "true for one": ((SCALE,), {"a.r1": True}, "a.r1", "cannot be chosen"),
    "a fraction": ((SCALE,), {"a.r1": 1.0}, "a.r1", "cannot be chosen"),
    "a text for a number": ((SCALE,), {"a.r1": "1"}, "a.r1", "cannot be chosen"),
    "a list for a number": ((SCALE,), {"a.r1": [1]}, "a.r1", "cannot be chosen"),
    "an object for a number": ((SCALE,), {"a.r1": {"$gt": 0}}, "a.r1", "cannot be chosen"),
    "something not asked": ((SCALE,), {"a.r1": 1, "admin": 1}, "'admin'", "does not exist here"),
    "no label": ((LABELS,), {"errors.r1": []}, "errors.r1", "please answer"),
    "a label for a list": ((LABELS,), {"errors.r1": "bad"}, "errors.r1", "must be a list"),
    "an unknown label": ((LABELS,), {"errors.r1": ["worse"]}, "errors.r1", "cannot be chosen"),
    "nothing and something": ((LABELS,), {"errors.r1": ["none", "bad"]}, "errors.r1", "together"),
    "a blank text": ((TEXT,), {"t": " \n "}, "t", "please answer"),
    "a number for a text": ((TEXT,), {"t": 3}, "t", "must be a text"),
    "a long text": ((TEXT,), {"t": "x" * 11}, "t", "11 characters"),
    "a null character": ((TEXT,), {"t": "a\x00b"}, "t", "U+0000"),
    "half a character": ((TEXT,), {"t": "a\ud800"}, "t", "U+D800"),
    "an edit without a text": ((VERDICT, EDIT), {"v": "edit"}, "e", "please answer"),
    "no statement at all": (LINES, {"x": " \n", "y": ""}, "x", "at least one statement"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_form_does_not_allow_is_told_by_field(name: str) -> None:
    fields, raw, field, message = REFUSED[name]
    with pytest.raises(AnswerError) as error:
        check_answer(fields, raw)
    assert message in error.value.problems[field]


def test_a_field_that_does_not_count_is_dropped() -> None:
    assert check_answer((VERDICT, EDIT), {"v": "accept", "e": "something"}) == {"v": "accept"}
    assert check_answer((VERDICT, EDIT), {"v": "edit", "e": "something"}) == {"v": "edit", "e": "something"}


def test_texts_lose_white_space_around_them_and_foreign_line_ends() -> None:
    assert check_answer((TEXT,), {"t": " a\r\nb\r "}) == {"t": "a\nb"}
    assert check_answer(LINES, {"x": " one \r\n\r\n two", "y": ""}) == {"x": "one\ntwo"}
    assert split_answer_lines("one\ntwo") == ["one", "two"]


def test_labels_come_in_the_order_of_the_form_and_once() -> None:
    assert check_answer((LABELS,), {"errors.r1": ["odd", "bad", "odd"]}) == {"errors.r1": ["bad", "odd"]}


def test_two_values_for_one_choice_are_refused() -> None:
    with pytest.raises(AnswerError):
        check_answer((SCALE,), parse_answer_form((SCALE,), [("a.r1", "1"), ("a.r1", "2")]))


def test_a_flood_of_fields_is_told_briefly() -> None:
    with pytest.raises(AnswerError) as error:
        check_answer((SCALE,), {f"x{n}": n for n in range(10_000)})
    assert len(error.value.problems) <= 20


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = (SCALE, LABELS, TEXT, VERDICT, EDIT)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([f.name for f in _FIELDS] + ["other"]), _JSON, max_size=6))
def test_whatever_is_sent_there_is_a_valid_answer_or_a_refusal(raw: dict[str, Any]) -> None:
    try:
        answer = check_answer(_FIELDS, raw)
    except AnswerError:
        return
    assert check_answer(_FIELDS, answer) == answer
    assert answer["a.r1"] in (1, 2, 3)


def test_a_check_is_right_where_every_accepted_value_fits() -> None:
    accepted = {"a": [4, 5], "b": ["x"]}
    assert is_accepted_answer(accepted, {"a": 4, "b": "x", "c": 1})
    assert not is_accepted_answer(accepted, {"a": 3, "b": "x"})
    assert not is_accepted_answer(accepted, {"a": 4})
    assert is_accepted_answer({"errors": ["bad", "odd"]}, {"errors": ["odd", "bad"]})
    assert not is_accepted_answer({"errors": ["bad", "odd"]}, {"errors": ["bad"]})
    assert is_accepted_answer({}, {"a": 1})
