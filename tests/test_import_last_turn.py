"""A context that ends in the reply: the turn is left out and counted, kept as the user says, or asked about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from importing import imported, save

import rejoinder
from rejoinder.cli import program
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.errors import InputError

ASKED = {"role": "user", "content": "Do you bake rye?"}
SAID = {"role": "assistant", "content": "Every Friday."}
EQUAL = "last turns equal to the reply"


def read_one(path: Path, row: dict[str, Any], **options: Any) -> tuple[list[str], dict[str, int]]:
    """The turns of the only item of a row, and what was left out."""
    tally = ImportTally()
    (item,) = imported("jsonl", save(path / "rows.jsonl", [{"model": "m", **row}]), tally, **options).items.values()
    return [turn.text for turn in item.context], dict(tally.left_out)


def test_a_reply_at_the_end_of_the_messages_is_left_out_and_counted(tmp_path: Path) -> None:
    row = {"messages": [ASKED, SAID], "response": " every  friday.\n"}
    assert read_one(tmp_path, row) == (["Do you bake rye?"], {EQUAL: 1})


def test_a_reply_is_no_longer_scored_as_an_answer_to_itself() -> None:
    row = {"messages": [ASKED, SAID], "response": "Every Friday."}
    assert rejoinder.score([row], ["context_overlap"])["context_overlap"].tolist() == [0.0]


@pytest.mark.parametrize("speaker", ["assistant", "bot", "gpt", "Support Bot", "m"])
def test_the_speaker_may_be_any_bot_or_the_system_itself(tmp_path: Path, speaker: str) -> None:
    row = {"messages": [ASKED, {"role": speaker, "content": "Every Friday."}], "response": "Every Friday."}
    assert read_one(tmp_path, row) == (["Do you bake rye?"], {EQUAL: 1})


def test_a_reference_at_the_end_is_left_out_too(tmp_path: Path) -> None:
    row = {"messages": [ASKED, SAID], "response": "Yes.", "expected": "Every Friday."}
    assert read_one(tmp_path, row) == (["Do you bake rye?"], {"last turns equal to a reference": 1})
    row = {"messages": [ASKED, SAID], "reference": "Every Friday."}
    assert read_one(tmp_path, row) == (["Do you bake rye?"], {"last turns equal to a reference": 1})


def test_in_a_table_of_several_systems_the_reply_of_one_may_be_at_the_end(tmp_path: Path) -> None:
    row = {"messages": [ASKED, SAID], "a": "Yes.", "b": "Every Friday."}
    fields = {"context": "messages", "response:a": "a", "response:b": "b"}
    path = save(tmp_path / "rows.jsonl", [row])
    (item,) = imported("jsonl", path, fields=fields).items.values()
    assert [turn.text for turn in item.context] == ["Do you bake rye?"]


def test_another_last_turn_of_the_bot_is_asked_about(tmp_path: Path) -> None:
    row = {"messages": [ASKED, SAID], "response": "Yes."}
    with pytest.raises(InputError) as caught:
        read_one(tmp_path, row)
    line = str(caught.value)
    assert "\n" not in line
    for part in ("line 1", "'Every Friday.'", "'Yes.'", "--last-turn drop", "--last-turn keep"):
        assert part in line
    assert read_one(tmp_path, row, last_turn="drop") == (
        ["Do you bake rye?"], {"last turns that are another reply": 1}
    )  # fmt: skip
    assert read_one(tmp_path, row, last_turn="keep") == (["Do you bake rye?", "Every Friday."], {})


def test_a_last_turn_without_a_speaker_that_equals_the_reply_is_asked_about(tmp_path: Path) -> None:
    row = {"history": ["Do you bake rye?", "Every Friday."], "response": "Every Friday."}
    with pytest.raises(InputError, match=r"no speaker is named.*--last-turn drop.*--last-turn keep"):
        read_one(tmp_path, row)
    assert read_one(tmp_path, row, last_turn="drop")[0] == ["Do you bake rye?"]
    assert read_one(tmp_path, row, last_turn="keep")[0] == ["Do you bake rye?", "Every Friday."]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Hello!", "response": "Hello!"},  # a parrot
        {"messages": [SAID, {"role": "user", "content": "Hi."}], "response": "Hi."},
        {"messages": [ASKED, {"role": "tool", "content": "Rye: Friday."}], "response": "Rye: Friday."},
        {"history": ["Do you bake rye?", "Every Friday.", "Thanks!"], "response": "Bye."},
    ],
)
def test_a_reply_that_repeats_a_customer_or_a_tool_changes_nothing(tmp_path: Path, row: dict[str, Any]) -> None:
    kept, left_out = read_one(tmp_path, row)
    assert len(kept) == len(row.get("messages", row.get("history", [1])))
    assert not left_out


def test_a_context_with_only_the_reply_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: the context holds only a reply"):
        read_one(tmp_path, {"messages": [SAID], "response": "Every Friday."})


def test_records_of_our_schema_are_what_they_are(tmp_path: Path) -> None:
    records = [
        {"kind": "item", "id": "q", "context": [{"speaker": "bot", "text": "Rye."}], "references": ["Rye."]},
        {"kind": "response", "item": "q", "system": "m", "text": "Rye."},
    ]
    found = imported("jsonl", save(tmp_path / "own.jsonl", records))
    assert [turn.text for turn in found.items["q"].context] == ["Rye."]


def test_a_logged_call_whose_messages_hold_the_reply(tmp_path: Path) -> None:
    reply = {"choices": [{"message": SAID}]}
    other = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    for answer, length in ((reply, 1), (other, 2)):
        log = {"request": {"model": "m", "messages": [ASKED, SAID]}, "response": answer}
        tally = ImportTally()
        (item,) = imported("openai", save(tmp_path / "calls.jsonl", [log]), tally).items.values()
        assert len(item.context) == length
        assert tally.left_out[EQUAL] == 2 - length
        (item,) = imported("openai", tmp_path / "calls.jsonl", last_turn="keep").items.values()
        assert len(item.context) == 2


def test_text_files_side_by_side(tmp_path: Path) -> None:
    contexts, replies = tmp_path / "contexts.txt", tmp_path / "replies.txt"
    contexts.write_text("Rye?|On Friday.\n", encoding="utf-8")
    replies.write_text("On Friday.\n", encoding="utf-8")
    name = f"text:{contexts},{replies}"
    with pytest.raises(InputError, match="--last-turn"):
        rejoinder.read(name, options=ImportOptions(separator="|"))
    (item,) = rejoinder.read(name, options=ImportOptions(separator="|", last_turn="drop")).items.values()
    assert [turn.text for turn in item.context] == ["Rye?"]


def test_the_command_line_says_it_and_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "rows.jsonl", [{"messages": [ASKED, SAID], "response": "Every Friday."}])
    result = CliRunner().invoke(program, ["score", "rows.jsonl", "-m", "context_overlap"])
    assert result.exit_code == 0, result.output
    assert f"left out: {EQUAL} (1)" in result.stderr
    save(tmp_path / "rows.jsonl", [{"messages": [ASKED, SAID], "response": "Yes."}])
    result = CliRunner().invoke(program, ["score", "rows.jsonl", "-m", "length"])
    assert "--last-turn drop" in str(result.exception)
    for choice, turns in (("drop", 1), ("keep", 2)):
        out = ["import", "rows.jsonl", "--system", "m", "--last-turn", choice, "-o", "o.jsonl"]
        assert CliRunner().invoke(program, out).exit_code == 0
        item = json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()[0])
        assert len(item["context"]) == turns
        result = CliRunner().invoke(program, ["score", "rows.jsonl", "-m", "length", "--last-turn", choice])
        assert result.exit_code == 0, result.output
