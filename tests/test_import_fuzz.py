"""Input that somebody broke: every importer gives records that can be read back, or one line of error."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from importing import chat

from rejoinder.data.importers import ImportOptions
from rejoinder.data.inputs import import_
from rejoinder.data.schema import Place, from_object
from rejoinder.data.tables.detection import detect_format, take_sample
from rejoinder.data.writer import encode_record
from rejoinder.errors import RejoinderError

ROUNDS = 300
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**53, 1.5, "", " ", "x", "\x00", "é\n\t|", "[]", [], [None], [[]], {}, {"a": {}},
    ["x", 3], {"text": "x"}, {"id": 1}, "user", "item", "NaN", "inf", [{}], "a" * 300,
)  # fmt: skip
UTTERANCE = {"id": "1", "conversation_id": "c", "speaker": "s", "reply-to": None, "text": "Hello!", "meta": {}}
FIELDS = (("reference", "good"), ("rating:fun", "score"), ("rater", "who"))
ROW = {
    "context": ["Hello!", {"speaker": "A", "text": "Hi."}],
    "response": "Yes.",
    "system": "bot",
    "good": ["No.", "Maybe."],
    "score": [1, 2.5],
    "who": "ann",
    "dialogue": "d",
    "id": 7,
}
MESSAGES = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": [{"type": "text", "text": "Hello!"}, {"type": "image_url", "image_url": {}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
    {"role": "tool", "content": "rain"},
    {"role": "assistant", "content": "It rains."},
]
DOCUMENTS: dict[str, list[Any]] = {
    "openai": [
        chat("a", "b", "c", "d", id="c", model="m"),
        {"messages": MESSAGES, "id": "t", "model": "m"},
        {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}], "model": "m"},
        {"input": "a", "output": [{"type": "message", "role": "assistant", "content": "b"}], "model": "m"},
    ],
    "jsonl": [
        ROW,
        {"kind": "item", "id": "q", "context": ["a"], "references": [{"text": "b", "source": "s"}], "meta": {"a": 1}},
        {"item": "q", "system": "b", "text": "c"},
        {"turns": ["a", {"speaker": "B", "text": "b"}], "id": "t"},
        {"response": "q/b", "rater": "r", "aspect": "a", "value": 3},
        {"item": "q", "first": "q/b", "second": "q/b", "rater": "r", "choice": "tie"},
        {"context": ["a"], "candidates": [{"text": "b", "grade": 1}], "id": "k"},
    ],
    "convokit": [UTTERANCE, {**UTTERANCE, "id": "2", "reply-to": "1"}, {**UTTERANCE, "id": "3", "reply-to": "2"}],
    "dstc10": [
        {"context": "User: a\nSystem: b", "response": "c", "model": "m", "reference": ["d"], "annotations": {"x": [1]}},
        {"dialog": [{"speaker": "s", "text": "a"}], "dialogue_id": "d", "model": "m", "annotations": {"x": [1, "N/A"]}},
        {"context": "a", "fact": "f", "annotators": ["r"], "responses": [{"response": "b", "model": "m", "Fun": [1]}]},
    ],
}
LOGS = ("anthropic", "chatgpt", "claude", "langfuse", "langsmith", "otel")
SHAPES = [
    path for path in sorted((Path(__file__).parent / "shapes").iterdir()) if path.name.startswith((*LOGS, "openai"))
]


def read_shape(path: Path) -> list[Any]:
    """The logs in one of our example files."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    value = json.loads(text)
    return value if isinstance(value, list) else [value]


for shape in SHAPES:
    if shape.suffix != ".csv" and shape.name != "otel_console.json":
        DOCUMENTS.setdefault(shape.name.partition("_")[0], []).extend(read_shape(shape))
TEXTS = {
    "csv": 'id,context,response,system,good,score,who\n1,"Hello,\n\nyou",Yes.,a,No.,3,ann\n2,Hi,Yo.,b,,,bob\n',
    "tsv": "id\tcontext\tresponse\tsystem\tgood\tscore\twho\n1\tHello\tYes.\ta\tNo.\t3\tann\n2\tHi\tYo.\tb\t\t\tbob\n",
    "dailydialog": "Hello , you ! __eou__ Hi . __eou__ Tea ? __eou__\nBye ! __eou__ So long . __eou__\n",
    "parlai": "text:a\\nb\tlabels:c|d\nid:x\ttext:e\tlabels:f\tepisode_done:True\ntext:__SILENCE__\tlabels:g\n",
}
TABLES = ("csv", "tsv", "jsonl", "parquet", "huggingface")


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value that can be written to."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from nodes(value[key])


def broken_json(values: list[Any], chance: random.Random) -> list[Any]:
    """The values with one to three parts replaced, taken out, doubled or put elsewhere."""
    values = copy.deepcopy(values)
    for _ in range(chance.randint(1, 3)):
        places = list(nodes(values))
        if not places:
            break
        holder, key = chance.choice(places)
        what = chance.randrange(5)
        if what == 0 and isinstance(holder, dict):
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[chance.choice(["x", "kind", "text", "value", "turns", "messages"])] = holder.pop(key)
        elif what == 2 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[key] = copy.deepcopy(chance.choice(JUNK))
    return values


def broken_bytes(raw: bytes, chance: random.Random) -> bytes:
    """The bytes with one to three of them changed, or cut off, taken out, doubled."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.randint(1, 8))
        match chance.randrange(5):
            case 0:
                data[at:end] = bytes([chance.choice(b'\x00\xff"\t\n\r,:|{}[]\\0aZ')])
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * 2
            case 3:
                data[at:at] = chance.choice(
                    [b'"', b"\xc3", b"\xe2\x80\xa8", b"\r", b"\n\n", b"__eou__", b"null", b"1e999"]
                )
            case 4 if chance.random() < 0.3:
                del data[at:]
    return bytes(data)


def holds(name: str, path: Path, options: ImportOptions) -> None:
    """The import ends in records that are valid, or in one line of error."""
    try:
        for record in import_(name, path, options):
            again = from_object(orjson.loads(encode_record(record)), Place("again", 1), allow_empty=True)
            assert again == record
    except RejoinderError as error:
        said = str(error)
        assert said
        assert "\n" not in said
        assert len(said) < 1000


def options_of(name: str, chance: random.Random) -> ImportOptions:
    given: dict[str, Any] = {}
    if name in TABLES:
        given |= {"fields": FIELDS, "empty": chance.choice(["error", "keep", "drop"])}
        given |= {"separator": chance.choice([None, "\\n", "a"]), "system": chance.choice([None, "x"])}
    elif name in (*LOGS, "openai", "dstc10"):
        given |= {"system": chance.choice([None, "x"])}
    else:
        given |= {"form": chance.choice(["dialogues", "items"])}
    if chance.random() < 0.3 and given.get("form") != "dialogues":
        given["max_turns"] = 1
    return ImportOptions(**given)


def lines_of(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def seeded(name: str) -> random.Random:
    return random.Random(f"importers/{name}")


def target(name: str, tmp_path: Path) -> tuple[Path, Path]:
    """The path to import, and the file in it to break."""
    if name == "convokit":
        (tmp_path / "corpus").mkdir()
        return tmp_path / "corpus", tmp_path / "corpus" / "utterances.jsonl"
    return tmp_path / "input", tmp_path / "input"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_broken_json_never_gives_a_traceback(tmp_path: Path, name: str) -> None:
    chance = seeded(name)
    path, file = target(name, tmp_path)
    makers: tuple[Callable[[list[Any]], bytes], ...] = (lines_of, lambda values: json.dumps(values, indent=1).encode())
    for _ in range(ROUNDS if name not in LOGS else ROUNDS // 3):
        # A few of many logs, so that what is broken is met.
        values = DOCUMENTS[name] if name not in LOGS else chance.sample(DOCUMENTS[name], 2)
        file.write_bytes(chance.choice(makers)(broken_json(values, chance)))
        holds(name, path, options_of(name, chance))
        if name in LOGS:
            detect_format(take_sample(file.read_bytes(), file.name))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_broken_logs_never_give_a_traceback(tmp_path: Path, shape: Path) -> None:
    name, chance = shape.name.partition("_")[0], seeded(shape.name)
    for _ in range(25):
        path = tmp_path / "input"
        path.write_bytes(broken_bytes(shape.read_bytes(), chance))
        holds(name, path, options_of(name, chance))
        detect_format(take_sample(path.read_bytes(), shape.name))


@pytest.mark.parametrize("name", [*(name for name in DOCUMENTS if name not in LOGS), *TEXTS])
def test_broken_bytes_never_give_a_traceback(tmp_path: Path, name: str) -> None:
    chance = seeded(name)
    path, file = target(name, tmp_path)
    raw = TEXTS[name].encode() if name in TEXTS else lines_of(DOCUMENTS[name])
    for _ in range(ROUNDS):
        file.write_bytes(broken_bytes(raw, chance))
        holds(name, path, options_of(name, chance))


def column(chance: random.Random, of: Any) -> list[Any]:
    """Three values of one type, which may be the wrong one."""
    kinds: tuple[list[Any], ...] = (
        [of] * 3, ["x", None, ""], [1, None, 3], [1.5, float("nan"), None], [True, None, False], [None] * 3,
        [["x", None], [], None], [[1], [2, 3], []],
        [{"text": "x", "speaker": None}, None, {"text": "", "speaker": "y"}],
        [[{"role": "r", "content": "c"}], [], None],
        [{"text": ["x"], "speaker": ["y"]}, None, {"text": [], "speaker": []}],
        [b"x", b"\xff", None],
    )  # fmt: skip
    return kinds[0] if chance.random() < 0.6 else chance.choice(kinds)


@pytest.mark.parametrize("name", ["parquet", "huggingface"])
def test_columns_of_the_wrong_type_never_give_a_traceback(tmp_path: Path, name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    chance = seeded(name)
    row = {**ROW, "context": "Hello!"}
    for _ in range(ROUNDS):
        kept = {key: column(chance, value) for key, value in row.items() if chance.random() < 0.9}
        table = pyarrow.table(kept or {"x": [1]})
        path = tmp_path / "input"
        if name == "parquet":
            parquet.write_table(table, path)
        else:
            path.mkdir(exist_ok=True)
            with pyarrow.OSFile(str(path / "d.arrow"), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
            (path / "state.json").write_text('{"_data_files": [{"filename": "d.arrow"}]}')
        fields = tuple(pair for pair in FIELDS if pair[1] in kept)
        holds(name, path, dataclasses.replace(options_of(name, chance), fields=fields))


@pytest.mark.parametrize("name", ["parquet", "huggingface"])
def test_arrow_files_that_end_too_early_never_give_a_traceback(tmp_path: Path, name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"context": ["a"], "response": ["b"], "system": ["c"]})
    whole = tmp_path / "whole"
    if name == "parquet":
        parquet.write_table(table, whole)
    else:
        with pyarrow.OSFile(str(whole), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as out:
            out.write_table(table)
        (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "part"}]}')
    raw = whole.read_bytes()
    for end in range(0, len(raw), max(1, len(raw) // 40)):
        (tmp_path / "part").write_bytes(raw[:end])
        holds(name, tmp_path if name == "huggingface" else tmp_path / "part", ImportOptions())


@pytest.mark.parametrize("name", ["state.json", "dataset_info.json", "dataset_dict.json"])
def test_broken_notes_beside_a_saved_dataset_never_give_a_traceback(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    notes = {
        "state.json": {"_data_files": [{"filename": "d.arrow"}], "_indices_data_files": None},
        "dataset_info.json": {"features": {"system": {"names": ["a"], "_type": "ClassLabel"}}},
        "dataset_dict.json": {"splits": ["train"]},
    }
    chance = seeded(name)
    for _ in range(ROUNDS):
        for other in ("state.json", name):
            value = broken_json([notes[other]], chance)[0] if other == name else notes[other]
            (tmp_path / other).write_text(json.dumps(value))
        holds("huggingface", tmp_path, ImportOptions(system="x"))
