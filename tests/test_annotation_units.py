"""Units: what each form shows and asks of the same data, what it hides, and the orders that follow from a seed."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import ProjectCheck, RaterExercise
from rejoinder.annotation.redaction import KINDS, redact_text, redact_turns
from rejoinder.annotation.unit import FormName, arrange_replies, order_units, place_check
from rejoinder.annotation.units import make_units
from rejoinder.data.collection import Collection, collect, read_files
from rejoinder.errors import InputError
from rejoinder.seeded import stable_shuffle
from rejoinder.types import Item, Reference, Response, Turn
from tests.annotation_projects import NAMES, SYSTEMS, data, project_of, units_for

ALL = frozenset(KINDS)
EXAMPLES = Path(__file__).parent.parent / "examples"


def test_every_form_makes_the_units_that_it_should() -> None:
    counts = {form: len(units_for(project_of(form))) for form in NAMES}
    assert counts == {
        "rate": 12,  # four items, three responses each
        "candidates": 4,
        "grade": 4,
        "references": 12,
        "review": 8,  # of three references, one is a person's
        "write": 4,
        "situation": 12,  # one for each reference: SUGAR's step 5
        "validate": 12,
        "errors": 12,
        "compare": 12,  # three pairs of three systems
    }


@pytest.mark.parametrize("form", NAMES)
def test_no_page_can_show_a_system_or_an_id_of_the_data(form: FormName) -> None:
    for unit in units_for(project_of(form)):
        shown = orjson.dumps([unit.id, unit.payload]).decode()
        assert "secret" not in shown
        assert "item-" not in shown
        assert "question-" not in shown
        assert unit.hidden["item"].startswith(("item-", "question-"))


@pytest.mark.parametrize("form", NAMES)
def test_the_fields_of_a_unit_have_names_of_their_own_and_belong_to_its_replies(form: FormName) -> None:
    project = project_of(form, comments=True)
    for unit in units_for(project):
        fields = list_fields(project, unit)
        names = [field.name for field in fields]
        assert len(set(names)) == len(names)
        assert names[-1] == "comment"
        keys = {reply["key"] for reply in unit.payload["replies"]}
        assert {field.reply for field in fields if field.reply} <= keys
        if FORMS[form].asks in ("options", "labels", "verdict"):
            assert {field.reply for field in fields if field.reply} == keys


def test_a_unit_may_show_several_replies_and_the_rest_makes_a_smaller_one() -> None:
    units = units_for(project_of("rate", replies_per_unit=2))
    assert sorted(len(unit.payload["replies"]) for unit in units) == [1, 1, 1, 1, 2, 2, 2, 2]
    assert all(len(unit.payload["replies"]) == 3 for unit in units_for(project_of("rate", replies_per_unit=0)))


def test_keys_say_nothing_about_systems() -> None:
    units = units_for(project_of("rate", replies_per_unit=0), items=200)
    first = Counter(unit.hidden["replies"]["r1"]["system"] for unit in units)
    assert set(first) == set(SYSTEMS)
    assert min(first.values()) > 45  # 200 / 3 = 67 expected; 45 is more than three standard deviations below


def test_candidates_and_grades_come_from_questions_or_from_responses() -> None:
    project = project_of("grade")
    unit = units_for(project)[0]
    assert {reply["response"] for reply in unit.hidden["replies"].values()} == {f"question-0/c{n}" for n in range(3)}
    assert unit.payload["situation"] == [
        {"text": "The room is hot.", "category": "environment"},
        {"text": "It is nine.", "category": "time"},
    ]
    assert unit.payload["goal"] == "to cool off"
    responses = make_units(project, Collection(items=data().items, responses=data().responses))
    assert {reply["system"] for reply in responses[0].hidden["replies"].values()} == set(SYSTEMS)


def test_situations_start_from_what_is_there_and_show_the_reply() -> None:
    project = project_of("situation")
    unit = units_for(project)[0]
    initial = {field.name: field.initial for field in list_fields(project, unit)}
    assert initial == {
        "location": "",
        "possession": "",
        "time": "It is nine.",
        "date": "",
        "behavior": "",
        "environment": "The room is hot.",
    }
    assert len(unit.payload["replies"]) == 1
    assert "situation" not in unit.payload


def test_situations_of_items_without_references_are_asked_for_once() -> None:
    project = project_of("situation")
    units = make_units(project, collect([Item("a", (Turn("Open the window."),))]))
    assert [unit.payload["replies"] for unit in units] == [[]]


def test_review_offers_the_text_for_editing() -> None:
    project = project_of("review")
    unit = units_for(project)[0]
    verdict, text = list_fields(project, unit)
    assert [option.value for option in verdict.options] == ["accept", "edit", "reject"]
    assert text.initial == unit.payload["replies"][0]["text"]
    assert text.only_if == ("verdict.r1", "edit")


def test_who_wrote_a_reply_does_not_validate_it() -> None:
    unit = units_for(project_of("validate"))[0]
    assert unit.hidden["not_for"] == [unit.hidden["replies"]["r1"]["system"]]


def test_pairs_can_be_drawn_and_ties_left_out() -> None:
    project = project_of("compare", pairs_per_item=1, ties=False)
    units = units_for(project, items=60)
    assert len(units) == 60
    assert len({tuple(sorted(r["system"] for r in u.hidden["replies"].values())) for u in units}) == 3
    assert [option.value for option in list_fields(project, units[0])[0].options] == ["r1", "r2"]


def test_data_that_a_form_cannot_use_is_told() -> None:
    with pytest.raises(InputError, match="needs responses, but the data has none"):
        make_units(project_of("rate"), collect([Item("a", (Turn("Hi"),))]))


def check(answer: dict[str, object], of: str | None = None, **payload: object) -> ProjectCheck:
    return ProjectCheck(answer, of, payload or None, "why", "p.toml, gold 1")


def test_a_gold_question_takes_its_unit_out_of_the_rest() -> None:
    project = project_of(gold=(check({"appropriate": [4, 5], "on-topic": {"r1": 3}}, "item-1/secret-beta"),))
    units = units_for(project)
    (gold,) = [unit for unit in units if unit.kind == "gold"]
    assert len(units) == 12
    assert gold.hidden["answer"] == {"appropriate.r1": [4, 5], "on-topic.r1": [3]}
    assert gold.hidden["replies"]["r1"]["response"] == "item-1/secret-beta"


def test_the_answer_of_a_gold_question_may_name_words_and_ids() -> None:
    project = project_of(
        "grade", gold=(check({"grade": {"question-2/c0": "Best", "r2": [0, "Acceptable"]}}, "question-2"),)
    )
    (gold,) = [unit for unit in units_for(project) if unit.kind == "gold"]
    key = next(k for k, reply in gold.hidden["replies"].items() if reply["response"] == "question-2/c0")
    assert gold.hidden["answer"] == {f"grade.{key}": [2]} | ({"grade.r2": [0, 1]} if key != "r2" else {})


def test_a_gold_pair_names_the_better_response() -> None:
    gold = (check({"overall": "item-0/secret-beta"}, "item-0"),)
    with pytest.raises(InputError, match="3 units show"):
        units_for(project_of("compare", gold=gold))
    two = collect([*(r for r in data(1) if not isinstance(r, Response) or r.system != "secret-gamma")])
    (unit,) = [unit for unit in make_units(project_of("compare", gold=gold), two) if unit.kind == "gold"]
    assert unit.hidden["replies"][unit.hidden["answer"]["overall"][0]]["response"] == "item-0/secret-beta"


def test_checks_and_exercises_may_have_texts_of_their_own() -> None:
    attention = check(
        {"appropriate": 2}, context=[{"speaker": "user", "text": "Read on."}, "And on."], reply="Choose 2."
    )
    exercise = RaterExercise((check({"appropriate": 1}, context="Hi", reply="No."),), 1, 2)
    project = project_of(attention=(attention,), exercise=exercise)
    units = units_for(project)
    assert [unit.kind for unit in units[12:]] == ["attention", "exercise"]
    assert units[12].payload == {
        "context": [{"speaker": "user", "text": "Read on."}, {"text": "And on."}],
        "replies": [{"key": "r1", "text": "Choose 2."}],
    }
    assert units[13].hidden["explanation"] == "why"


WRONG = {
    "an unknown id": (check({"appropriate": 1}, "item-9"), "no unit shows 'item-9'"),
    "an unknown aspect": (check({"apropriate": 1}, "item-1/secret-beta"), "did you mean 'appropriate'"),
    "a value off the scale": (check({"appropriate": 6}, "item-1/secret-beta"), "6 cannot be chosen"),
    "true": (check({"appropriate": True}, "item-1/secret-beta"), "True cannot be chosen"),
    "a reply that is not there": (check({"appropriate": {"r9": 1}}, "item-1/secret-beta"), "does not name a reply"),
    "no reply": (check({"appropriate": 1}, context="Hi"), "needs a 'reply'"),
    "a number for a text": (check({"appropriate": 1}, context=[3], reply="No."), "it must contain texts"),
    "an empty text": (check({"appropriate": 1}, context=[" "], reply="No."), "an entry that is empty"),
    "a goal that is no text": (check({"appropriate": 1}, context="Hi", reply="No.", goal=3), "'goal' must be a text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_check_that_cannot_be_is_told_with_its_place(name: str) -> None:
    wrong, message = WRONG[name]
    with pytest.raises(InputError) as error:
        units_for(project_of(gold=(wrong,)))
    assert str(error.value).startswith("p.toml, gold 1: ")
    assert message in str(error.value)


def test_the_same_check_twice_is_told() -> None:
    one = check({"appropriate": 1}, "item-1/secret-beta")
    with pytest.raises(InputError, match="the same as an earlier check"):
        units_for(project_of(gold=(one, one)))


REDACTED = {
    "write to jo.o'neil+x@mail.example.org, please": "write to [e-mail], please",
    "see https://example.org/a?b=c. ok": "see [link] ok",
    "www.example.org is down": "[link] is down",
    "thanks @some_body!": "thanks [handle]!",
    "ask u/some-body there": "ask [handle] there",
    "call +44 20 7946 0018 now": "call [phone] now",
    "call (020) 7946-0018": "call [phone]",
    "call 555-0134-22": "call [phone]",
    "card 4111 1111 1111 1111, thanks": "card [number], thanks",
    "IBAN GB29 NWBK 6016 1331 9268 19": "IBAN [number]",
    "order 20240317": "order [number]",
    # and what stays
    "the 9:12 arrives at 9:36": "the 9:12 arrives at 9:36",
    "it was 12.05.2024 or 2024-05-12": "it was 12.05.2024 or 2024-05-12",
    "1,250,000 people, 24 minutes, 3.14159": "1,250,000 people, 24 minutes, 3.14159",
    "and/or, he/she; a@b": "and/or, he/she; a@b",
    "@ann@ben": "[handle]",
    "1234-5678@ann": "[phone][handle]",
    "room 1204, 15 to 17 May": "room 1204, 15 to 17 May",
}


@pytest.mark.parametrize("text", REDACTED)
def test_redaction_marks_what_points_to_a_person_and_leaves_the_rest(text: str) -> None:
    assert redact_text(text, ALL) == REDACTED[text]
    assert redact_text(text, frozenset()) == text


@given(st.text(alphabet="ab1 @.+-/:w", max_size=60))
def test_redaction_once_is_redaction_for_good(text: str) -> None:
    once = redact_text(text, ALL)
    assert redact_text(once, ALL) == once


def test_redaction_of_long_texts_takes_no_time() -> None:
    begun = time.perf_counter()
    for piece in ("1 ", "a.", "@a", "+1-", "b-", "@11", "u/abc/", "@ab/u/abc", "1234567@ab ", "w.a@b.c@11"):
        redact_text("a@" + piece * 20_000, ALL)
        redact_text(piece * 20_000, ALL)
    assert time.perf_counter() - begun < 20  # seconds where it is linear: one alone takes minutes where it is not


def test_the_example_chats_lose_nothing_by_redaction() -> None:
    chats = read_files([EXAMPLES / "chats.jsonl"])
    assert all(redact_text(r.text, ALL) == r.text for r in chats.responses.values())


def test_redaction_reaches_every_text_that_is_shown_and_numbers_names() -> None:
    found = collect(
        [
            Item(
                "a", (Turn("I am x@example.org", "Jo Bloggs"), Turn("Hi", "assistant")), (Reference("@somebody knows"),)
            ),
            Response("a/s", "a", "s", "Call +44 20 7946 0018."),
        ]
    )
    unit = make_units(project_of("rate", redact=ALL), found)[0]
    assert unit.payload["context"] == [
        {"speaker": "speaker 1", "text": "I am [e-mail]"},
        {"speaker": "assistant", "text": "Hi"},
    ]
    assert unit.payload["replies"][0]["text"] == "Call [phone]."
    assert make_units(project_of("references", redact=ALL), found)[0].payload["replies"][0]["text"] == "[handle] knows"
    assert redact_turns((Turn("x", "Jo"),), frozenset()) == (Turn("x", "Jo"),)


def test_each_rater_has_an_order_that_the_seed_gives_again() -> None:
    units = [f"u{n}" for n in range(100)]
    orders = {rater: order_units(units, 1, rater) for rater in ("ann", "bob")}
    assert orders["ann"] == order_units(list(reversed(units)), 1, "ann")
    assert sorted(orders["ann"]) == sorted(orders["bob"]) == sorted(units)
    assert orders["ann"] != orders["bob"]
    assert orders["ann"] != order_units(units, 2, "ann")


def test_a_new_unit_does_not_change_the_order_of_the_others() -> None:
    units = [f"u{n}" for n in range(50)]
    longer = order_units([*units, "new"], 1, "ann")
    assert [unit for unit in longer if unit != "new"] == order_units(units, 1, "ann")


def test_every_place_of_an_order_is_equally_likely() -> None:
    first = Counter(order_units(["a", "b", "c", "d"], 1, f"rater {n}")[0] for n in range(2000))
    # 500 each expected, standard deviation 19
    assert all(abs(count - 500) < 80 for count in first.values())


def test_blocks_come_one_after_the_other() -> None:
    units = [f"u{n}" for n in range(10)]
    ann, bob = order_units(units, 1, "ann", 5), order_units(units, 1, "bob", 5)
    assert set(ann[:5]) == set(bob[:5])
    assert ann[:5] != bob[:5]


def test_a_check_comes_somewhere_in_every_stretch() -> None:
    due = [place_check(n, 10, 3, "ann") for n in range(50)]
    assert all(10 * n <= place < 10 * (n + 1) for n, place in enumerate(due))
    assert len({place % 10 for place in due}) > 5
    assert all(a < b for a, b in pairwise(due))


def test_sides_are_drawn_per_rater_and_unit() -> None:
    project = project_of("compare")
    units = units_for(project, items=50)
    first = Counter(
        unit.hidden["replies"][arrange_replies(unit, 1, rater).payload["replies"][0]["key"]]["system"]
        for unit in units
        for rater in ("ann", "bob", "cem")
    )
    assert all(110 < count < 190 for count in first.values())  # 150 each expected of 450, standard deviation 10
    assert any(arrange_replies(unit, 1, "ann") != arrange_replies(unit, 1, "bob") for unit in units)
    assert arrange_replies(units[0], 1, "ann") == arrange_replies(units[0], 1, "ann")


def test_the_field_of_a_pair_names_the_sides_as_they_are_shown() -> None:
    project = project_of("compare")
    unit = arrange_replies(units_for(project)[0], 1, "ann")
    options = list_fields(project, unit)[0].options
    assert [option.label for option in options] == ["The first", "Both alike", "The second"]
    assert [options[0].value, options[2].value] == [reply["key"] for reply in unit.payload["replies"]]


@given(st.lists(st.text(max_size=5), unique=True), st.text(max_size=5))
def test_shuffling_loses_nothing(things: list[str], name: str) -> None:
    assert sorted(stable_shuffle(things, name)) == sorted(things)
