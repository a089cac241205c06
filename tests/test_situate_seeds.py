"""Seeds: files of them, questions and items taken apart, and what is wrong with a line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest
from situated_seeds import seeds

from rejoinder.data.inputs.seeds import Seed, extract_seeds, read_seeds, reply_polarity, write_seeds
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.situation.projects import read_situation_requests
from rejoinder.types import Candidate, Dialogue, Item, Question, Reference, Statement, Turn

QUESTION = Question(
    "q1",
    (Turn("Open the window.", "user"),),
    (Candidate("Sure, water?", "q1", "Best", "reference"), Candidate("Sure, tea?", "q7", "Bad", "distractor")),
    (Statement("It is hot.", "environment", True), Statement("A cat.", "possession", False)),
    split="train",
    meta={"goal": "to cool off", "polarity": "yes"},
)


def test_seeds_go_out_and_come_back(tmp_path: Path) -> None:
    assert write_seeds(seeds(5), tmp_path / "seeds.jsonl") == 5
    assert read_seeds(tmp_path / "seeds.jsonl") == seeds(5)


def test_a_question_is_its_reference_and_what_is_relevant(tmp_path: Path) -> None:
    wanted = Seed(
        "q1",
        "Open the window.",
        "to cool off",
        "Sure, water?",
        (Statement("It is hot.", "environment", True),),
        "yes",
        "train",
    )
    assert extract_seeds(QUESTION, "here") == [wanted]
    write([QUESTION], tmp_path / "set.jsonl")
    assert read_seeds(tmp_path / "set.jsonl") == [wanted]


def test_an_item_gives_a_seed_for_each_reference_and_its_polarity_is_read_off_the_reply() -> None:
    item = Item(
        "i",
        (Turn("Open the window.", "user"),),
        (Reference("Of course. Water?"), Reference("Sorry, it is stuck. A fan?")),
        situation=(Statement("It is hot.", "environment"),),
        meta={"goal": "to cool off"},
    )
    found = extract_seeds(item, "here")
    assert [(seed.id, seed.polarity, len(seed.statements)) for seed in found] == [("i/1", "yes", 1), ("i/2", "no", 1)]
    assert reply_polarity("It depends.") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": None}, "'goal' of seed must be a non-empty string, found None"),
        ({"reply": " "}, "'reply' of seed must be a non-empty string"),
        ({"category": "mood"}, r"unknown key 'category'"),
        ({"statements": [{"text": "a", "category": "mood"}]}, "no category is called 'mood'; known: behavior"),
        ({"statements": [{"text": "a"}]}, "a statement has no category; give one of: location, possession"),
        ({"statements": ["a"]}, "a statement must be an object with 'text' and 'category'"),
        ({"statements": "a"}, "must be a list"),
        ({"id": None}, "'id' of seed must be"),
    ],
)
def test_what_is_wrong_with_a_seed_is_told_with_its_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    good = {"id": 1, "request": "a", "goal": "b", "reply": "c"}
    path = tmp_path / "seeds.jsonl"
    path.write_bytes(orjson.dumps(good) + b"\n" + orjson.dumps({**good, "id": 2, **change}) + b"\n")
    with pytest.raises(InputError, match=rf"seeds\.jsonl line 2: .*{message}"):
        read_seeds(path)


def test_a_seed_twice_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "seeds.jsonl"
    write_seeds([*seeds(2), *seeds(1)], path)
    with pytest.raises(InputError, match=r"line 3: the seed 's0' is already in .*seeds\.jsonl line 1"):
        read_seeds(path)


def test_a_question_that_is_no_seed_says_why() -> None:
    from dataclasses import replace

    cases = {
        "has no goal in its meta": replace(QUESTION, meta={}),
        "has 0 candidates with the source 'reference'": replace(QUESTION, candidates=(Candidate("a"), Candidate("b"))),
        "does not say which statements are relevant": replace(QUESTION, situation=(Statement("a", "time"),)),
        "no category is called 'mood'": replace(QUESTION, situation=(Statement("a", "mood", True),)),
        "has no context": replace(QUESTION, context=()),
        "has the polarity 3": replace(QUESTION, meta={"goal": "a", "polarity": 3}),
    }
    for message, question in cases.items():
        with pytest.raises(InputError, match=message):
            extract_seeds(question, "set.jsonl line 1")
    with pytest.raises(InputError, match="expected a seed, a question or an item, found a dialogue"):
        extract_seeds(Dialogue("d", (Turn("a"),)), "set.jsonl line 1")


def test_requests_are_items_with_a_goal(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(orjson.dumps({"id": 4, "request": "Open the window.", "goal": "to cool off"}) + b"\n")
    assert read_situation_requests(path) == [
        Item("4", (Turn("Open the window.", "user"),), meta={"goal": "to cool off"})
    ]
    write([QUESTION], tmp_path / "set.jsonl")
    assert [item.id for item in read_situation_requests(path, tmp_path / "set.jsonl")] == ["4", "q1"]
    with pytest.raises(InputError, match="the id '4' is used twice"):
        read_situation_requests(path, path)
    path.write_bytes(orjson.dumps({"id": 4, "request": "Open the window."}) + b"\n")
    with pytest.raises(InputError, match="'goal' must be a non-empty text"):
        read_situation_requests(path)


def test_the_published_folds_are_seeds_and_their_polarity_can_be_read_off(published: Path) -> None:
    found = read_seeds("dataset:sugar/0/test")
    assert len(found) == 361
    assert sum(len(seed.statements) for seed in found) == 2302
    right = sum(reply_polarity(seed.reply) == seed.polarity for seed in found)
    assert right / len(found) > 0.95


def test_the_relevant_statements_of_the_five_folds_are_those_of_table_3(published: Path) -> None:
    found = read_seeds(*(f"dataset:sugar/{fold}/test" for fold in range(5)))
    counts = Counter(one.category for seed in found for one in seed.statements)
    assert len(found) == 1760
    assert [counts[name] for name in ("location", "possession", "time", "date", "behavior", "environment")] == [
        1990,
        3546,
        1083,
        152,
        1699,
        2793,
    ]  # Otani et al. 2023, Table 3
