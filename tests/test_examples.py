"""The example data: whole, varied, and marked as made up."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

from rejoinder.data.collection import Collection, read_files

EXAMPLES = Path(__file__).parent.parent / "examples"
SYSTEMS = {"attentive", "plain", "drifter", "parrot"}


@pytest.fixture(scope="module")
def chats() -> Collection:
    return read_files([EXAMPLES / "chats.jsonl"])


def test_the_counts_are_those_that_the_readme_gives(chats: Collection) -> None:
    filled = {name: n for name, n in chats.counts().items() if n}
    assert filled == {"items": 48, "responses": 192, "ratings": 1314}
    assert len({item.dialogue for item in chats.items.values()}) == 17
    assert "48 items from 17" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_each_system_answers_each_item_once(chats: Collection) -> None:
    answered = Counter((r.item, r.system) for r in chats.responses.values())
    assert set(answered) == {(item, system) for item in chats.items for system in SYSTEMS}
    assert set(answered.values()) == {1}


def test_each_item_has_one_to_five_turns_and_at_least_three_different_references(chats: Collection) -> None:
    for item in chats.items.values():
        assert 1 <= len(item.context) <= 5, item.id
        assert all(turn.speaker for turn in item.context), item.id
        texts = [reference.text for reference in item.references]
        assert len(texts) >= 3, item.id
        assert len({text.casefold() for text in texts}) == len(texts), item.id


def test_no_reference_claims_to_come_from_a_person(chats: Collection) -> None:
    assert {reference.source for item in chats.items.values() for reference in item.references} == {"example"}


def test_the_context_of_a_dialogue_grows_from_item_to_item(chats: Collection) -> None:
    contexts = defaultdict(list)
    for item in chats.items.values():
        contexts[item.dialogue].append(item.context)
    for dialogue, found in contexts.items():
        for shorter, longer in pairwise(found):
            assert len(shorter) < len(longer), dialogue
            assert longer[: len(shorter)] == shorter, dialogue


def test_every_rating_is_a_whole_number_marked_as_an_example(chats: Collection) -> None:
    for rating in chats.ratings:
        assert rating.value in (1, 2, 3, 4, 5)
        assert rating.rater.startswith("example-rater-")
        assert rating.meta == {"note": "example, not a study"}
    assert {rating.aspect for rating in chats.ratings} == {"appropriate", "on-topic"}


def test_raters_disagree_and_the_fourth_has_about_half(chats: Collection) -> None:
    by_rater = Counter(rating.rater for rating in chats.ratings)
    assert len(by_rater) == 4
    assert 0.4 < by_rater["example-rater-4"] / by_rater["example-rater-1"] < 0.6
    values = defaultdict(set)
    for rating in chats.ratings:
        values[rating.response, rating.aspect].add(rating.value)
    assert sum(len(found) > 1 for found in values.values()) > len(values) / 3
    assert {rating.response for rating in chats.ratings} == set(chats.responses)


def test_the_systems_are_rated_as_they_were_meant_but_overlap(chats: Collection) -> None:
    per_response = defaultdict(list)
    for rating in chats.ratings:
        if rating.aspect == "appropriate":
            per_response[rating.response].append(rating.value)
    per_system = defaultdict(list)
    for response, values in per_response.items():
        per_system[chats.responses[response].system].append(mean(values))
    means = {system: mean(values) for system, values in per_system.items()}
    assert means["attentive"] > means["plain"] > max(means["drifter"], means["parrot"])
    assert min(per_system["attentive"]) < means["plain"]
    for worse in ("drifter", "parrot"):
        assert max(per_system[worse]) > means["plain"]


def test_no_response_of_attentive_is_a_reference(chats: Collection) -> None:
    for pair in chats.pairs():
        if pair.response.system == "attentive":
            assert pair.response.text not in {reference.text for reference in pair.item.references}, pair.response.id


def test_the_logs_hold_the_shapes_that_an_importer_meets() -> None:
    logs = [json.loads((EXAMPLES / "openai" / "single.json").read_text(encoding="utf-8"))]
    for path in sorted((EXAMPLES / "openai").glob("*.jsonl")):
        logs += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    messages = [message for log in logs for message in log["messages"]]
    assert all(log["model"] for log in logs)
    assert {message["role"] for message in messages} == {"system", "user", "assistant", "tool"}
    assert any("tool_calls" in message for message in messages)
    listed = [message["content"] for message in messages if isinstance(message["content"], list)]
    parts = {part["type"] for content in listed for part in content}
    assert {"text", "image_url"} <= parts
    ends = [log["messages"][-1]["content"] for log in logs]
    assert "" in ends
    assert None in ends


def test_the_spreadsheet_has_twelve_rows_and_each_bot_answers_each_prompt() -> None:
    with (EXAMPLES / "replies.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["prompt", "bot", "answer", "gold1", "gold2", "score"]
    assert len(rows) == len({(row["prompt"], row["bot"]) for row in rows}) == 12
    assert sum(not row["score"] for row in rows) == 1
