"""What a command is given: several files of one name, pipes, standard input, odd names, tables, files that change."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.data import reader, spool
from rejoinder.data.dialogue_places import turns_after
from rejoinder.data.inputs import Input, import_, read_dialogues
from rejoinder.data.parts import read_meta_prompt
from rejoinder.data.shards.pack import write_record_file
from rejoinder.errors import InputError
from rejoinder.scoring.run import Plan, run


def item(name: str, context: str = "Is the shop open?", reference: str = "Yes, until six.") -> dict[str, Any]:
    return {"id": name, "context": [context], "references": [reference]}


def reply(name: str, system: str, text: str) -> dict[str, Any]:
    return {"item": name, "system": system, "text": text}


def save(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def rejoinder_command(*argv: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "rejoinder", *argv], capture_output=True, timeout=60, **more)


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """What a command that was refused said, in one line."""
    assert done.returncode == 2, done.stderr.decode()
    (line,) = done.stderr.decode().splitlines()
    return line


# Several files of one name.


def test_files_of_one_name_with_different_items_under_one_id_are_refused(tmp_path: Path) -> None:
    a = save(tmp_path / "a" / "chats.jsonl", item("q1"), reply("q1", "ann", "Yes."))
    b = save(tmp_path / "b" / "chats.jsonl", item("q1", "Do you sell bread?", "We do."), reply("q1", "bob", "We do."))
    said = rf"{b} line 1: item id 'q1' was already used in {a} line 1, with a different context or references"
    with pytest.raises(InputError, match=said):
        rejoinder.read(a, b)
    with pytest.raises(InputError, match=said):
        run([a, b], Plan.of(["bleu"]), tmp_path / "run")


def test_files_of_one_name_share_an_item_on_whatever_line(tmp_path: Path) -> None:
    a = save(tmp_path / "a" / "chats.jsonl", item("q1"), item("q2"), reply("q1", "ann", "Yes."))
    b = save(tmp_path / "b" / "chats.jsonl", item("q2"), item("q1"), reply("q1", "bob", "No."))
    assert rejoinder.read(a, b).counts()["items"] == 2
    assert len(run([a, b], Plan.of(["length"]), tmp_path / "run").scores) == 2


def test_one_file_named_twice_is_refused(tmp_path: Path) -> None:
    a = save(tmp_path / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes."))
    said = rf"{a} line 2: response id 'q1/bot' was already used in {a} line 2; name each file once"
    for files in ([a, a], [a, save(tmp_path / "more.jsonl", item("q2"), reply("q2", "bot", "No.")), a]):
        with pytest.raises(InputError, match=said):
            rejoinder.read(*files)
        with pytest.raises(InputError, match=said):
            run(files, Plan.of(["length"]), tmp_path / "run")


def test_two_versions_of_one_bot_are_told_to_take_two_names(tmp_path: Path) -> None:
    a = save(tmp_path / "old" / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes."))
    b = save(tmp_path / "new" / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes, until six."))
    with pytest.raises(InputError, match=r"two versions of a system, give each its own 'system' name"):
        rejoinder.read(a, b)
    named = save(tmp_path / "new" / "chats.jsonl", item("q1"), {**reply("q1", "new", "Yes."), "id": "r1"})
    other = save(tmp_path / "old" / "chats.jsonl", item("q1"), {**reply("q1", "old", "Yes."), "id": "r1"})
    with pytest.raises(InputError, match=r"response id 'r1' was already used in .*; give each response an 'id'"):
        rejoinder.read(named, other)


def test_a_rating_of_one_rater_in_a_file_named_twice_is_refused(tmp_path: Path) -> None:
    a = save(tmp_path / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes."))
    rating = {"response": "q1/bot", "rater": "ann", "aspect": "apt", "value": 3}
    ratings = save(tmp_path / "ratings.jsonl", rating)
    with pytest.raises(InputError, match=r"the same rater already gave this rating in .*; name each file once"):
        rejoinder.read(a, ratings, ratings)


def test_errors_name_the_path_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "a" / "chats.jsonl", item("q1"), {"item": "q1", "system": "s"})
    with pytest.raises(InputError, match=r"^a/chats\.jsonl line 2: response has no 'text'"):
        rejoinder.read("a/chats.jsonl")
    with pytest.raises(InputError, match=r"^\./a/chats\.jsonl line 2"):
        run(["./a/chats.jsonl"], Plan.of(["length"]), tmp_path / "run")


def test_where_a_file_lies_does_not_change_a_run(tmp_path: Path) -> None:
    written = [item("q1"), reply("q1", "bot", "Yes.")]
    a, b = (save(tmp_path / folder / "chats.jsonl", *written) for folder in "ab")
    first, second = (run([path], Plan.of(["length"]), tmp_path / f"{path.parent.name}-run") for path in (a, b))
    assert first.about == second.about
    assert first.about["inputs"][0]["name"] == "chats.jsonl"


# Tables.


ROWS = [
    {"context": "Hi.", "response": "Hello.", "model": "ann", "thumbs": True},
    {"context": "Bye.", "response": "See you.", "model": "bob", "thumbs": None},
]


def tables() -> list[Any]:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    made: list[Any] = [ROWS, tuple(ROWS), columns]
    for name, make in (
        ("pandas", lambda module: [module.DataFrame(columns), module.DataFrame(columns).convert_dtypes()]),
        ("polars", lambda module: [module.DataFrame(columns), module.DataFrame(columns).lazy()]),
        ("pyarrow", lambda module: [module.table(columns), module.RecordBatch.from_pylist(ROWS)]),
        (
            "datasets",
            lambda module: [
                module.Dataset.from_dict(columns),
                module.DatasetDict({"test": module.Dataset.from_dict(columns)}),
                module.Dataset.from_dict(columns).to_iterable_dataset(),
            ],
        ),
    ):
        if importlib.util.find_spec(name) is not None:
            made += make(importlib.import_module(name))
    return made


@pytest.mark.parametrize("table", tables(), ids=lambda table: f"{type(table).__module__}.{type(table).__name__}")
def test_a_table_in_memory_is_read_and_scored(table: Any) -> None:
    data = rejoinder.read(table)
    assert [(r.system, r.text) for r in data.responses.values()] == [("ann", "Hello."), ("bob", "See you.")]
    assert [[turn.text for turn in item.context] for item in data.items.values()] == [["Hi."], ["Bye."]]
    assert [(rating.rater, rating.aspect, rating.value) for rating in data.ratings] == [("unnamed:1", "thumbs", 1.0)]
    assert "model -> system" in data.imported[0]
    scores = rejoinder.score(table, "length")
    assert scores["length"].tolist() == [1, 2]
    assert list(scores.imported) == data.imported


@pytest.mark.parametrize("table", tables(), ids=lambda table: f"{type(table).__module__}.{type(table).__name__}")
def test_a_table_is_not_a_list_of_texts(table: Any) -> None:
    if isinstance(table, list | tuple):
        return
    for refused in (
        lambda: rejoinder.from_lists(["a", "b"], contexts=table),
        lambda: rejoinder.score(["a", "b"], "length", references=table),
    ):
        with pytest.raises(InputError, match=r"a table \(.*\) is not a list of texts; pass one of its columns"):
            refused()


def test_a_table_in_memory_gives_the_same_run_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (run([ROWS], Plan.of(["length"])) for _ in range(2))
    assert (first.fresh, second.fresh) == (True, False)
    assert first.about["inputs"][0]["columns"].startswith("model -> system, thumbs -> rating:thumbs")


def test_rows_of_our_own_records_and_of_chat_logs_are_read_as_such() -> None:
    own = [item("q1"), reply("q1", "bot", "Yes.")]
    assert rejoinder.read(own).counts()["responses"] == 1
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    assert [r.system for r in rejoinder.read([{"messages": messages}]).responses.values()] == ["assistant"]
    with pytest.raises(InputError, match=r"<list> row 2: response has no 'text'"):
        rejoinder.read([item("q1"), {"item": "q1", "system": "bot"}])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"prompt": "Hi.", "response": "Hello."}, "the column 'prompt' is 'Hi.', not a list"),
        ({"prompt": ["Hi."], "response": []}, "must have the same length .found: prompt has 1, response has 0"),
        ([{"prompt": "Hi."}, "Bye."], "row 2 of the list is 'Bye.'; it must be a dictionary"),
        ([{"prompt": "Hi.", "response": object()}], "row 1: cannot be read .a value is of type object"),
        ([{"said": "Hi.", "reply": "Hello."}], "no column holds the context"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(table: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rejoinder.read(table)


def test_the_rows_of_a_table_are_not_left_in_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rejoinder.score(ROWS, "length")
    with pytest.raises(InputError):
        rejoinder.read([{"prompt": "Hi."}, "Bye."])
    assert list(tmp_path.iterdir()) == []


def test_columns_of_a_table_are_lists_of_texts() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"context": ["Hi.", "Bye."], "reply": ["Hello.", "See you."]}, index=[7, 9])
    scores = rejoinder.score(frame["reply"], "length", contexts=frame["context"])
    assert scores["length"].tolist() == [1, 2]
    frame.loc[7, "context"] = float("nan")
    with pytest.raises(InputError, match=r"contexts\[0\] must be a non-empty string"):
        rejoinder.score(frame["reply"], "length", contexts=frame["context"])


def test_a_file_is_named_by_a_string_or_a_path() -> None:
    with pytest.raises(InputError, match="an input must be a string or a path, or a table such as a DataFrame, not a"):
        rejoinder.read(["chats.jsonl"])


def test_a_run_is_loaded_by_a_string_as_by_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes."))
    rejoinder.run(["chats.jsonl"], Plan.of(["length"]), "runs/x")
    assert rejoinder.load("runs/x").responses == rejoinder.load(Path("runs/x")).responses == ["q1/bot"]


# Chat logs that are read on the fly.


def test_errors_of_a_chat_log_name_the_lines_of_the_users_file(tmp_path: Path) -> None:
    def log(name: str, model: str, *texts: str) -> dict[str, Any]:
        messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
        return {"id": name, "model": model, "messages": messages}

    a = save(tmp_path / "a.jsonl", log("c1", "m", "Hi.", "Hello.", "Bye.", "See you."), log("c2", "m", "Hm?", "Hm."))
    b = save(tmp_path / "b.jsonl", log("c0", "m", "Yes?", "No."), log("c2", "m", "Hm?", "Ah."))
    with pytest.raises(InputError, match=rf"{b} line 2: response id 'c2/1/m' was already used in {a} line 2"):
        rejoinder.read(a, b)


def test_chat_logs_of_one_name_without_ids_are_other_conversations(tmp_path: Path) -> None:
    def log(asked: str) -> dict[str, Any]:
        return {
            "model": asked,
            "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": "Yes."}],
        }

    a, b = (save(tmp_path / folder / "log.jsonl", log(asked)) for folder, asked in (("a", "Hi?"), ("b", "Ho?")))
    data = rejoinder.read(a, b)
    assert [(item.id, item.dialogue) for item in data.items.values()] == [
        ("log-1/1", "log-1"),
        ("log/log-1/1", "log/log-1"),
    ]
    assert "conversations with another beginning than an earlier file's = renamed (1)" in data.imported[1]
    assert len(rejoinder.read(a, b.rename(b.with_name("other.jsonl"))).items) == 2


def test_a_chat_log_from_standard_input_gives_the_same_ids_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    log = {"model": "m", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    found = []
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(log).encode() + b"\n")))
        found.append(list(rejoinder.read("-").items))
    assert found == [["stdin-1/1"]] * 2


# Pipes, devices and standard input.


@pytest.fixture
def chats(tmp_path: Path) -> bytes:
    return save(tmp_path / "chats.jsonl", item("q1"), reply("q1", "bot", "Yes.")).read_bytes()


def test_a_named_pipe_is_read_once_and_scored(tmp_path: Path, chats: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb") as file:
            time.sleep(0.3)  # open, and silent at first
            file.write(chats)

    for read in (lambda: rejoinder.read(pipe), lambda: rejoinder.data.collect(rejoinder.stream(pipe))):
        writer = threading.Thread(target=write)
        writer.start()
        assert read().counts()["responses"] == 1
        writer.join()


def test_a_named_pipe_that_nobody_writes_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_WAIT", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"is a named pipe to which nothing was written for .* seconds"):
        rejoinder.read(tmp_path / "pipe")


def test_what_a_shell_substitutes_is_scored(tmp_path: Path, chats: bytes) -> None:
    command = f"{sys.executable} -m rejoinder score -m length --format csv -o run"
    done = [
        subprocess.run(["bash", "-c", f"{command}{n} {given}"], cwd=tmp_path, capture_output=True, timeout=60)
        for n, given in enumerate(["<(cat chats.jsonl)", "/dev/stdin < <(cat chats.jsonl)", "- < <(cat chats.jsonl)"])
    ]
    assert [one.returncode for one in done] == [0, 0, 0], [one.stderr.decode() for one in done]
    assert len({one.stdout for one in done}) == 1
    about = json.loads((tmp_path / "run0" / "run.json").read_text())
    assert about["inputs"][0]["name"] == "<pipe>"


def test_what_reads_a_pipe_twice_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, but the input is read more than once; save it as a file"):
        reader.InputFile(tmp_path / "pipe").measure()


def test_a_device_is_no_file() -> None:
    with pytest.raises(InputError, match="/dev/zero: is a device, not a file"):
        rejoinder.read("/dev/zero")
    with pytest.raises(InputError, match="/dev/null: is empty"):
        rejoinder.read("/dev/null")


@pytest.mark.parametrize("command", ["score - -m length", "import openai -", "import csv -"])
def test_standard_input_that_is_closed_is_told_in_one_line(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m rejoinder {command} <&-"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert "<stdin>: is closed; name a file" in last_line(done)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_of_standard_input_is_left_behind_by_a_process_that_is_ended(tmp_path: Path, number: int) -> None:
    spools = tmp_path / "tmp"
    spools.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "rejoinder", "score", "-", "-m", "length"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "TMPDIR": str(spools)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # else a shell may have told it to ignore the signal
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"{}\n" * 100_000)
    process.stdin.flush()
    until = time.monotonic() + 30
    while not any(path.stat().st_size for path in spools.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(spools.iterdir())
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    assert list(spools.iterdir()) == []


# Odd names.


def test_a_name_that_is_not_utf_8_is_read_written_and_shown(tmp_path: Path, chats: bytes) -> None:
    odd = os.fsencode(tmp_path) + b"/ch\xe4ts.jsonl"
    with open(odd, "wb") as file:
        file.write(chats)
    done = rejoinder_command(b"score", odd, b"-m", b"length", b"-o", odd + b".run", b"--report", odd + b".html")
    assert done.returncode == 0, done.stderr.decode()
    with open(odd + b".run/run.json", "rb") as file:
        assert json.loads(file.read())["inputs"][0]["name"] == r"ch\xe4ts.jsonl"
    assert os.path.isfile(odd + b".html")
    with open(odd, "ab") as file:
        file.write(b'{"item": "q1"}\n')
    assert r"ch\xe4ts.jsonl line 3: response has no 'system'" in last_line(
        rejoinder_command(b"score", odd, b"-m", b"length", cwd=tmp_path)
    )
    done = rejoinder_command(b"import", b"jsonl", odd[:-1], b"-o", odd + b".out")
    assert r"ch\xe4ts.json: no such file" in last_line(done)
    log = {"model": "m", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    with open(odd, "wb") as file:
        file.write(json.dumps(log).encode())
    assert rejoinder_command(b"import", b"openai", odd, b"-o", odd + b".out").returncode == 0
    assert rejoinder_command(b"score", odd + b".out", b"-m", b"length", cwd=tmp_path).returncode == 0


def test_shards_whose_names_are_not_utf_8_are_scored_and_listed(tmp_path: Path, chats: bytes) -> None:
    folder = os.fsencode(tmp_path) + b"/sh\xe4rds"
    os.mkdir(folder)
    with open(folder + b"/ch\xe4ts.jsonl", "wb") as file:
        file.write(chats)
    done = rejoinder_command(b"score", folder, b"-m", b"length", b"-o", folder + b".run")
    assert done.returncode == 0, done.stderr.decode()
    with open(folder + b".run/sharded.json", "rb") as file:
        assert json.loads(file.read())["shards"][0]["name"] == r"ch\xe4ts.jsonl"
    assert rejoinder_command(b"shards", b"catalogue", folder).returncode == 0
    assert rejoinder_command(b"shards", b"check", folder).returncode == 0


@pytest.mark.parametrize("argv", [[b"score", b"IN", b"-m", b"length"], [b"import", b"parquet", b"IN"], [b"shards"]])
def test_parquet_under_a_name_that_is_not_utf_8_is_told_in_one_line(
    tmp_path: Path, chats: bytes, argv: list[bytes]
) -> None:
    pytest.importorskip("pyarrow")
    odd = os.fsencode(tmp_path) + b"/ch\xe4ts.parquet"
    write_record_file(rejoinder.stream(tmp_path / "chats.jsonl"), str(tmp_path / "plain.parquet"))
    os.rename(tmp_path / "plain.parquet", odd)
    full = [odd if one == b"IN" else one for one in argv]
    if argv == [b"shards"]:
        full = [b"shards", b"write", os.fsencode(tmp_path / "chats.jsonl"), b"-o", odd + b".shards"]
    assert "as names of Parquet and Arrow files must be; rename it" in last_line(rejoinder_command(*full, cwd=tmp_path))


# Meta, blank lines, byte order marks, and files that change.


@pytest.mark.parametrize("depth", [100, 101, 254, 900])
def test_meta_that_is_nested_deeply_is_scored_or_refused_in_one_line(tmp_path: Path, depth: int) -> None:
    meta = '{"a":' * depth + "1" + "}" * depth
    path = tmp_path / "chats.jsonl"
    path.write_text(f'{{"id": "q1", "context": ["Hi."], "meta": {meta}}}\n' + json.dumps(reply("q1", "bot", "Yes.")))
    if depth == 100:
        assert len(run([path], Plan.of(["length"]), tmp_path / "run").scores) == 1
        return
    with pytest.raises(InputError, match=r"line 1: 'meta' of item is nested more than 100 levels deep; flatten it"):
        run([path], Plan.of(["length"]), tmp_path / "run")


def test_millions_of_blank_lines_are_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_bytes(gzip.compress(b"\n" * 200_000))
    monkeypatch.setattr(reader, "MOST_BLANK_LINES", 1_000)
    with pytest.raises(InputError, match=r"chats\.jsonl: has 1,001 blank lines in a row; is it the right file\?"):
        rejoinder.read(path)
    for name in ("csv", "jsonl", "openai"):
        with pytest.raises(InputError, match="has 1,001 blank lines in a row"):
            list(import_(name, path))
    monkeypatch.setattr(reader, "LONGEST_LINE", 10_000)
    path.write_bytes((b" " * 5_000 + b"\n") * 5)
    with pytest.raises(InputError, match="has 2 blank lines in a row"):
        rejoinder.read(path)


def test_blank_lines_between_records_count_from_the_last_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chats: bytes
) -> None:
    monkeypatch.setattr(reader, "MOST_BLANK_LINES", 3)
    path = tmp_path / "apart.jsonl"
    path.write_bytes(b"\n\n\n" + chats.replace(b"\n", b"\n\n\n\n"))
    assert rejoinder.read(path).counts()["responses"] == 1


@pytest.mark.parametrize("zipped", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_first_record(tmp_path: Path, chats: bytes, zipped: bool) -> None:
    marked = tmp_path / "marked.jsonl"
    for raw in (chats, b"\n" + chats, b"\r\n\r\n" + chats):
        whole = b"\xef\xbb\xbf" + raw
        marked.write_bytes(gzip.compress(whole) if zipped else whole)
        assert list(rejoinder.read(marked)) == list(rejoinder.read(tmp_path / "chats.jsonl"))
    marked.write_bytes(chats + b"\xef\xbb\xbf" + chats)
    with pytest.raises(InputError, match="line 3: not valid JSON"):
        rejoinder.read(marked)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    log = {"model": "m", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    ours = save(tmp_path / "ours.jsonl", *(item(f"q{n}") for n in range(9)))
    logs = save(tmp_path / "logs.jsonl", *({**log, "id": str(n)} for n in range(9)))
    files = [ours, logs]
    if importlib.util.find_spec("pyarrow"):
        files.append(tmp_path / "rows.parquet")
        write_record_file(rejoinder.stream(ours), str(files[-1]))
    for path in files:
        given, raw = Input(path), path.read_bytes()
        path.write_bytes(raw.replace(b"q8", b"q9").replace(b"Hello", b"Hullo"))
        with pytest.raises(InputError, match=f"{path}: changed while it was being read; run the command again"):
            list(given.records())
        path.write_bytes(raw)
        assert list(given.records())


# Conversations.


def test_items_with_and_without_a_dialogue_are_conversations_of_their_own(tmp_path: Path) -> None:
    records = []
    for number, dialogue in enumerate([None, "d0", None, "d1", "d0", None]):
        records.append({**item(f"q{number}"), **({"dialogue": dialogue} if dialogue else {})})
        records += [reply(f"q{number}", system, "Yes.") for system in ("ann", "bob")]
    path = save(tmp_path / "chats.jsonl", *records)
    fresh = run([path], Plan.of(["length"]), tmp_path / "run").scores
    for scores in (fresh, rejoinder.load(tmp_path / "run"), rejoinder.score(path, "length")):
        groups: dict[int, set[str]] = {}
        for cluster, name in zip(np.asarray(scores.clusters).tolist(), scores.items, strict=True):
            groups.setdefault(cluster, set()).add(name)
        assert sorted(map(sorted, groups.values())) == [["q0"], ["q1", "q4"], ["q2"], ["q3"], ["q5"]]


def test_a_million_blank_lines_in_a_row_are_read(tmp_path: Path, chats: bytes) -> None:
    path = tmp_path / "apart.jsonl"
    path.write_bytes(b"\n" * reader.MOST_BLANK_LINES + chats)
    assert reader.MOST_BLANK_LINES == 1_000_000
    assert rejoinder.read(path).counts()["responses"] == 1


def test_a_dialogue_without_a_corpus_gets_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "support.jsonl"
    turns = [{"speaker": "A", "text": "Hi."}]
    lines = [{"id": "d1", "turns": turns}, {"id": "d2", "turns": turns, "corpus": "films"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert [dialogue.corpus for dialogue in read_dialogues([str(path)])] == ["support", "films"]


# Two versions of a system, whose conversations go apart.


def talk(name: str, *texts: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"id": name, "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)], **more}


def test_logs_of_two_versions_share_items_and_keep_their_own_futures(tmp_path: Path) -> None:
    a = save(tmp_path / "a.jsonl", talk("c1", "Rye?", "Yes.", "Spelt?", "Too."), talk("c2", "Where?", "Here.", "Ah."))
    b = save(tmp_path / "b.jsonl", talk("c1", "Rye?", "No.", "Pity.", "Sorry."), talk("c2", "Where?", "There.", "Oh."))
    data = rejoinder.read(f"v1={a}", f"v2={b}")
    assert list(data.items) == ["c1/1", "c1/3", "c2/1", "b/c1/3"]
    assert {item.dialogue for item in data.items.values()} == {"c1", "c2"}
    after = {pair.response.id: [turn.text for turn in turns_after(pair)] for pair in data.pairs()}
    assert after == {
        "c1/1/v1": ["Spelt?", "Too."],
        "c1/1/v2": ["Pity.", "Sorry."],
        "c1/3/v1": [],
        "b/c1/3/v2": [],
        "c2/1/v1": ["Ah."],
        "c2/1/v2": ["Oh."],
    }
    assert "items with another context than an earlier file's = items of their own (1)" in data.imported[1]
    scored = run([f"v1={a}", f"v2={b}"], Plan.of(["length"]), tmp_path / "run")
    assert len(scored.scores) == 6
    (difference,) = rejoinder.compare(tmp_path / "run")[0].differences
    assert difference.n == 2


def test_namesakes_that_begin_otherwise_are_other_conversations(tmp_path: Path) -> None:
    a = save(tmp_path / "a.jsonl", talk("1", "Rye?", "Yes.", "So?", "So.", rating=5))
    b = save(tmp_path / "b.jsonl", talk("1", "Bus?", "At six.", "So?", "So.", rating=4))
    data = rejoinder.read(f"v1={a}", f"v2={b}")
    assert list(data.items) == ["1/1", "1/3", "b/1/1", "b/1/3"]
    assert [(rating.dialogue, rating.meta["system"]) for rating in data.ratings] == [("1", "v1"), ("b/1", "v2")]
    assert "conversations with another beginning than an earlier file's = renamed (1)" in data.imported[1]


def test_a_prompt_of_its_own_stays_with_the_response(tmp_path: Path) -> None:
    def prompted(prompt: str | None) -> dict[str, Any]:
        one = talk("c", "Rye?", "Yes.", rating=3)
        return {**one, "messages": [*([{"role": "system", "content": prompt}] if prompt else []), *one["messages"]]}

    files = [save(tmp_path / f"{name}.jsonl", prompted(prompt)) for name, prompt in (("a", "Be kind."), ("b", None))]
    data = rejoinder.read(f"v1={files[0]}", f"v2={files[1]}")
    assert [read_meta_prompt(pair) for pair in data.pairs()] == ["Be kind.", None]


def test_two_versions_of_a_dialogue_are_rated_apart(tmp_path: Path) -> None:
    logs = {"v1": talk("c", "Rye?", "Yes.", "So?", "So."), "v2": talk("c", "Rye?", "No.", "So?", "So.")}
    files = [
        f"{name}={save(tmp_path / f'{name}.jsonl', {**log, 'feedback': [{'score': 4, 'rater': 'ann'}]})}"
        for name, log in logs.items()
    ]
    ratings = rejoinder.read(*files).ratings
    assert {(rating.dialogue, rating.meta["system"]) for rating in ratings} == {("c", "v1"), ("c", "v2")}


def test_items_of_our_own_schema_share_what_went_on_otherwise(tmp_path: Path) -> None:
    first = {"id": "q", "context": ["Rye?"], "future": ["Good."]}
    a = save(tmp_path / "a.jsonl", first, reply("q", "ann", "Yes."))
    b = save(tmp_path / "b.jsonl", {**first, "future": ["Bad."]}, reply("q", "bob", "No."))
    after = [turns_after(pair)[0].text for pair in rejoinder.read(a, b).pairs()]
    assert after == ["Good.", "Bad."]
    late = save(tmp_path / "late.jsonl", reply("q", "bob", "No."), {**first, "future": ["Bad."]})
    with pytest.raises(
        InputError, match=r"late\.jsonl line 2: item 'q' went on in another way .* before its responses"
    ):
        rejoinder.read(a, late)
