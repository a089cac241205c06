"""The chat logs in tests/shapes: each is recognised by one importer, and becomes the records that it should."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from importing import imported, save

import rejoinder
from rejoinder.cli.score import command
from rejoinder.data.importers import File, ImportOptions, ImportTally, import_places
from rejoinder.data.tables.detection import Sample, detect_format, list_claims, take_sample
from rejoinder.types import Item, Response

SHAPES = Path(__file__).parent / "shapes"
# Items, responses, ratings and preferences.
COUNTS = {
    "openai_messages.jsonl": (3, 3, 3, 0),
    "openai_sharegpt.json": (2, 2, 0, 0),
    "openai_wildchat.jsonl": (3, 3, 0, 0),
    "openai_lmsys.jsonl": (2, 2, 0, 0),
    "openai_gemini.jsonl": (2, 2, 0, 0),
    "openai_finetune.jsonl": (2, 2, 0, 0),
    "openai_responses.jsonl": (3, 3, 0, 0),
    "openai_calls.jsonl": (2, 3, 0, 0),
    "openai_batch_input.jsonl": (3, 0, 0, 0),
    "openai_batch_output.jsonl": (0, 2, 0, 0),
    "openai_batch_responses_output.jsonl": (0, 3, 0, 0),
    "anthropic_calls.jsonl": (2, 2, 1, 0),
    "anthropic_wrapped.json": (3, 3, 0, 0),
    "anthropic_conversations.jsonl": (3, 3, 0, 0),
    "anthropic_batch_requests.jsonl": (3, 0, 0, 0),
    "anthropic_batch_results.jsonl": (0, 2, 0, 0),
    "chatgpt_conversations.json": (3, 5, 0, 0),
    "chatgpt_conversation.json": (1, 1, 0, 0),
    "claude_conversations.json": (2, 2, 0, 0),
    "claude_branches.json": (2, 3, 0, 0),
    "langfuse_traces.jsonl": (3, 3, 3, 0),
    "langfuse_traces.csv": (3, 3, 3, 0),
    "langfuse_observations.jsonl": (3, 3, 0, 0),
    "langfuse_trace.json": (1, 1, 1, 0),
    "langfuse_calls.jsonl": (3, 3, 3, 0),
    "langsmith_runs.jsonl": (3, 3, 3, 0),
    "langsmith_runs.csv": (3, 3, 3, 0),
    "langsmith_llm_runs.json": (3, 3, 0, 0),
    "otel_otlp.json": (2, 2, 1, 0),
    "otel_events.jsonl": (3, 3, 0, 0),
    "otel_spans.jsonl": (3, 3, 0, 0),
    "otel_console.json": (3, 3, 0, 0),
    "otel_logs.json": (3, 3, 3, 0),
}
FERRY = "Does the ferry run on Sundays?"
YES = "Yes, every two hours from nine."
BICYCLE = "Can I take my bicycle?"
FREE = "Bicycles travel free on the lower deck."


def sample_of(path: Path) -> Sample:
    return take_sample(path.read_bytes()[: 2**18], path.name)


def test_every_log_in_the_folder_is_counted_here() -> None:
    names = {"openai", "anthropic", "chatgpt", "claude", "langfuse", "langsmith", "otel"}
    assert {p.name for p in SHAPES.iterdir() if p.name.partition("_")[0] in names} <= COUNTS.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_one_importer_recognises_a_log_and_reads_it(name: str) -> None:
    path, tally = SHAPES / name, ImportTally()
    claims = list_claims(sample_of(path))
    assert claims == [name.partition("_")[0]]
    # As score reads it: under another name, and with a system for logs that name none.
    file = File(path, name, path.stem)
    places = list(import_places(claims[0], path, ImportOptions(unnamed="assistant", file=file), tally))
    assert tuple(tally.records[kind] for kind in ("item", "response", "rating", "preference")) == COUNTS[name]
    lines = path.read_text(encoding="utf-8").count("\n")
    assert all(place.file == name and 1 <= place.line <= lines for _, place in places)


def inputs_of(name: str) -> list[str]:
    """The files to name for a score: the results of a batch need its requests."""
    stem, _, kind = name.rpartition("_")
    requests = {"output.jsonl": "openai_batch_input.jsonl", "results.jsonl": "anthropic_batch_requests.jsonl"}
    return [str(SHAPES / one) for one in ([requests[kind]] if "batch" in stem else []) + [name]]


def score(tmp_path: Path, files: list[str]) -> tuple[int, str, str]:
    """The exit status, output and error stream of a score."""
    words = [*files, "-m", "length", "-o", str(tmp_path / "run"), "--no-cache", "--processes", "1"]
    result = CliRunner().invoke(command, words)
    return result.exit_code, result.stdout, f"{result.stderr}{result.exception}"


@pytest.mark.parametrize("name", [name for name, counts in COUNTS.items() if counts[1]])
def test_a_log_goes_straight_into_score(tmp_path: Path, name: str) -> None:
    status, _, errors = score(tmp_path, inputs_of(name))
    assert status == 0, errors
    scores = (tmp_path / "run" / "scores.jsonl").read_text(encoding="utf-8")
    assert scores.count("\n") == COUNTS[name][1]


def test_the_results_of_a_batch_alone_say_what_is_missing(tmp_path: Path) -> None:
    status, _, errors = score(tmp_path, [str(SHAPES / "openai_batch_output.jsonl")])
    assert status != 0
    assert "response refers to an unknown item 'ask-0'" in errors
    assert "also name the file that has it" in errors


@pytest.mark.parametrize("name", [name for name in COUNTS if not name.endswith(".csv")])
def test_a_log_in_a_list_or_compressed_is_recognised_too(tmp_path: Path, name: str) -> None:
    raw = (SHAPES / name).read_bytes()
    assert detect_format(take_sample(gzip.compress(raw), f"{name}.gz")) == name.partition("_")[0]
    if name.endswith(".jsonl"):
        listed = save(tmp_path / "list.json", [json.loads(line) for line in raw.splitlines()])
        assert detect_format(sample_of(listed)) == name.partition("_")[0]
        tally = ImportTally()
        list(import_places(name.partition("_")[0], listed, ImportOptions(unnamed="x"), tally))
        assert tally.records["item"] == COUNTS[name][0]


@pytest.mark.parametrize("name", COUNTS)
def test_a_log_that_is_longer_than_the_sample_is_recognised(name: str) -> None:
    raw = (SHAPES / name).read_bytes()
    long = raw.replace(b"bicycle", b"bicycle" + b" and luggage" * 30_000)
    assert detect_format(take_sample(long[: 2**18], name)) == name.partition("_")[0]


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "Hi"}], "response": "Hello.", "model": "m"},
        {"prompt": "Hi", "completion": "Hello."},
        {"input": "Hi", "output": "Hello."},
        {"input": "Hi", "output": "Hello.", "session_id": "a", "name": "b"},
        {"inputs": "Hi", "targets": "Hello."},
        {"context": ["Hi"], "id": "1"},
        {"kind": "item", "id": "1", "context": [{"role": "user", "content": "Hi"}]},
        {"item": "1", "system": "m", "text": "Hello."},
        {"chosen": [{"role": "user", "content": "Hi"}], "rejected": [{"role": "user", "content": "Hi"}]},
        {"attributes": {}, "name": "x"},
        {"mapping": {"a": 1}},
        {"text": "Hi"},
    ],
)
def test_rows_and_records_are_not_taken_for_logs(tmp_path: Path, row: dict[str, Any]) -> None:
    sample = sample_of(save(tmp_path / "rows.jsonl", [row]))
    logs = ("openai", "anthropic", "chatgpt", "claude", "langfuse", "langsmith", "otel")
    assert not set(logs) & set(list_claims(sample))


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_requests_and_results_of_a_batch_are_joined(tmp_path: Path, name: str) -> None:
    requests, results = ("input", "output") if name == "openai" else ("requests", "results")
    result = SHAPES / f"{name}_batch_{results}.jsonl"
    copy = save(tmp_path / "results.jsonl", result.read_text(encoding="utf-8"))
    found = imported(name, copy, companion=str(SHAPES / f"{name}_batch_{requests}.jsonl"))
    pairs = [(found.items[r.item].context[0].text, r.text) for r in found.responses.values()]
    assert pairs == [(FERRY, YES), (BICYCLE, FREE)]
    assert {item.meta["system_prompt"] for item in found.items.values()} == {"Be brief."}


def test_the_requests_of_a_batch_must_exist() -> None:
    options = ImportOptions(companion="nothing.jsonl")
    with pytest.raises(Exception, match=r"nothing\.jsonl: no such file; --with names the file"):
        list(import_places("openai", SHAPES / "openai_batch_output.jsonl", options))


def test_calls_with_the_same_context_are_one_item_in_every_file(tmp_path: Path) -> None:
    found = [
        {record.id for record, _ in import_places(name, SHAPES / f"{name}_{variant}") if isinstance(record, Item)}
        for name, variant in (
            ("openai", "responses.jsonl"),
            ("anthropic", "wrapped.json"),
            ("langsmith", "llm_runs.json"),
            ("otel", "events.jsonl"),
        )
    ]
    assert len(found[0]) == 3
    assert all(ids == found[0] for ids in found)


def test_the_current_branch_of_chatgpt_is_the_dialogue() -> None:
    records = [record for record, _ in import_places("chatgpt", SHAPES / "chatgpt_conversations.json")]
    items = [record for record in records if isinstance(record, Item)]
    assert [turn.text for turn in items[1].context] == [FERRY, YES, BICYCLE]
    replies = {r.id: r.text for r in records if isinstance(r, Response) and r.item == "conv-1/3"}
    assert replies == {"conv-1/3/harbour-2": FREE, "conv-1/3/harbour-2~2": "Yes, for free."}


def test_the_folder_of_a_chatgpt_export_has_ratings_beside_it(tmp_path: Path) -> None:
    export = tmp_path / "export"
    save(export / "conversations.json", (json.loads((SHAPES / "chatgpt_conversations.json").read_bytes())))
    feedback = [
        {"id": "a1", "conversation_id": "conv-1", "rating": "thumbsUp", "content": "{}"},
        {"id": "a2b", "conversation_id": "conv-1", "rating": "thumbsDown"},
        {"id": "gone", "conversation_id": "conv-9", "rating": "thumbsDown"},
    ]
    save(export / "message_feedback.json", feedback)
    save(export / "user.json", {"id": "u"})
    tally = ImportTally()
    found = imported("chatgpt", export, tally)
    rated = [(rating.response, rating.aspect, rating.value) for rating in found.ratings]
    assert rated == [("conv-1/1/harbour-1", "feedback", 1.0), ("conv-1/3/harbour-2~2", "feedback", 0.0)]
    assert tally.left_out["ratings of messages that are not in the file"] == 1
    assert tally.left_out["other files of the export"] == 1
    alone = imported("chatgpt", export / "conversations.json", companion=str(export / "message_feedback.json"))
    assert alone.ratings == found.ratings


def test_the_calls_of_a_session_are_one_conversation_in_the_order_of_time() -> None:
    places = list(import_places("langfuse", SHAPES / "langfuse_traces.jsonl"))
    second = next(record for record, _ in places if isinstance(record, Item) and record.id == "ida/3")
    assert [turn.text for turn in second.context] == [FERRY, YES, BICYCLE]
    lines = {record.id: place.line for record, place in places if isinstance(record, Response)}
    assert lines["ida/1/harbour-bot"] == 2
    assert lines["ida/3/harbour-bot"] == 1


def test_calls_that_repeat_the_history_are_not_joined(tmp_path: Path) -> None:
    said = [{"role": "user", "content": FERRY}, {"role": "assistant", "content": YES}]
    history = [*said, {"role": "user", "content": BICYCLE}]
    rows = [
        {"traceId": "1", "sessionId": "s", "input": said[:1], "output": YES, "model": "m"},
        {"traceId": "2", "sessionId": "s", "input": history, "output": FREE, "model": "m"},
    ]
    found = imported("langfuse", save(tmp_path / "l.jsonl", rows))
    assert [len(item.context) for item in found.items.values()] == [1, 3]
    assert {item.dialogue for item in found.items.values()} == {"s"}
    assert len(found.responses) == 2


def test_scores_of_langfuse_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    save(tmp_path / "x" / "traces.jsonl", (SHAPES / "langfuse_traces.jsonl").read_text(encoding="utf-8"))
    scores = [{"trace_id": "tr-3", "name": "polite", "value": 1, "source": "API", "string_value": None}]
    save(tmp_path / "x" / "scores.jsonl", scores)
    found = imported("langfuse", tmp_path / "x")
    assert [r.value for r in found.ratings if r.aspect == "polite"] == [1.0]
    assert detect_format(sample_of(tmp_path / "x" / "scores.jsonl")) == "langfuse"


def test_a_dataset_of_langsmith_gives_items_with_references(tmp_path: Path) -> None:
    rows = [{"inputs": {"question": FERRY}, "outputs": {"answer": YES}, "metadata": {"split": "base"}}]
    path = save(tmp_path / "d.jsonl", rows)
    assert detect_format(sample_of(path)) == "langsmith"
    (item,) = imported("langsmith", path).items.values()
    assert [turn.text for turn in item.context] == [FERRY]
    assert [reference.text for reference in item.references] == [YES]


def test_turns_of_our_own_schema_may_have_role_and_content(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Tea?"}, {"speaker": "bot", "text": "Yes."}]
    data = rejoinder.read(save(tmp_path / "d.jsonl", [{"id": "d", "turns": turns}]))
    assert [(turn.speaker, turn.text) for turn in data.dialogues["d"].turns] == [("user", "Tea?"), ("bot", "Yes.")]
    with pytest.raises(rejoinder.RejoinderError, match="'text' of a turn in 'turns' of dialogue is a list"):
        rejoinder.read(save(tmp_path / "e.jsonl", [{"id": "d", "turns": [{"role": "user", "content": ["x"]}]}]))


def test_the_contents_of_gemini_have_their_prompt_and_no_thoughts() -> None:
    data = rejoinder.read(SHAPES / "openai_gemini.jsonl")
    assert [response.text for response in data.responses.values()] == ["Yes, until noon.", "Four euros."]
    assert {response.system for response in data.responses.values()} == {"gemini-pro"}
    assert {item.meta["system_prompt"] for item in data.items.values()} == {"You sell bread."}
    assert "message parts that are not text (1)" in data.imported[0]


def test_published_chats_have_their_own_ids_and_say_what_is_not_read() -> None:
    data = rejoinder.read(SHAPES / "openai_wildchat.jsonl")
    assert {item.dialogue for item in data.items.values()} == {"5f0c", "77ab"}
    assert "'language' of messages (6)" in data.imported[0], data.imported[0]
    assert list(rejoinder.read(SHAPES / "openai_lmsys.jsonl").items) == ["c1/1", "c2/1"]
