"""What readers of data refuse, each by its own sentence, and what they read at the edge of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from rejoinder.data.collection import collect
from rejoinder.data.dataset_reader import DatasetRow, alternate_speakers, pick_by_index
from rejoinder.data.datasets import dataset
from rejoinder.data.download import FetchError, RetryPolicy, _describe_error, _is_web, dataset_file_url, download_file
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.data.importers import _rows as cells
from rejoinder.data.importers._messages import parse_message
from rejoinder.data.importers.convokit import Utterance, build_threads
from rejoinder.data.importers.dstc10 import parse_ratings, parse_response, parse_transcript
from rejoinder.data.inputs import import_
from rejoinder.data.inputs.seeds import check_statement_category, read_seeds, write_seeds
from rejoinder.data.knowledge import KNOWLEDGE, KnowledgeTriple, find_knowledge_files, normalise_persons, read_triples
from rejoinder.data.questions import find_right_candidates, rank_grades
from rejoinder.data.reader import LONGEST_LINE, InputFile
from rejoinder.data.remote import RemoteFolder, is_remote, join_address, redact_address, split_address
from rejoinder.data.schema import Place, from_object
from rejoinder.data.shards.pack import RECORDS_PER_SHARD
from rejoinder.errors import InputError, SpecError
from rejoinder.files import sha256_of
from rejoinder.types import Candidate, Dialogue, Item, Question, Rating, Response, Turn
from tests.importing import imported, save
from tests.test_datasets import TINY, gupta_row, json_lines, json_list, panda_row, put, sugar_row, usr_row

HERE = Place("x", 3)
HI = [{"text": "Hi."}]


# ---- the schema


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"situation": [3]}, "x line 3: a statement in 'situation' is"),
        ({"situation": [{"text": "a", "kind": "b"}]}, "'kind'"),
        ({"situation": [{"text": "a", "relevant": 1}]}, "relevant"),
        ({"candidates": ["a"]}, "x line 3: a candidate is"),
        ({"candidates": [{"text": "a", "score": 1}]}, "'score'"),
        ({"candidates": [{"text": "a", "grade": True}]}, "a candidate has the grade True"),
        ({"candidates": [{"text": "a", "grade": [1]}]}, r"a candidate has the grade \[1\]"),
        (
            {"candidates": [{"text": "a", "labels": ["x", ""]}]},
            "'labels' of a candidate must be a list of non-empty strings",
        ),
        ({"candidates": [{"text": "a", "labels": "x"}]}, "labels"),
        ({"candidates": 3}, "candidates"),
        ({"context": "Hi."}, "context"),
        ({"split": 3}, "split"),
        ({"meta": 3}, "meta"),
    ],
)
def test_a_question_that_is_not_well_formed_is_told(change: dict[str, Any], told: str) -> None:
    good = {"kind": "question", "id": "q", "context": HI, "candidates": [{"text": "Yes."}]}
    assert isinstance(from_object(good, HERE), Question)
    with pytest.raises(InputError, match=told):
        from_object({**good, **change}, HERE)


def test_the_grades_of_a_question_say_what_is_right() -> None:
    def question(*grades: Any) -> Question:
        return Question("q", (Turn("Hi."),), tuple(Candidate(f"c{n}", str(n), grade) for n, grade in enumerate(grades)))

    assert find_right_candidates(question(1, 3.0, 3)) == {1, 2}
    assert find_right_candidates(question("False", "TRUE")) == {1}
    assert find_right_candidates(question("random", "positive", "adversarial")) == {1}
    assert rank_grades(question("Best", "Bad", "Acceptable")) == [2.0, 0.0, 1.0]
    assert find_right_candidates(question(0)) == {0}
    with pytest.raises(InputError, match="question q: candidate 2 has no grade"):
        rank_grades(question(1, None))
    with pytest.raises(InputError, match="belong to no known scale"):
        rank_grades(question("true", "best"))
    with pytest.raises(InputError, match="belong to no known scale"):
        rank_grades(question("true", 1))
    with pytest.raises(InputError, match="all 2 candidates have the same grade"):
        find_right_candidates(question(1, 1))


# ---- published sets


CASES: list[tuple[str, str, bytes, str]] = [
    ("chosen", "human_scores.jsonl", b"[[5], []]\n", "'scores' must be a list of lists of numbers"),
    ("chosen", "human_scores.jsonl", b"{\n", "not valid JSON"),
    (
        "llmbar/natural",
        "natural.json",
        json_list({"input": "a", "output_1": "b", "output_2": "c", "label": 3}),
        "1 or 2",
    ),
    ("pandalm", "testset-v1.json", json_list(panda_row("a", "b", "opt_opt", (0, 0, 0))), "two systems joined by _"),
    ("pandalm", "testset-v1.json", json_list(panda_row("a", "b", "opt", (0, 0, 0))), "two systems joined by _"),
    ("pandalm", "testset-v1.json", json_list(panda_row("a", "b", "a_b", (0, 3, 0))), "0, 1 or 2"),
    (
        "pandalm",
        "testset-v1.json",
        json_list({**panda_row("a", "b", "a_b", (0, 0, 0)), "instruction": " ", "input": ""}),
        "a non-empty string if",
    ),
    (
        "usr/topical_chat",
        "tc_usr_data.json",
        json_list({**usr_row(), "annotators": ["ab"]}),
        "has 2 ratings by 1 raters",
    ),
    ("sugar/0/test", "0/tst.json", json_lines({**sugar_row(0), "s.labels": ["date"]}), "as many as the 2 statements"),
    ("sugar/0/test", "0/tst.json", json_lines({**sugar_row(0), "r.label": 3}), "below 3"),
    (
        "gupta/scarce-single",
        "scarce.singleref.json",
        json_list({**gupta_row("human", ["yes ."]), "context_id": "8_1"}),
        "in the file of human references",
    ),
    ("pang/context", "context_data_release.csv", b'"a\x00b"\n', "cells instead of"),
    ("idk/humod", "HUMOD.tsv", b"\xff\xfe", "not UTF-8 at byte 1"),
    (
        "fed/turn",
        "fed_data.json",
        json_list({"context": "Bot: hi", "system": "Meena", "annotations": {}}),
        "a turn must be 'User: ...' or 'System: ...'",
    ),
]


@pytest.mark.parametrize(("name", "file", "content", "told"), CASES)
def test_a_row_of_a_published_file_that_cannot_be_right_is_told(
    tmp_path: Path, name: str, file: str, content: bytes, told: str
) -> None:
    path = next(one.path for one in dataset(name).files if one.path.endswith(file))
    put(tmp_path, TINY | {path: content})
    with pytest.raises(InputError, match=told):
        list(dataset(name).read(tmp_path))


def test_a_folder_in_the_place_of_a_file_cannot_be_read(tmp_path: Path) -> None:
    put(tmp_path, TINY)
    path = tmp_path / dataset("usr/topical_chat").files[0].path
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        list(dataset("usr/topical_chat").read(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        sha256_of(path)
    with pytest.raises(InputError, match="is a folder, not a file"):
        InputFile(path).open()
    with pytest.raises(InputError, match="no such file"):
        InputFile(tmp_path / "nothing").open()


def test_small_helpers_of_readers() -> None:
    assert [(turn.text, turn.speaker) for turn in alternate_speakers([" a ", "b", "c"])] == [
        ("a", "A"),
        ("b", "B"),
        ("c", "A"),
    ]
    row = DatasetRow({"k": 2}, "here")
    assert pick_by_index(["x", "y"], 1, row, "k") == "y"
    for wrong in (2, -1):
        with pytest.raises(InputError, match="below 2"):
            pick_by_index(["x", "y"], wrong, row, "k")


# ---- knowledge and seeds


def test_triples_of_both_layouts(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("personx~eats\toWant\tto thank person y\nUsedFor\tcup\tdrink\t1\npersonx eats\txneed\tNone.\n\n")
    assert list(read_triples(path)) == [
        KnowledgeTriple("PersonX eats", "oWant", "to thank PersonY"),
        KnowledgeTriple("cup", "UsedFor", "drink"),
    ]
    assert normalise_persons(" person x 's  ~dog ") == "PersonX's dog"
    path.write_text("a\tb\n")
    with pytest.raises(InputError, match="line 1"):
        list(read_triples(path))
    path.write_text("UsedFor\tcup\tfly\t0\nUsedFor\tcup\tdrink\n")
    assert [one.tail for one in read_triples(path)] == ["drink"]  # 0: labelled as false
    for wrong in ("a\tb\tc\t2\n", "a\t \tc\n"):
        path.write_text(wrong)
        with pytest.raises(InputError, match="is not a triple"):
            list(read_triples(path))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_triples(tmp_path))
    path.write_bytes(b"caf\xe9\ta\tb\n")
    with pytest.raises(InputError, match="is not valid UTF-8"):
        list(read_triples(path))


def test_published_knowledge_is_named_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_knowledge_files("a.tsv") == [Path("a.tsv")]
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    with pytest.raises(SpecError, match="no published knowledge is called 'atomc'; did you mean 'atomic'"):
        find_knowledge_files("dataset:knowledge/atomc")
    with pytest.raises(InputError, match=r"dev\.tsv: no such file; ATOMIC is published by its authors"):
        find_knowledge_files("dataset:knowledge/atomic")
    path = tmp_path / KNOWLEDGE["atomic"].files[0].path
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert find_knowledge_files("dataset:knowledge/atomic") == [path]
    assert [file.size for found in KNOWLEDGE.values() for file in found.files] == [4_080_656, 3_454_511]


def seed_file(path: Path, *rows: Any) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


SEED = {"id": "s", "request": "Tea?", "goal": "to warm up", "reply": "Yes."}


def test_seeds_come_back_as_they_were_written(tmp_path: Path) -> None:
    statement = {"text": "It is cold.", "category": "environment"}
    path = seed_file(tmp_path / "a.jsonl", {**SEED, "id": 7, "statements": [statement], "polarity": "yes"}, SEED)
    found = read_seeds(path)
    assert [seed.id for seed in found] == ["7", "s"]
    assert write_seeds(found, tmp_path / "b.jsonl") == 2
    assert read_seeds(tmp_path / "b.jsonl") == found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mood": "good"}, "seed has an unknown key 'mood'"),
        ({"statements": "It is cold."}, "'statements' of seed must be a list"),
        ({"statements": ["It is cold."]}, "a statement must be an object with 'text' and 'category'"),
        ({"statements": [{"text": "a", "category": "date", "x": 1}]}, "a statement must be an object"),
        ({"statements": [{"text": "a"}]}, "a statement has no category; give one of: location"),
        ({"statements": [{"text": "a", "category": "dat"}]}, "no category is called 'dat'; did you mean 'date'"),
        ({"request": ""}, "request"),
        ({"goal": None}, "goal"),
        ({"id": True}, "id"),
    ],
)
def test_a_seed_that_is_not_well_formed_is_told(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_seeds(seed_file(tmp_path / "a.jsonl", {**SEED, **change}))


def test_seeds_of_records_and_ids_that_repeat(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b\.jsonl line 1: the seed 's' is already in .*a\.jsonl line 1"):
        read_seeds(seed_file(tmp_path / "a.jsonl", SEED), seed_file(tmp_path / "b.jsonl", SEED))
    item = {"kind": "item", "id": "i", "context": HI, "meta": {"goal": "to cool off"}}
    with pytest.raises(InputError, match="has no reference; a seed needs the reply"):
        read_seeds(seed_file(tmp_path / "a.jsonl", item))
    found = read_seeds(seed_file(tmp_path / "a.jsonl", {**item, "references": ["Yes.", "No."]}))
    assert [(seed.id, seed.reply) for seed in found] == [("i/1", "Yes."), ("i/2", "No.")]
    asked = {"kind": "question", "id": "q", "context": HI, "candidates": [{"text": "Yes."}], "meta": {"goal": "x"}}
    assert read_seeds(seed_file(tmp_path / "a.jsonl", asked))[0].reply == "Yes."
    two = {**asked, "candidates": [{"text": "Yes.", "source": "reference"}, {"text": "No.", "source": "reference"}]}
    with pytest.raises(InputError, match="has 2 candidates with the source 'reference'; it must have one"):
        read_seeds(seed_file(tmp_path / "a.jsonl", two))
    unsaid = {**asked, "situation": [{"text": "It is cold.", "category": "environment"}]}
    with pytest.raises(InputError, match="does not say which statements are relevant"):
        read_seeds(seed_file(tmp_path / "a.jsonl", unsaid))
    assert check_statement_category("date", "x") == "date"


# ---- addresses and downloads


def test_addresses_are_shown_without_secrets() -> None:
    where = "s3://KEY:SECRET@bucket/logs/?endpoint_override=h:1&scheme=http"
    assert redact_address(where) == "s3://bucket/logs/"
    assert join_address(where, "a b") == "s3://KEY:SECRET@bucket/logs/a%20b?endpoint_override=h:1&scheme=http"
    assert split_address("s3://bucket/logs/a%20b?x=1") == ("s3://bucket/logs?x=1", "a b")
    assert (is_remote("s3://x"), is_remote("a/b")) == (True, False)


def test_a_folder_by_its_address_reads_writes_and_refuses(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = RemoteFolder(f"file://{tmp_path}/store")
    folder.check()
    assert folder.files(allow_missing=True) == []
    with pytest.raises(InputError, match="store: cannot be listed"):
        folder.files()
    folder.put("b/c.txt", b"12345")
    folder.send(Path(__file__), "a.py")
    assert [(one.name, one.size) for one in folder.files()] == [("a.py", Path(__file__).stat().st_size), ("b/c.txt", 5)]
    assert [tuple(one) for one in RemoteFolder(f"file://{tmp_path}/store/b/c.txt").files()] == [("c.txt", 5)]
    assert (folder.content("b/c.txt"), folder.content("nothing")) == (b"12345", None)
    folder.fetch("a.py", tmp_path / "copy.py")
    assert (tmp_path / "copy.py").read_bytes() == Path(__file__).read_bytes()
    for call in (
        lambda: folder.content("b"),
        lambda: folder.fetch("b", tmp_path / "x"),
        lambda: folder.fetch("no", tmp_path / "x"),
    ):
        with pytest.raises(InputError, match="cannot be read"):
            call()
    for call in (
        lambda: folder.put("b", b""),
        lambda: folder.send(Path(__file__), "b"),
        lambda: folder.put("a.py/x", b""),
    ):
        with pytest.raises(InputError, match="cannot be written"):
            call()
    with pytest.raises(InputError, match="is not the address of a file or folder"):
        RemoteFolder("nonsense://x")


@pytest.mark.parametrize(
    ("url", "web"),
    [
        ("https://example.org/a", True),
        ("http://example.org:80", True),
        ("http://example.org:0", False),
        ("http://example.org:x", False),
        ("http://", False),
        ("ftp://example.org", False),
        ("http://example.org/a b", False),
        ("http://example.org/\n", False),
    ],
)
def test_what_is_an_address_of_the_web(url: str, web: bool) -> None:
    assert _is_web(url) is web


def test_a_file_is_downloaded_by_its_commit() -> None:
    file = next(file for file in dataset("llmbar/natural").files if file.downloadable)
    assert dataset_file_url(file, "https://example.org/").startswith(
        f"https://example.org/{file.repository}/{file.commit}/"
    )
    with pytest.raises(SpecError, match="mirror must be an address"):
        dataset_file_url(file, "example.org")
    kept = dataset("corpus/dialogues").files[0]
    with pytest.raises(FetchError, match="cannot be downloaded"):
        dataset_file_url(kept)
    assert _describe_error(TimeoutError(), 3.0) == "the server stalled (it sent nothing for 3 s)"
    assert (
        _describe_error(ConnectionResetError(104, "Connection reset"), 3.0)
        == "the connection failed (Connection reset)"
    )
    assert _describe_error(EOFError(), 3.0) == "the connection failed (EOFError)"


def test_a_piece_that_is_whole_already_is_not_asked_for(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"12345")
    download_file("http://nowhere.invalid/x", part, 5, RetryPolicy(attempts=1), None)
    assert part.read_bytes() == b"12345"


# ---- foreign cells, messages and threads


@pytest.mark.parametrize(
    ("value", "found"),
    [(None, None), ("", None), (" ", None), ("1.5", 1.5), (2, 2.0), (float("nan"), None), (0, 0.0)],
)
def test_a_cell_as_a_number(value: Any, found: float | None) -> None:
    assert cells.parse_number(value, "c", HERE) == found


@pytest.mark.parametrize("value", ["x", "inf", "nan", True, float("inf"), [1], {}])
def test_a_cell_that_is_no_number_is_told(value: Any) -> None:
    with pytest.raises(InputError, match="x line 3: 'c' holds"):
        cells.parse_number(value, "c", HERE)


def test_a_cell_as_text_and_a_path_into_a_row() -> None:
    assert [cells.parse_text(v, "c", HERE) for v in (None, "", " ", "a", 3, 3.0, 3.5, float("nan"))] == [
        None, None, None, "a", "3", "3", "3.5", None,
    ]  # fmt: skip
    for wrong in (True, [1], {}):
        with pytest.raises(InputError, match="it must be text"):
            cells.parse_text(wrong, "c", HERE)
    row = {"a": {"b": [{"c": 1}]}, "a.b": 2}
    assert cells.look_up(row, "a.b") == 2
    assert cells.look_up(row, "a.b.0.c") == 1
    assert [cells.look_up(row, path) for path in ("a.b.1", "a.x", "a.b.0.c.d", "a.b.x")] == [None] * 4
    assert cells.parse_texts(["a", None, " ", 2], "c", HERE) == ["a", "2"]
    assert cells.parse_turns("a|b", "c", HERE, "|") == [{"text": "a"}, {"text": "b"}]
    said = {"role": ["user", "bot"], "content": ["Hi.", "Yes?"]}
    assert cells.parse_turns(said, "c", HERE, None) == [
        {"speaker": "user", "text": "Hi."},
        {"speaker": "bot", "text": "Yes?"},
    ]


def test_messages_say_who_spoke_and_what_was_left_out() -> None:
    tally = ImportTally()

    def read(found: Any) -> Any:
        return parse_message(found, HERE, 2, tally.left_out)

    assert read("Hi.")[:2] == ("user", "Hi.")
    assert read({"from": "gpt", "value": "Yes."})[:2] == ("assistant", "Yes.")
    assert read({"role": "Human", "content": [{"text": "a"}, "b", {"text": {"value": "c"}}]}).text == "a\nb\nc"
    assert read({"role": "assistant", "content": None, "refusal": "No."}).text == "No."
    assert read({"role": "assistant", "content": "x", "model": "m"}).model == "m"
    assert read({"role": "assistant", "content": "x", "model": " "}).model is None
    for nothing in (
        {"type": "function_call"},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "tool_calls": [1]},
        {"role": "assistant", "content": " "},
        {"role": "user", "content": [{"image": 1}]},
    ):
        assert read(nothing) is None
    assert dict(tally.left_out) == {
        "entries that are no messages": 1,
        "tool messages": 1,
        "tool calls without text": 1,
        "empty assistant messages": 1,
        "message parts that are not text": 1,
        "empty user messages": 1,
    }
    for wrong, told in (
        (3, "x line 3, message 2: expected an object"),
        ({"content": "x"}, "has no 'role'"),
        ({"role": "king", "content": "x"}, "unknown role 'king'"),
        ({"role": "user", "content": [3]}, "a part of 'content' is 3"),
    ):
        with pytest.raises(InputError, match=told):
            read(wrong)


def test_threads_follow_replies() -> None:
    tally = ImportTally()
    said = [
        Utterance("a", Turn("A"), None),
        Utterance("b", None, "a"),
        Utterance("c", Turn("C"), "b"),  # a reply to what b answered
        Utterance("d", Turn("D"), "a"),
        Utterance("e", Turn("E"), "gone"),
        Utterance("f", Turn("F"), "g"),
        Utterance("g", Turn("G"), "f"),
    ]
    found = list(build_threads("t", said, tally))
    assert [sorted(path for path, _ in thread.paths()) for thread in found] == [["t/c", "t/d"], ["t/e"]]
    first = found[0]
    assert [turn.text for turn in first.before(first.nodes["c"])] == ["A", "C"]
    assert first.after(first.nodes["a"]) == ()  # two replies to choose from
    assert dict(tally.left_out) == {
        "utterances without text": 1,
        "links to utterances that are not there": 1,
        "utterances that reply to each other in a circle": 2,
    }
    (alone,) = build_threads("t", [Utterance("a", Turn("A"), None), Utterance("b", Turn("B"), None)], tally)
    assert [(name, [turn.text for turn in turns]) for name, turns in alone.paths()] == [("t", ["A", "B"])]
    assert [turn.text for turn in alone.after(alone.nodes["a"])] == ["B"]
    assert list(build_threads("t", [Utterance("a", None, None)], tally)) == []
    assert tally.left_out["conversations without a turn"] == 1


# ---- rows, transcripts, defaults


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        ("text", ["a", " a"], ["", " ", 3, None]),
        ("string", ["a", ""], [3, None]),
        ("whole", [0, 7], [-1, 1.0, True, "1", None]),
        ("number", [0, 1.5, "2", "-1e3"], ["x", "nan", "inf", True, [], None]),
        ("values", [[], [1]], ["a", {}, None]),
        ("strings", [[], ["a", ""]], [["a", 1], "a", None]),
        ("texts", [["a"]], [[], ["a", ""], ["a", " "], [1]]),
        ("wholes", [[], [1, -2]], [[1.0], [True], ["1"], None]),
        ("row", [{}, {"a": 1}], [[], None, "a"]),
        ("rows", [[], [{}, {"a": 1}]], [[{}, 1], {}, None]),
    ],
)
def test_a_field_of_a_published_row_is_what_it_must_be(kind: str, good: list[Any], wrong: list[Any]) -> None:
    for value in good:
        found = getattr(DatasetRow({"k": value}, "here"), kind)("k")
        if kind == "row":
            assert found == DatasetRow(value, "here")
        elif kind == "rows":
            assert found == [DatasetRow(one, "here") for one in value]
        else:
            assert found == (float(value) if kind == "number" else value)
    for value in wrong:
        with pytest.raises(InputError, match=r"here: 'k' must be .*, found "):
            getattr(DatasetRow({"k": value}, "here"), kind)("k")
    with pytest.raises(InputError, match=r"here: 'k' must be .*, it is missing"):
        getattr(DatasetRow({}, "here"), kind)("k")


def test_transcripts_with_and_without_names() -> None:
    assert parse_transcript("User: Hi.\n\n bot : Yes?", "c", HERE) == (Turn("Hi.", "User"), Turn("Yes?", "bot"))
    assert parse_transcript("User: Hi.\nYes?", "c", HERE) == (Turn("User: Hi."), Turn("Yes?"))
    assert parse_transcript("User: Hi.\nBot:", "c", HERE) == (Turn("User: Hi."), Turn("Bot:"))
    assert parse_transcript([{"speaker": "a", "text": "Hi."}, "Yes?"], "c", HERE) == (Turn("Hi.", "a"), Turn("Yes?"))
    named, plain_turns = (Turn("Hi.", "User"),), (Turn("Hi."),)
    assert parse_response("Bot: Yes.", "c", HERE, named) == "Yes."
    assert parse_response("Bot: Yes.", "c", HERE, plain_turns) == "Bot: Yes."
    assert parse_response(" Yes. ", "c", HERE, named) == "Yes."
    assert [parse_response(one, "c", HERE, named) for one in ("", None, "Bot: ")] == [None, None, None]


def test_judgements_have_their_raters_and_what_is_no_number_is_counted() -> None:
    tally = ImportTally()
    found = list(parse_ratings({"Makes Sense": [1, "2", "N/A", None], "fun": 3}, ["a", "b", "c", "d"], HERE, tally))
    assert [tuple(one) for one in found] == [
        ("makes-sense", "a", 1.0),
        ("makes-sense", "b", 2.0),
        ("fun", "rater-1", 3.0),
    ]
    assert tally.left_out["ratings that are not numbers"] == 2
    assert [one.rater for one in parse_ratings({"x": [1, 2]}, ["a"], HERE, tally)] == ["rater-1", "rater-2"]
    assert [one.rater for one in parse_ratings({"x": [1, 2]}, ["a", " "], HERE, tally)] == ["rater-1", "rater-2"]
    assert list(parse_ratings(None, None, HERE, tally)) == []
    for wrong in ([], {" ": [1]}, {"x": [True]}):
        with pytest.raises(InputError, match="x line 3"):
            list(parse_ratings(wrong, None, HERE, tally))


def test_the_defaults_of_downloads_and_shards() -> None:
    assert RetryPolicy() == RetryPolicy(timeout=30.0, slowest=1024, attempts=5, pause=1.0)
    assert RECORDS_PER_SHARD == 100_000
    assert LONGEST_LINE == 64 * 2**20


def test_an_id_that_repeats_says_what_to_do() -> None:
    def told(*records: Any) -> str:
        with pytest.raises(InputError) as caught:
            collect(records)
        return str(caught.value)

    item = Item("i", (Turn("Hi."),))
    response = Response("r", "i", "s", "Yes.")
    assert told(item, response, response).endswith(
        "records line 3: response id 'r' was already used in records line 2; give each response an 'id' of its own"
    )
    assert told(item, item).endswith("item id 'i' was already used in records line 1; ids must be unique")
    talk = Dialogue("d", (Turn("Hi."),))
    assert told(talk, talk).endswith("dialogue id 'd' was already used in records line 1; ids must be unique")
    rating = Rating("ann", "apt", 1.0, "r")
    assert "the same rater already gave this rating in records line 3; keep one" in told(item, response, rating, rating)
    assert "records line 1: response refers to an unknown item 'i'; add the item's line" in told(response)
    both = told(item, rating, Rating("ann", "apt", 1.0, "q"))
    assert "records line 2: rating refers to an unknown response 'r' (and 1 more such id)" in both
    assert len(collect([response, item, Rating("bob", "apt", 1.0, "r"), rating]).ratings) == 2


def test_the_training_part_of_a_sugar_fold_is_made_of_the_other_folds() -> None:
    for fold in range(5):
        files = [file.path.removeprefix("judgements/sugar/cv5/") for file in dataset(f"sugar/{fold}/train").files]
        assert files == [f"{fold}/dev.json", *(f"{other}/tst.json" for other in range(5) if other != fold)]


def test_references_in_several_columns_are_all_read(tmp_path: Path) -> None:
    row = {
        "context": "Hi.",
        "response": "Yo.",
        "a": [{"text": "Hello.", "source": "bm25"}],
        "b": "Hey.",
        "c": ["", "Ho."],
    }
    tally = ImportTally()
    fields = [("reference", "a"), ("reference", "b"), ("reference", "c")]
    found = imported("jsonl", save(tmp_path / "x.jsonl", [row]), tally, fields=fields, system="s")
    (item,) = found.items.values()
    assert [(one.text, one.source) for one in item.references] == [
        ("Hello.", "bm25"),
        ("Hey.", "human"),
        ("Ho.", "human"),
    ]
    assert tally.left_out["empty references"] == 1


def test_a_convokit_conversation_of_one_turn_gives_no_item_and_is_counted_once(tmp_path: Path) -> None:
    said = [
        {"id": "a", "conversation_id": "a", "speaker": "x", "text": "Hi.", "reply-to": None},
        {"id": "b", "conversation_id": "b", "speaker": "x", "text": "So?", "reply-to": None},
        {"id": "c", "conversation_id": "b", "speaker": "y", "text": "Yes.", "reply-to": "b"},
    ]
    tally = ImportTally()
    save(tmp_path / "corpus" / "utterances.jsonl", said)
    found = imported("convokit", tmp_path / "corpus", tally, form="items")
    assert list(found.items) == ["b/b"]
    assert tally.left_out["dialogues of one turn"] == 1


@pytest.mark.parametrize(
    "responses", [["Yes."], [{"response": "Yes.", "model": "m", "annotations": {}}, 3], "Yes.", {}]
)
def test_responses_of_dstc10_must_be_objects_in_a_list(tmp_path: Path, responses: Any) -> None:
    with pytest.raises(InputError, match="entry 1: 'responses' "):
        imported("dstc10", save(tmp_path / "r.json", [{"context": "Hi.", "responses": responses}]))


def test_a_blank_line_of_a_published_table_is_passed_over(tmp_path: Path) -> None:
    path = next(file.path for file in dataset("pang/context").files if "context" in file.path)
    row = TINY[path]
    put(tmp_path, TINY | {path: row + b"\n" + row.replace(b"3,", b"4,", 1)})
    assert len({record.id for record in dataset("pang/context").read(tmp_path) if isinstance(record, Item)}) == 2


def test_an_import_that_points_nowhere_is_told_where_it_has_items(tmp_path: Path) -> None:
    item = {"kind": "item", "id": "i", "context": "Hi."}
    said = {"kind": "response", "id": "r", "item": "j", "system": "s", "text": "Yes."}
    with pytest.raises(InputError, match="response refers to an unknown item 'j'"):
        list(import_("jsonl", save(tmp_path / "a.jsonl", [item, said])))
    alone = list(import_("jsonl", save(tmp_path / "b.jsonl", [said])))
    assert [type(record).__name__ for record in alone] == ["Response"]


def test_a_context_is_shortened_to_its_last_turns(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", [{"kind": "item", "id": "i", "context": ["a", "b", "c"]}])
    for most, texts, cut in ((1, ["c"], True), (2, ["b", "c"], True), (3, ["a", "b", "c"], False)):
        (item,) = import_("jsonl", path, ImportOptions(max_turns=most))
        assert isinstance(item, Item)
        assert ([turn.text for turn in item.context], item.truncated) == (texts, cut)
