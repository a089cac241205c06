"""Records as Parquet rows: there and back, only the columns that are needed, and what a broken file says."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.data.parquet import arrow_schema, is_parquet, read_parquet_objects, read_parquet_records, write
from rejoinder.data.reader import stream
from rejoinder.data.shards.files import shards_of
from rejoinder.data.writer import encode
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.types import Candidate, Item, Question, Reference, Response, Statement, Turn

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
ODD = [
    Item(
        "i",
        (Turn("Soup — again?\n", "Ana"), Turn("日本語 👍")),
        (Reference("a"), Reference("b", "bm25", 0.5, "c")),
        (Turn("later"),),
        (Statement("painted", "place", False), Statement("x")),
        "d",
        True,
        {"z": 1, "a": [1.5, None, {"b": True}], "big": 2**60},
    ),
    Item("empty", ()),
    Response("r", "i", "s", "", {"n": 3}),
    Question(
        "q",
        (Turn("?"),),
        (Candidate("a", "c1", "Best", "random", ("odd", "rude"), {"k": 1}), Candidate("b", grade=2), Candidate("c")),
        (Statement("s"),),
        "d",
        "test",
    ),
]


def test_every_record_comes_back_as_it_was(tmp_path: Path) -> None:
    wanted = [*stream(CHATS), *ODD]
    assert write(wanted, tmp_path / "a.parquet") == len(wanted)
    found = [record for record, _ in read_parquet_records(tmp_path / "a.parquet", "a", allow_empty=True)]
    assert [encode(record) for record in found] == [encode(record) for record in wanted]
    assert found == wanted


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(ODD, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_row_group_is_no_larger_than_what_fits(tmp_path: Path) -> None:
    long = "word " * 400_000
    write((Item(f"i{n}", (Turn(long),)) for n in range(20)), tmp_path / "a.parquet")
    file = parquet.ParquetFile(tmp_path / "a.parquet")
    assert file.metadata.num_row_groups == 3
    assert [o["id"] for o, _ in read_parquet_objects(tmp_path / "a.parquet", "a")] == [f"i{n}" for n in range(20)]


def test_a_row_is_no_larger_than_a_line_may_be(tmp_path: Path) -> None:
    write([Response("r", "i", "s", "x" * (65 * 2**20))], tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: has a row of more than 64 MiB"):
        rejoinder.read(tmp_path / "a.parquet")


def test_columns_that_nobody_needs_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ODD, tmp_path / "a.parquet")
    asked: list[list[str]] = []
    plain = parquet.ParquetFile.iter_batches

    def watched(self: Any, **given: Any) -> Any:
        asked.append(given["columns"])
        return plain(self, **given)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", watched)
    item = next(read_parquet_records(tmp_path / "a.parquet", "a", frozenset({"context", "future", "situation"})))[0]
    assert isinstance(item, Item)
    assert (item.context, item.future, item.situation, item.truncated) == ((), (), (), True)
    assert item.references == ODD[0].references  # type: ignore[union-attr]
    assert not {"context", "future", "situation"} & set(asked[0])


def test_a_parquet_file_goes_wherever_a_file_goes(tmp_path: Path) -> None:
    write(stream(CHATS), tmp_path / "chats.parquet")
    (tmp_path / "unnamed").write_bytes((tmp_path / "chats.parquet").read_bytes())
    for name in ("chats.parquet", "unnamed"):
        assert is_parquet(tmp_path / name)
        assert rejoinder.read(tmp_path / name) == rejoinder.read(CHATS)
        assert [encode(r) for r in stream(tmp_path / name)] == [encode(r) for r in stream(CHATS)]
    assert not is_parquet(CHATS)


def test_rows_without_a_kind_are_known_by_their_columns(tmp_path: Path) -> None:
    rows = [{"id": "i", "context": [{"text": "hi"}]}, {"item": "i", "system": "s", "text": "ho"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    context = pyarrow.Table.from_pylist(rows[:1])
    both = pyarrow.concat_tables([context, pyarrow.Table.from_pylist(rows[1:])], promote_options="default")
    parquet.write_table(both, tmp_path / "a.parquet")
    found = [record for record, _ in read_parquet_records(tmp_path / "a.parquet", "a", frozenset({"context"}))]
    assert found == [Item("i", (Turn("hi"),)), Response("i/s", "i", "s", "ho")]


def broken(folder: Path, what: str) -> Path:
    path = folder / "a.parquet"
    good = folder / "good"
    write(stream(CHATS), good)
    if what == "text":
        path.write_bytes(CHATS.read_bytes())
    elif what == "nothing":
        path.write_bytes(b"")
    elif what == "half":
        path.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    elif what == "no rows":
        write([], path)
    elif what == "misspelt":
        table = pyarrow.table({"kind": ["response"], "item": ["i"], "systm": ["s"], "text": ["t"], "id": ["r"]})
        parquet.write_table(table, path)
    elif what == "type":
        parquet.write_table(pyarrow.table({"kind": ["item"], "id": ["i"], "context": [3]}), path)
    elif what == "bytes":
        raw = pyarrow.array([b"\xff\xfe"], pyarrow.binary())
        text = pyarrow.StringArray.from_buffers(1, *raw.buffers()[1:])
        parquet.write_table(pyarrow.table({"kind": ["response"], "item": ["i"], "system": ["s"], "text": text}), path)
    elif what == "meta":
        parquet.write_table(pyarrow.table({"kind": ["item"], "id": ["i"], "context": [[]], "meta": ["{"]}), path)
    elif what == "record":
        parquet.write_table(pyarrow.table({"kind": ["response"], "item": ["i"], "text": ["t"]}), path)
    return path


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("text", r"a\.parquet: is not a Parquet file \(it begins with b'\{"),
        ("nothing", r"a\.parquet: is not a Parquet file \(it is empty\)"),
        ("half", r"a\.parquet: cannot be read as Parquet"),
        ("no rows", r"a\.parquet: has no rows"),
        ("misspelt", r"column 'systm', .*did you mean 'system'"),
        ("type", r"the column 'context' is int64; it must be list"),
        ("bytes", r"a\.parquet: cannot be read as Parquet .*UTF8"),
        ("meta", r"a\.parquet row 1: 'meta' must be JSON in a string, found '\{'"),
        ("record", r"a\.parquet row 1: response has no 'system'"),
        ("missing", r"a\.parquet: no such file"),
    ],
)
def test_a_broken_file_says_what_is_wrong(tmp_path: Path, what: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rejoinder.read(broken(tmp_path, what))


def test_damage_anywhere_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    write(list(stream(CHATS))[:40], tmp_path / "good")
    raw = (tmp_path / "good").read_bytes()
    for place in range(4, len(raw), 97):
        (tmp_path / "bad").write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        with contextlib.suppress(InputError):
            list(read_parquet_records(tmp_path / "bad", "bad"))


def test_the_columns_are_those_of_the_schema() -> None:
    from rejoinder.data.schema import KEYS

    assert set(arrow_schema().names) == set().union(*KEYS.values())
    assert json.loads(json.dumps(arrow_schema().names)) == arrow_schema().names


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ODD, tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'reading Parquet needs pyarrow; .* "rejoinder\[arrow\]"'):
        rejoinder.read(tmp_path / "a.parquet")
    with pytest.raises(MissingExtraError, match=r"an object store needs pyarrow"):
        shards_of("s3://bucket/logs")
