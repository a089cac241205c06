"""One JSONL schema: every record comes back as it went, every bad line says what is wrong with it."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.data.objects import to_object
from rejoinder.data.schema import KEYS, Place, from_object
from rejoinder.data.writer import encode_record
from rejoinder.errors import InputError
from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Statement,
    Turn,
)

AT = Place("chats.jsonl", 17)
name = st.text(min_size=1).filter(lambda s: s.strip() and s.isprintable())
turn = st.builds(Turn, name, st.none() | name)
maybe = st.none() | name
statement = st.builds(Statement, name, maybe, st.none() | st.booleans())
grade = st.none() | name | st.floats(allow_nan=False, allow_infinity=False)
meta = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-9, 9) | st.text(), max_size=2)
turns = st.lists(turn, max_size=3).map(tuple)
RECORDS = {
    "dialogue": st.builds(Dialogue, name, st.lists(turn, min_size=1, max_size=3).map(tuple), maybe, maybe, meta),
    "item": st.builds(
        Item,
        name,
        turns,
        st.lists(st.builds(Reference, name, name), max_size=3).map(tuple),
        turns,
        st.lists(statement, max_size=2).map(tuple),
        maybe,
        st.booleans(),
        meta,
    ),
    "response": st.builds(Response, name, name, name, name, meta),
    "rating": st.builds(Rating, name, name, st.floats(allow_nan=False, allow_infinity=False), response=name, meta=meta),
    "preference": st.builds(
        Preference, name, name, name, name, st.sampled_from(["first", "second", "tie"]), name, meta
    ),
    "question": st.builds(
        Question,
        name,
        turns,
        st.lists(st.builds(Candidate, name, maybe, grade, maybe), min_size=1, max_size=3).map(tuple),
        st.lists(statement, max_size=2).map(tuple),
        maybe,
        maybe,
        meta,
    ),
}


@pytest.mark.parametrize("kind", KEYS)
def test_every_kind_of_record_comes_back_as_it_went(kind: str) -> None:
    @given(RECORDS[kind])
    def there_and_back(record: Record) -> None:
        assert from_object(orjson.loads(encode_record(record)), AT) == record
        assert set(to_object(record)) <= KEYS[kind]

    there_and_back()


def test_the_kind_may_be_left_out_where_the_keys_give_it_away() -> None:
    for kind, record in [
        ("dialogue", {"id": "d", "turns": ["hello"]}),
        ("item", {"id": "i", "context": []}),
        ("response", {"item": "i", "system": "s", "text": "t"}),
        ("rating", {"response": "r", "rater": "a", "aspect": "b", "value": 3}),
        ("preference", {"item": "i", "first": "a", "second": "b", "rater": "r", "choice": "tie"}),
        ("question", {"id": "q", "context": [], "candidates": [{"text": "x", "grade": "Bad"}]}),
    ]:
        assert type(from_object(record, AT)).__name__.lower() == kind


def test_a_response_without_an_id_is_called_after_its_item_and_system() -> None:
    found = from_object({"item": "i1", "system": "bot", "text": "hi"}, AT)
    assert isinstance(found, Response)
    assert found.id == "i1/bot"


BAD = [
    ([1], "expected a JSON object, found a list"),
    ("x", "expected a JSON object, found a string"),
    ({}, "cannot tell what kind of record this is (found keys: 'none')"),
    ({"messages": []}, "rejoinder import openai"),
    ({"kind": "respones"}, "unknown kind 'respones'; did you mean 'response'"),
    ({"kind": 3}, "unknown kind 3"),
    ({"kind": "response", "system": "s", "item": "i", "reply": "x"}, "unknown key 'reply'"),
    ({"item": "i", "system": "s"}, "response has no 'text'"),
    ({"item": "i", "system": "s", "text": "  "}, "'text' of response is empty; remove the line"),
    ({"item": "i", "system": "s", "text": 4}, "'text' of response is a number; it must be a string"),
    ({"item": "i", "system": "", "text": "t"}, "'system' of response is empty"),
    ({"item": True, "system": "s", "text": "t"}, "'item' of response is true or false"),
    ({"id": "i", "context": "hello"}, "'context' of item is a string; it must be a list"),
    ({"id": "i", "context": [{"speaker": "A"}]}, "a turn in 'context' of item has no 'text'"),
    ({"id": "i", "context": [3]}, "a turn in 'context' of item is a number"),
    ({"id": "i", "context": [{"text": "t", "role": "A"}]}, "unknown key 'role'"),
    ({"id": "i", "context": [], "reference": ["x"]}, "unknown key 'reference'; did you mean 'references'"),
    ({"id": "i", "context": [], "references": [""]}, "'text' of a reference is empty"),
    ({"id": "i", "context": [], "references": [None]}, "a reference is null"),
    ({"id": "i", "context": [], "situation": [{"text": "t", "relevant": 1}]}, "must be true or false"),
    ({"id": "i", "context": [], "meta": []}, "'meta' of item is a list; it must be an object"),
    ({"id": "d", "turns": []}, "dialogue has no turns"),
    ({"response": "r", "rater": "a", "aspect": "b", "value": "4"}, "rating has no number in 'value'"),
    ({"response": "r", "rater": "a", "aspect": "b", "value": True}, "rating has no number in 'value'"),
    ({"rater": "a", "aspect": "b", "value": 4}, "either a 'response' or a 'dialogue'"),
    ({"item": "i", "first": "a", "second": "b", "rater": "r", "choice": 1}, "must be first, second or tie"),
    ({"id": "q", "context": [], "candidates": []}, "question has no candidates"),
    ({"id": "q", "context": [], "candidates": [{"text": "x", "grade": []}]}, "a candidate has the grade []"),
]


@pytest.mark.parametrize(("found", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_a_bad_record_says_what_is_wrong_and_where(found: object, said: str) -> None:
    with pytest.raises(InputError) as error:
        from_object(found, AT)
    assert str(error.value).startswith("chats.jsonl line 17: ")
    assert said in str(error.value)


def test_an_empty_reply_is_let_through_where_it_is_to_be_counted() -> None:
    found = from_object({"item": "i", "system": "s", "text": ""}, AT, allow_empty=True)
    assert isinstance(found, Response)
    assert found.text == ""


def test_a_reference_keeps_its_score_and_what_it_was_adapted_from() -> None:
    reference = Reference("i am in a hurry.", "retrieval", 1.5, "i am in a rush.")
    item = Item("a", (Turn("hi"),), (reference, Reference("yes")))

    told = to_object(item)

    assert told["references"][1] == "yes"
    assert from_object(told, AT) == item


@pytest.mark.parametrize("score", ["much", True, [1]])
def test_a_score_of_a_reference_that_is_no_number_is_refused(score: object) -> None:
    line = {"kind": "item", "id": "a", "context": ["hi"], "references": [{"text": "yes", "score": score}]}
    with pytest.raises(InputError, match="must be a number"):
        from_object(line, AT)


def test_a_dialogue_without_turns_names_the_key_that_is_missing() -> None:
    with pytest.raises(InputError, match="dialogue has no 'turns'"):
        from_object({"kind": "dialogue", "id": "d1"}, Place("x.jsonl", 1))


@pytest.mark.parametrize(("kind", "rest"), [("item", {}), ("question", {"candidates": [{"text": "Yes."}]})])
def test_an_item_or_question_without_a_context_names_the_missing_key(kind: str, rest: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"{kind} has no 'context'"):
        from_object({"kind": kind, "id": "x", **rest}, Place("x.jsonl", 1))
