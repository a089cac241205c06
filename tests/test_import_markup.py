"""Markup in the texts of foreign files: what is stripped, what is split into turns, and what only looks like it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from importing import imported, save

import rejoinder
from rejoinder.cli import program
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.data.importers._markup import split_template, split_transcript, strip_reasoning
from rejoinder.data.importers._markup_stripper import REASONING, TAGS, TEMPLATES, TRANSCRIPTS
from rejoinder.errors import InputError

CHATML = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nRye?<|im_end|>\n"
    "<|im_start|>assistant\nOn Friday.<|im_end|>\n<|im_start|>user\nOnly then?<|im_end|>\n<|im_start|>assistant\n"
)
LLAMA2 = "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nRye? [/INST] On Friday. </s><s>[INST] Only then? [/INST]"
LLAMA3 = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nRye?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nOn Friday.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nOnly then?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
)
GEMMA = (
    "<bos><start_of_turn>system\nBe brief.<end_of_turn>\n<start_of_turn>user\nRye?<end_of_turn>\n"
    "<start_of_turn>model\nOn Friday.<end_of_turn>\n<start_of_turn>user\nOnly then?<end_of_turn>\n"
)
PHI = (
    "<|system|>\nBe brief.<|end|>\n<|user|>\nRye?<|end|>\n<|assistant|>\nOn Friday.<|end|>\n<|user|>\nOnly then?<|end|>"
)
HUMAN = "\n\nHuman: Rye?\n\nAssistant: On Friday.\n\nHuman: Only then?\n\nAssistant:"
TURNS = [("user", "Rye?"), ("assistant", "On Friday."), ("user", "Only then?")]


def read_row(path: Path, row: dict[str, Any], **options: Any) -> tuple[list[tuple[str | None, str]], str, ImportTally]:
    """The turns, the reply and the tally of a row."""
    tally = ImportTally()
    found = imported("jsonl", save(path / "rows.jsonl", [{"model": "m", **row}]), tally, **options)
    (item,), (response,) = found.items.values(), found.responses.values()
    return [(turn.speaker, turn.text) for turn in item.context], response.text, tally


@pytest.mark.parametrize("prompt", [CHATML, LLAMA2, LLAMA3, GEMMA, PHI])
def test_a_prompt_in_a_chat_template_is_split_into_turns(tmp_path: Path, prompt: str) -> None:
    path = save(tmp_path / "rows.jsonl", [{"prompt": prompt, "response": "No.<|im_end|>", "model": "m"}])
    tally = ImportTally()
    found = imported("jsonl", path, tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [(turn.speaker, turn.text) for turn in item.context] == TURNS
    assert item.meta == {"system_prompt": "Be brief."}
    assert response.text == "No."
    assert tally.changes == {TEMPLATES: 1, TAGS: 1}
    assert f"{TEMPLATES} (1)" in tally.summary("jsonl")


def test_a_transcript_is_split_into_turns(tmp_path: Path) -> None:
    turns, reply, tally = read_row(tmp_path, {"prompt": HUMAN, "response": " Assistant: No."})
    assert (turns, reply) == (TURNS, "No.")
    assert tally.changes == {TRANSCRIPTS: 1, "names of roles removed from texts": 1}


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("User: a\nAI: b\nUser: c\nstill c", [("user", "a"), ("assistant", "b"), ("user", "c\nstill c")]),
        ("System: be\nuser: a\nbot: b", [("system", "be"), ("user", "a"), ("assistant", "b")]),
        ("Be kind.\n\nHuman: Rye?\n\nAssistant:", [("system", "Be kind."), ("user", "Rye?")]),
        ("**User:** a\n\n**Assistant:** b", [("user", "a"), ("assistant", "b")]),
        ("Note: a\nBot: b", None),
        ("Hamlet: a\nOphelia: b\nHamlet: c", None),
        ("User: root", None),
        ("User: root\nSystem: Linux", None),
        ("User: a\nUser: b\nBot: c", None),
        ("Why does it end?\nUser: a\nBot: b", None),
        ("The user: I said, assistant: no", None),
    ],
)
def test_which_texts_are_transcripts(text: str, turns: list[tuple[str, str]] | None) -> None:
    assert split_transcript(text) == turns


@pytest.mark.parametrize(
    "text",
    [
        "What do <|im_start|>user and <|im_end|> mean?",
        "`<|im_start|>user` begins a turn.",
        "It is:\n```\n<|im_start|>user\nHi.<|im_end|>\n```\nClear?",
        "[INST] is a tag of Llama 2.",
        "if (a < b) return <T>;",
    ],
)
def test_a_text_about_tags_stays(tmp_path: Path, text: str) -> None:
    assert split_template(text) is None
    turns, reply, tally = read_row(tmp_path, {"prompt": text, "response": text + "!"})
    assert (turns, reply) == ([(None, text)], text + "!")
    assert not tally.changes + tally.left_out


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>\nRye... Friday.\n</think>\n\nOn Friday.", "On Friday."),
        ("<think></think>On Friday.", "On Friday."),
        ("Rye... Friday.\n</think>\n\nOn Friday.", "On Friday."),
        ("<thinking>a ``` b</thinking> On Friday.", "On Friday."),
        ("First.\n<think>Hm.</think>\nSecond.", "First.\nSecond."),
        ("<think>Rye... is", ""),
        ("Write `<think>` first and `</think>` last.", "Write `<think>` first and `</think>` last."),
        ("```\n<think>\nHm.\n</think>\n```\nlike this", "```\n<think>\nHm.\n</think>\n```\nlike this"),
        ("I think <think> is a tag.", "I think <think> is a tag."),
    ],
)
def test_what_is_left_of_a_text_with_reasoning(text: str, spoken: str) -> None:
    assert strip_reasoning(text) == spoken


def test_a_text_with_very_many_tags_is_read_in_one_pass() -> None:
    for text in ("a\n" + "<think>\n" * 20_000, "a\n<think>x</think>\n" * 20_000, " \n" * 100_000 + "<think"):
        start = time.process_time()
        strip_reasoning(text)
        split_template(text)
        assert time.process_time() - start < 5


def test_reasoning_is_left_out_of_replies_references_and_turns_of_bots(tmp_path: Path) -> None:
    thought = "<think>Hm.</think>"
    messages = [
        {"role": "user", "content": f"{thought} is a tag?"},
        {"role": "assistant", "content": f"{thought}Yes."},
        {"role": "user", "content": "Sure?"},
    ]
    row = {"messages": messages, "response": f"{thought}\nSure.", "reference": f"{thought}Quite.", "model": "m"}
    tally = ImportTally()
    found = imported("jsonl", save(tmp_path / "r.jsonl", [row]), tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [turn.text for turn in item.context] == [f"{thought} is a tag?", "Yes.", "Sure?"]
    assert (item.references[0].text, response.text) == ("Quite.", "Sure.")
    assert tally.left_out == {REASONING: 3}


def test_a_thought_without_an_end_is_an_empty_reply(tmp_path: Path) -> None:
    row = {"prompt": "Rye?", "response": "<think>Rye... is", "model": "m"}
    path = save(tmp_path / "rows.jsonl", [row, {**row, "prompt": "Oats?", "response": "No."}])
    with pytest.raises(InputError, match=r"line 1: the reply in 'response' is empty"):
        imported("jsonl", path)
    tally = ImportTally()
    assert len(imported("jsonl", path, tally, empty="drop").responses) == 1
    assert tally.left_out == {"empty replies": 1, REASONING: 1}
    with pytest.raises(InputError, match=r"is empty.*--empty nan"):
        rejoinder.read(path)


def test_markup_is_kept_if_the_user_says_so(tmp_path: Path) -> None:
    for prompt, response in ((CHATML, "No.<|im_end|>"), (HUMAN, "<think>Hm.</think>No.")):
        turns, reply, tally = read_row(tmp_path, {"prompt": prompt, "response": response}, markup="keep")
        assert (turns, reply) == ([(None, prompt.strip("\n"))], response)
        assert not tally.changes + tally.left_out


def test_a_reply_with_the_whole_conversation_is_its_last_turn(tmp_path: Path) -> None:
    whole = CHATML + "No."
    _, reply, tally = read_row(tmp_path, {"prompt": "Rye?", "response": whole})
    assert reply == "No."
    assert tally.left_out == {"turns before the reply in its own text": 4}
    beyond = "No.<|im_end|>\n<|im_start|>user\nThanks!<|im_end|>"
    _, reply, tally = read_row(tmp_path, {"prompt": "Rye?", "response": beyond})
    assert reply == "No."
    assert tally.left_out == {"turns after the reply in its own text": 1}
    _, reply, _ = read_row(tmp_path, {"prompt": "Rye?", "response": "Human: Rye?\n\nAssistant: No."})
    assert reply == "No."
    quoted = "User: Hello!\nAssistant: Good day."
    _, reply, _ = read_row(tmp_path, {"prompt": "Write a dialogue.", "response": quoted})
    assert reply == quoted


def test_the_rule_about_the_last_turn_sees_the_turns_of_a_transcript(tmp_path: Path) -> None:
    prompt = "Human: Rye?\n\nAssistant: On Friday."
    turns, _, tally = read_row(tmp_path, {"prompt": prompt, "response": "On Friday."})
    assert turns == [("user", "Rye?")]
    assert tally.left_out == {"last turns equal to the reply": 1}


def test_the_lines_of_a_list_may_begin_with_roles(tmp_path: Path) -> None:
    turns, _, _ = read_row(
        tmp_path, {"history": ["User: Rye?", "Bot: On Friday.", "User: Only then?"], "response": "No."}
    )
    assert turns == TURNS
    turns, reply, _ = read_row(tmp_path, {"prompt": "User: Rye?", "response": "Bot: No."})
    assert (turns, reply) == ([("user", "Rye?")], "No.")
    turns, reply, _ = read_row(tmp_path, {"prompt": "User: Rye?", "response": "No."})
    assert (turns, reply) == ([(None, "User: Rye?")], "No.")


def test_chat_logs_lose_their_markup_too(tmp_path: Path) -> None:
    log = {"model": "m", "prompt": CHATML, "choices": [{"text": "<think>Hm.</think>No.<|im_end|>"}]}
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "calls.jsonl", [log]), tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [(turn.speaker, turn.text) for turn in item.context] == TURNS
    assert (item.meta["system_prompt"], response.text) == ("Be brief.", "No.")
    assert tally.changes == {TEMPLATES: 1, TAGS: 1}
    assert tally.left_out == {REASONING: 1}
    found = imported("openai", tmp_path / "calls.jsonl", markup="keep")
    assert next(iter(found.responses.values())).text == "<think>Hm.</think>No.<|im_end|>"


def test_a_message_that_was_only_thought_is_no_reply(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Rye?"},
        {"role": "assistant", "content": "<think>Hm."},
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": "<think>Hm.</think>No."},
    ]
    tally = ImportTally()
    found = imported("openai", save(tmp_path / "log.jsonl", [{"id": "c", "model": "m", "messages": said}]), tally)
    (item,), (response,) = found.items.values(), found.responses.values()
    assert [turn.text for turn in item.context] == ["Rye?", "Well?"]
    assert response.text == "No."
    assert tally.left_out == {REASONING: 2, "empty assistant messages": 1}


def test_preferences_and_text_files_lose_their_markup_too(tmp_path: Path) -> None:
    row = {"prompt": CHATML, "chosen": "<think>Hm.</think>No.", "rejected": "Yes.<|im_end|>"}
    found = imported("preferences", save(tmp_path / "p.jsonl", [row]))
    (item,) = found.items.values()
    assert [(turn.speaker, turn.text) for turn in item.context] == TURNS
    assert {response.text for response in found.responses.values()} == {"No.", "Yes."}
    contexts, replies = tmp_path / "contexts.txt", tmp_path / "replies.txt"
    contexts.write_text("Rye?\n", encoding="utf-8")
    replies.write_text("<think>Hm.</think>No.\n", encoding="utf-8")
    for markup, text in (("strip", "No."), ("keep", "<think>Hm.</think>No.")):
        options = ImportOptions(markup=markup)  # type: ignore[arg-type]
        (response,) = rejoinder.read(f"text:{contexts},{replies}", options=options).responses.values()
        assert response.text == text


def test_the_texts_of_our_own_schema_are_texts(tmp_path: Path) -> None:
    records = [
        {"kind": "item", "id": "q", "context": [{"text": HUMAN}]},
        {"kind": "response", "id": "q/m", "item": "q", "system": "m", "text": "<think>Hm.</think>No."},
    ]
    own = rejoinder.read(save(tmp_path / "own.jsonl", records))
    renamed = [{("id_" if key == "id" else key): value for key, value in record.items()} for record in records]
    for found in (own, imported("jsonl", save(tmp_path / "renamed.jsonl", renamed), fields={"id": "id_"})):
        assert found.items["q"].context[0].text == HUMAN.strip("\n") or found is own
        assert found.responses["q/m"].text == "<think>Hm.</think>No."


def test_the_command_line_says_what_was_stripped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "rows.jsonl", [{"prompt": HUMAN, "response": "<think>Hm.</think>No.", "model": "m"}])
    result = CliRunner().invoke(program, ["score", "rows.jsonl", "-m", "length"])
    assert result.exit_code == 0, result.output
    assert f"{TRANSCRIPTS} (1)" in result.stderr
    assert f"left out: {REASONING} (1)" in result.stderr
    assert CliRunner().invoke(program, ["import", "rows.jsonl", "--markup", "keep", "-o", "o.jsonl"]).exit_code == 0
    records = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert records[1]["text"] == "<think>Hm.</think>No."
    (said,) = rejoinder.read("rows.jsonl").imported
    assert f"{TRANSCRIPTS} (1)" in said
