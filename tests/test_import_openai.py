"""Chat logs: what becomes an item, a response, a dialogue, and what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from importing import chat, imported, save

from rejoinder.data.importers import ImportTally
from rejoinder.data.importers._tools import join_tool_calls, list_tool_events
from rejoinder.data.inputs import Input, import_
from rejoinder.errors import InputError
from rejoinder.types import Turn


def test_every_assistant_turn_answers_what_was_said_before_it(tmp_path: Path) -> None:
    log = save(
        tmp_path / "log.json", chat("Hello!", "Hi.", "Is it late?", "It is nine.", "Bye!", model="parrot", id="c7")
    )
    found = imported("openai", log)
    assert list(found.items) == ["c7/1", "c7/3"]
    second = found.items["c7/3"]
    assert second.context == (Turn("Hello!", "user"), Turn("Hi.", "assistant"), Turn("Is it late?", "user"))
    assert second.future == (Turn("Bye!", "user"),)
    assert second.dialogue == "c7"
    response = found.responses["c7/3/parrot"]
    assert (response.item, response.system, response.text) == ("c7/3", "parrot", "It is nine.")


def test_the_named_system_goes_before_the_model_of_the_log(tmp_path: Path) -> None:
    log = save(tmp_path / "log.json", chat("a", "b", model="parrot"))
    assert list(imported("openai", log, system="cockatoo").responses) == ["log-1/1/cockatoo"]


def test_a_message_may_name_its_own_model(tmp_path: Path) -> None:
    log = chat("a", "b", model="parrot")
    log["messages"][1]["model"] = "macaw"
    assert list(imported("openai", save(tmp_path / "log.json", log)).responses) == ["log-1/1/macaw"]


def test_a_log_without_a_model_asks_for_the_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.jsonl line 1: the log has no 'model'; .*--system NAME"):
        imported("openai", save(tmp_path / "log.jsonl", [chat("a", "b")]))


def test_a_conversation_without_an_id_is_named_after_its_file_and_line(tmp_path: Path) -> None:
    log = save(tmp_path / "log.jsonl", [chat("a", "b"), chat("c", "d")])
    assert [item.dialogue for item in imported("openai", log, system="x").items.values()] == ["log-1", "log-2"]


def test_a_list_and_lines_and_gzip_give_the_same_records(tmp_path: Path) -> None:
    logs = [chat("a", "b", id=1), chat("c", "d", id=2)]
    listed = imported("openai", save(tmp_path / "list.json", logs), system="x")
    lines = save(tmp_path / "lines.jsonl", logs)
    zipped = tmp_path / "lines.jsonl.gz"
    zipped.write_bytes(gzip.compress(lines.read_bytes()))
    assert listed == imported("openai", lines, system="x") == imported("openai", zipped, system="x")


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    save(logs / "b.json", chat("c", "d"))
    save(logs / "a" / "z.jsonl", [chat("a", "b")])
    save(logs / "notes.md", "not a log")
    save(logs / ".hidden.json", "not a log")
    tally = ImportTally()
    assert list(imported("openai", logs, tally, system="x").items) == ["z-1/1", "b-1/1"]
    assert sum(tally.left_out.values()) == 1


def test_prompts_of_the_system_and_the_developer_are_no_turns(tmp_path: Path) -> None:
    log = chat("Hello!", "Ahoy.", model="parrot", id="c")
    log["messages"].insert(0, {"role": "system", "content": "You are a pirate."})
    log["messages"].insert(1, {"role": "developer", "content": "Be brief."})
    item = imported("openai", save(tmp_path / "log.json", log)).items["c/1"]
    assert item.context == (Turn("Hello!", "user"),)
    assert item.meta == {"system_prompt": "You are a pirate.\nBe brief."}


def test_tool_calls_and_tool_messages_are_counted_and_left_out(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "weather"}}]},
        {"role": "tool", "tool_call_id": "t", "content": "rain"},
        {"role": "assistant", "content": "It rains."},
    ]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "log.json", {"messages": messages, "id": "c"}), tally, system="x")
    assert found.items["c/1"].context == (Turn("What is the weather?", "user"),)
    assert found.items["c/1"].meta == {"left_out": {"tool calls without text": 1, "tool messages": 1}}
    assert found.responses["c/1/x"].text == "It rains."
    assert found.responses["c/1/x"].meta == {"tool_calls": [{"name": "weather", "result": "rain"}]}
    assert tally.left_out == {"tool calls without text": 1, "tool messages": 1}


def test_calls_for_earlier_replies_belong_to_the_item(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Rain in Lund and Malmö?"},
        {"role": "assistant", "tool_calls": [_call("a", "Lund"), _call("b", "Malmö")]},
        {"role": "tool", "tool_call_id": "b", "content": "dry"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "rain"}]},
        {"role": "assistant", "content": "Only in Lund."},
        {"role": "user", "content": "And tomorrow?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [_call("c", "Lund")]},
    ]
    found = imported("openai", save(tmp_path / "log.json", {"messages": messages, "id": "c"}), system="x")
    calls = [
        {"name": "weather", "arguments": '{"in": "Lund"}', "result": "rain"},
        {"name": "weather", "arguments": '{"in": "Malmö"}', "result": "dry"},
    ]
    assert found.responses["c/1/x"].meta == {"tool_calls": calls}
    assert found.items["c/3"].meta["tool_calls"] == calls
    assert found.responses["c/3/x"].meta == {"tool_calls": [{"name": "weather", "arguments": '{"in": "Lund"}'}]}


def _call(name: str, where: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "weather", "arguments": f'{{"in": "{where}"}}'}}


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "sum", "input": {"of": [1, 2]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "3"}]},
        ],
        [
            {"type": "function_call", "id": "f", "call_id": "t", "name": "sum", "arguments": {"of": [1, 2]}},
            {"type": "function_call_output", "call_id": "t", "output": "3"},
        ],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "sum", "arguments": {"of": [1, 2]}}},
            {"role": "function", "name": "sum", "content": "3"},
        ],
        [
            {"role": "ai", "content": "", "tool_calls": [{"name": "sum", "args": {"of": [1, 2]}, "id": "t"}]},
            {"role": "tool", "tool_call_id": "t", "content": "3"},
        ],
    ],
)
def test_calls_of_every_kind_are_read(messages: list[dict[str, Any]]) -> None:
    events = [event for message in messages for event in list_tool_events(message)]
    assert join_tool_calls(events) == [{"name": "sum", "arguments": {"of": [1, 2]}, "result": "3"}]


def test_a_result_without_its_call_stands_alone() -> None:
    result = {"role": "tool", "tool_call_id": "t", "name": "sum", "content": "3"}
    other = {"role": "assistant", "tool_calls": [{"id": "u", "function": {"name": "map"}}, "odd"]}
    events = [event for message in (other, result, "odd") for event in list_tool_events(message)]
    assert join_tool_calls(events) == [{"name": "map"}, {"name": "sum", "result": "3"}]


def test_a_call_with_words_is_a_turn(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "t"}]},
    ]
    assert imported("openai", save(tmp_path / "l.json", {"messages": messages}), system="x").responses["l-1/1/x"]


def test_text_parts_are_joined_and_other_parts_counted(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    parts = [{"type": "text", "text": "Look!"}, picture, {"type": "text", "text": "What is it?"}]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": "A cat."}]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.json", {"messages": messages}), tally, system="x")
    assert found.items["l-1/1"].context == (Turn("Look!\nWhat is it?", "user"),)
    assert tally.left_out == {"message parts that are not text": 1}


@pytest.mark.parametrize("content", [None, "", "  \n"])
def test_an_empty_reply_is_no_response_but_counted(tmp_path: Path, content: str | None) -> None:
    messages = [
        *chat("a", "b")["messages"],
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": content},
    ]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.json", {"messages": messages}), tally, system="x")
    assert len(found.responses) == 1
    assert tally.left_out == {"empty assistant messages": 1}


def test_a_refusal_is_what_the_assistant_said(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "refusal": "I cannot."}]
    found = imported("openai", save(tmp_path / "l.json", {"messages": messages}), system="x")
    assert found.responses["l-1/1/x"].text == "I cannot."


def test_neighbouring_messages_of_one_role_stay_apart(tmp_path: Path) -> None:
    messages = [
        {"role": role, "content": text} for role, text in (("user", "a"), ("assistant", "b"), ("assistant", "c"))
    ]
    found = imported("openai", save(tmp_path / "l.json", {"messages": messages}), system="x")
    assert found.items["l-1/2"].context == (Turn("a", "user"), Turn("b", "assistant"))


def test_a_greeting_that_opens_a_conversation_answers_nothing(tmp_path: Path) -> None:
    messages = [{"role": "assistant", "content": "Welcome!"}, *chat("a", "b")["messages"]]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.json", {"messages": messages}), tally, system="x")
    assert [item.context[0].text for item in found.items.values()] == ["Welcome!"]
    assert tally.left_out == {"assistant messages that open a conversation": 1}


def test_two_models_answer_one_item_where_their_contexts_agree(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    save(logs / "a.jsonl", [chat("Hello!", "Hi.", "And now?", "Nothing.", id="c", model="a")])
    save(logs / "b.jsonl", [chat("Hello!", "Good day.", "And now?", "Tea.", id="c", model="b")])
    found = imported("openai", logs)
    assert {response.item for response in found.responses.values()} == {"c/1", "c/3", "b/c/3"}
    assert {r.system for r in found.responses.values() if r.item == "c/1"} == {"a", "b"}
    assert found.items["b/c/3"].context[1] == Turn("Good day.", "assistant")
    assert {item.dialogue for item in found.items.values()} == {"c"}


def test_without_ids_systems_meet_where_they_answered_the_same_context(tmp_path: Path) -> None:
    logs = [
        chat("Hello!", "Hi.", "Tea?", "Yes.", model="a"),
        chat("Hello!", "Yo.", "Tea?", "No.", model="b"),
        chat("Hello!", "Hi.", model="a"),
    ]
    found = imported("openai", save(tmp_path / "l.jsonl", logs))
    assert [(r.item, r.system) for r in found.responses.values()] == [
        ("l-1/1", "a"),
        ("l-1/3", "a"),
        ("l-1/1", "b"),
        ("l-2/3", "b"),
        ("l-3/1", "a"),
    ]
    assert [item.dialogue for item in found.items.values()] == ["l-1", "l-1", "l-2", "l-3"]


def test_one_id_for_two_conversations_puts_the_file_in_front(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    save(logs / "monday.jsonl", [chat("Hello!", "Hi.", id="1", model="a")])
    save(logs / "tuesday.jsonl", [chat("Good evening!", "Hi.", id="1", model="a")])
    found = imported("openai", logs)
    assert {name: item.dialogue for name, item in found.items.items()} == {"1/1": "1", "tuesday/1/1": "tuesday/1"}


def test_a_log_of_every_call_does_not_count_a_reply_twice(tmp_path: Path) -> None:
    logs = [chat("a", "b", id="c"), chat("a", "b", "c", "d", id="c")]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.jsonl", logs), tally, system="x")
    assert list(found.responses) == ["c/1/x", "c/3/x"]
    assert tally.left_out == {"replies that were read already": 1}


def test_a_second_reply_of_one_system_gets_an_item_of_its_own(tmp_path: Path) -> None:
    logs = [chat("a", "b", id="c"), chat("a", "other", id="c"), chat("a", "third", id="c")]
    found = imported("openai", save(tmp_path / "l.jsonl", logs), system="x")
    assert [(r.item, r.text) for r in found.responses.values()] == [
        ("c/1", "b"),
        ("l/c/1", "other"),
        ("l/c/1~2", "third"),
    ]


def test_another_system_prompt_is_kept_with_the_response(tmp_path: Path) -> None:
    first, second = chat("a", "b", id="c", model="x"), chat("a", "d", id="c", model="y")
    second["messages"].insert(0, {"role": "system", "content": "Be rude."})
    found = imported("openai", save(tmp_path / "l.jsonl", [first, second]))
    assert found.items["c/1"].meta == {}
    assert found.responses["c/1/y"].meta == {"system_prompt": "Be rude."}


def test_max_turns_keeps_the_last_turns_and_says_so(tmp_path: Path) -> None:
    log = save(tmp_path / "l.json", chat("a", "b", "c", "d"))
    found = imported("openai", log, system="x", max_turns=2)
    assert [(i.truncated, len(i.context)) for i in found.items.values()] == [(False, 1), (True, 2)]
    assert found.items["l-1/3"].context[0].text == "b"


def test_sharegpt_logs_are_read_too(tmp_path: Path) -> None:
    turns = [{"from": "system", "value": "S"}, {"from": "human", "value": "Hello!"}, {"from": "gpt", "value": "Hi."}]
    found = imported("openai", save(tmp_path / "l.json", [{"id": "s", "conversations": turns}]), system="x")
    assert found.items["s/1"].context == (Turn("Hello!", "user"),)
    assert found.responses["s/1/x"].text == "Hi."


def test_logs_with_input_and_output_are_read_too(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
    ]
    log = {"id": "r", "model": "m", "instructions": "Be kind.", "input": "Hello!", "output": output}
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.json", log), tally)
    (item,) = found.items.values()
    assert item.meta == {"system_prompt": "Be kind.", "left_out": {"entries that are no messages": 1}}
    assert [(r.item, r.system, r.text) for r in found.responses.values()] == [(item.id, "m", "Hi.")]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ([], "empty list"),
        (17, "expected an object with 'messages', found 17"),
        ({"turns": []}, r"has no 'messages' \(found keys: 'turns'\)"),
        ({"messages": "hello"}, "'messages' is 'hello'; it must be a list"),
        ({"messages": ["x", 3]}, "message 2: expected an object with 'role' and 'content', found 3"),
        ({"messages": [{"content": "x"}]}, "message 1: has no 'role'"),
        ({"messages": [{"role": "assitant", "content": "x"}]}, "unknown role 'assitant'; did you mean 'assistant'"),
        ({"messages": [{"role": "user", "content": 7}]}, "a part of 'content' is 7"),
        ({"messages": [{"role": "user", "content": "x"}], "id": []}, "'id' is \\[\\]"),
        ({"messages": [{"role": "user", "content": "x"}]}, "nothing in it could be imported"),
        ({"messages": []}, r"left out: conversations without a turn \(1\)"),
    ],
)
def test_a_log_that_is_none_is_told_in_one_line(tmp_path: Path, log: object, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        imported("openai", save(tmp_path / "l.json", log), system="x")
    assert "\n" not in str(caught.value)


def test_what_a_log_holds_besides_its_messages_is_counted_as_left_out(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Hi", "name": "", "annotations": []},
        {"role": "assistant", "content": "Hello", "pace": "good", "refusal": None},
        {"role": "tool", "content": "3", "tool_call_id": "t"},
    ]
    logs = [{"id": str(n), "model": "m", "mood": n + 1, "usage": None, "messages": said} for n in range(3)]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.jsonl", logs), tally)
    counted = {"tool messages": 3, "'mood' of conversations": 3, "'pace' of messages": 3}
    assert tally.left_out == counted
    assert all("left_out" not in item.meta for item in found.items.values())
    read = Input(tmp_path / "l.jsonl")
    assert len(list(read.records())) == 6
    assert read.left_out == counted


def test_ratings_in_a_log_become_ratings(tmp_path: Path) -> None:
    log = chat("Tea?", "Yes.", "Milk?", "No.", model="m", id="c", rating=4)
    log["messages"][1]["feedback"] = {"rating": "thumbs_up", "comment": "quick"}
    log["messages"][3]["thumbs"] = "down"
    alone = chat("Tea?", "Yes.", model="m", id="d", score="2.5", feedback=["up", {"name": "tone", "value": 3}, "odd"])
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "l.jsonl", [log, alone]), tally)
    assert [(r.response or r.dialogue, r.aspect, r.value, r.rater) for r in found.ratings] == [
        ("c/1/m", "feedback", 1.0, "unnamed:1"),
        ("c/3/m", "thumbs", 0.0, "unnamed:1"),
        ("c", "rating", 4.0, "unnamed:1"),
        ("d/1/m", "score", 2.5, "unnamed:1"),
        ("d/1/m", "feedback", 1.0, "unnamed:1"),
        ("d/1/m", "tone", 3.0, "unnamed:1"),
    ]
    assert found.ratings[0].meta == {"comment": "quick"}
    assert tally.left_out == {"ratings that are not numbers": 1}
    named = imported("openai", tmp_path / "l.jsonl", rater="ann")
    assert {rating.rater for rating in named.ratings} == {"ann"}


def test_words_among_numbers_are_refused_in_a_log_too(tmp_path: Path) -> None:
    logs = [chat("Tea?", "Yes.", model="m", id=str(n), rating=value) for n, value in enumerate((4, "good", 5))]
    with pytest.raises(InputError, match="the ratings 'rating' are words such as good in one place and numbers in"):
        imported("openai", save(tmp_path / "l.jsonl", logs))


def test_several_ratings_of_a_reply_in_a_log_are_of_people_without_names(tmp_path: Path) -> None:
    log = chat("Tea?", "Yes.", model="m", id="d", rating=[4, 5])
    found = imported("openai", save(tmp_path / "l.jsonl", [log]))
    assert [(rating.rater, rating.value) for rating in found.ratings] == [("unnamed:1", 4), ("unnamed:2", 5)]


def test_a_key_of_its_own_for_each_log_is_counted_under_others(tmp_path: Path) -> None:
    tally = ImportTally()
    logs = [{**chat("a", "b", id=str(n), model="m"), f"key {n}": 1} for n in range(100)]
    imported("openai", save(tmp_path / "l.jsonl", logs), tally)
    assert tally.left_out["other keys of conversations"] == 60
    assert tally.left_out["'key 0' of conversations"] == 1


def test_the_keys_of_what_is_not_a_chat_log_are_named_in_order(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text('{"zebra": 1, "ant": 2}')
    with pytest.raises(InputError, match=r"not a chat log: it has no 'messages' \(found keys: 'ant, zebra'\)"):
        list(import_("openai", path))
