"""Shards: packed whole, named by content, listed in a catalogue that is believed, gathered where records lie apart."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tiny_shards import placed, talk

from rejoinder.cli import program
from rejoinder.data.grouping import group_by_conversation
from rejoinder.data.inputs import folder
from rejoinder.data.reader import stream
from rejoinder.data.shards import manifest
from rejoinder.data.shards.conversations import conversation_digest, find_shared, save_digests, sort_digests
from rejoinder.data.shards.files import list_data_files, shards_of
from rejoinder.data.shards.pack import pack_records, write_record_file
from rejoinder.data.writer import encode_record, write
from rejoinder.errors import InputError
from rejoinder.types import Item, Response, Turn

pytest.importorskip("pyarrow")


def run(*typed: str) -> Result:
    return CliRunner().invoke(program, list(typed))


@pytest.mark.parametrize("form", ["parquet", "jsonl", "jsonl.gz"])
def test_shards_hold_whole_conversations_and_all_of_them(tmp_path: Path, form: Any) -> None:
    records = talk()
    found = pack_records(placed(records), str(tmp_path), form, size=20)
    assert [sum(e.records.values()) for e in found.entries] == [26, 26, 26, 26, 26, 26]
    assert [e.conversations for e in found.entries] == [2] * 6
    assert found.records() == {"dialogue": 12, "item": 36, "response": 72, "rating": 36}
    shards = shards_of(str(tmp_path))
    assert [shard.responses for shard in shards] == [12] * 6
    assert [shard.name for shard in shards] == [e.name for e in found.entries]
    assert all(shard.sha256 and f"-{shard.sha256[:12]}." in shard.name for shard in shards)
    back = [record for shard in shards for record in stream(shard.where)]
    assert [encode_record(record) for record in back] == [encode_record(record) for record in records]


def test_there_and_back_the_bytes_are_the_same(tmp_path: Path) -> None:
    write(talk(), tmp_path / "all.jsonl")
    for one, other in (("all.jsonl", "p"), ("p", "z"), ("z", "back.jsonl")):
        form = "jsonl.gz" if other == "z" else "parquet"
        done = run(
            "shards", "write", str(tmp_path / one), "-o", str(tmp_path / other), "--form", form, "--records", "30"
        )
        assert done.exit_code == 0, done.output
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    assert run("shards", "check", str(tmp_path / "z"), "--processes", "1").exit_code == 0


def test_one_file_is_of_the_form_that_its_name_tells(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.gz", "a.parquet"):
        assert write_record_file(talk(), str(tmp_path / name)) == len(talk())
        assert list(stream(tmp_path / name)) == talk()


def test_packing_again_changes_nothing_and_other_shards_are_refused(tmp_path: Path) -> None:
    pack_records(placed(talk()), str(tmp_path), size=20)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    pack_records(placed(talk()), str(tmp_path), size=20)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(InputError, match="also holds other shards"):
        pack_records(placed(talk(4)), str(tmp_path), size=20)


def test_records_that_lie_apart_are_told_and_can_be_gathered(tmp_path: Path) -> None:
    records = talk()
    random.Random(0).shuffle(records)
    with pytest.raises(InputError, match=r"together first \(gather\)"):
        pack_records(placed(records), str(tmp_path / "a"), size=20)
    found = pack_records(group_by_conversation(placed(records)), str(tmp_path / "b"), size=20)
    assert found.records() == {"dialogue": 12, "item": 36, "response": 72, "rating": 36}
    assert sum(e.conversations for e in found.entries) == 12
    back = [encode_record(r) for shard in shards_of(str(tmp_path / "b")) for r in stream(shard.where)]
    assert sorted(back) == sorted(map(encode_record, records))


def test_a_conversation_that_comes_back_later_is_told(tmp_path: Path) -> None:
    records = [*talk(8), Item("late", (Turn("x"),), dialogue="d0")]
    with pytest.raises(InputError, match="far apart"):
        pack_records(placed(records), str(tmp_path), size=20)
    assert not (tmp_path / manifest.NAME).exists()


def test_gathering_says_what_points_nowhere() -> None:
    with pytest.raises(InputError, match="x line 1: refers to a record that is not in the input"):
        list(group_by_conversation(placed([Response("r", "nowhere", "s", "t")])))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    pack_records(placed(talk()), str(tmp_path / "packed"), "jsonl", size=20)
    return tmp_path / "packed"


def test_a_catalogue_is_believed(packed: Path) -> None:
    first, second, *_ = sorted(path for path in packed.iterdir() if path.suffix == ".jsonl")
    raw = first.read_bytes()
    first.unlink()
    with pytest.raises(InputError, match=r"00000-.* is listed but not there"):
        shards_of(str(packed))
    first.write_bytes(raw + b"\n")
    with pytest.raises(InputError, match=r"is not the shard that its catalogue lists \(.* bytes are listed"):
        shards_of(str(packed))
    first.write_bytes(raw)
    (packed / "more.jsonl").write_bytes(second.read_bytes())
    with pytest.raises(InputError, match=r"does not list the shard 'more\.jsonl'"):
        shards_of(str(packed))
    (packed / "more.jsonl").unlink()
    assert len(shards_of(str(packed))) == 6
    # A pattern means those that it names: the others need not be there.
    assert len(shards_of(str(packed / "0000[01]*.jsonl"))) == 2


def test_a_shard_whose_content_changed_is_told_where_it_is_read(packed: Path, tmp_path: Path) -> None:
    first = min(path for path in packed.iterdir() if path.suffix == ".jsonl")
    first.write_bytes(first.read_bytes().replace(b"I say 0 and 0", b"I say 0 and 9"))
    said = "is not the shard that its catalogue lists (sha256"
    done = run("score", str(packed), "-m", "length", "-o", str(tmp_path / "run"), "--processes", "1")
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    done = run("shards", "check", str(packed), "--processes", "1")
    assert "its sha256 differs" in str(done.exception)


def test_a_catalogue_of_what_is_there_can_be_made(packed: Path) -> None:
    before = (packed / manifest.NAME).read_bytes()
    (packed / manifest.NAME).unlink()
    assert "no catalogue" in str(run("shards", "check", str(packed)).exception)
    done = run("shards", "catalogue", str(packed), "--processes", "1")
    assert done.exit_code == 0, done.output
    assert "6 shards: 12 dialogues, 36 items, 72 responses, 36 ratings of 12 conversations" in done.output
    assert json.loads((packed / manifest.NAME).read_bytes()) == json.loads(before)
    with gzip.open(packed / "empty.jsonl.gz", "wb"):
        pass
    assert run("shards", "catalogue", str(packed), "--processes", "1").exit_code == 0
    assert shards_of(str(packed))[-1].responses == 0


def test_a_broken_catalogue_is_told(packed: Path) -> None:
    path = packed / manifest.NAME
    whole = json.loads(path.read_bytes())
    for broken, said in (
        (b"{", "is not a catalogue of shards"),
        (b"[]", "is not a catalogue of shards"),
        (json.dumps({**whole, "format": 9}).encode(), "another version"),
        (json.dumps({**whole, "shards": [*whole["shards"], whole["shards"][0]]}).encode(), "lists .* twice"),
    ):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=said):
            shards_of(str(packed))


def test_two_shards_that_share_a_conversation_have_no_catalogue(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "two")):
        write(
            [Item(f"i{name}", (Turn("x"),), dialogue="d"), Response(name, f"i{name}", "s", text)],
            tmp_path / f"{name}.jsonl",
        )
    done = run("shards", "catalogue", str(tmp_path), "--processes", "1")
    assert "a.jsonl and b.jsonl both have replies of one system in the same conversation" in str(done.exception)
    # The replies of two systems to the same items may lie in two files.
    write([Item("ib", (Turn("x"),), dialogue="d"), Response("b", "ib", "other", "two")], tmp_path / "b.jsonl")
    assert run("shards", "catalogue", str(tmp_path), "--processes", "1").exit_code == 0


def test_shared_digests_are_found_however_they_are_cut(tmp_path: Path) -> None:
    rng = random.Random(1)
    names = [f"c{n}" for n in range(5_000)]
    rng.shuffle(names)
    paths = [tmp_path / f"{n}.npy" for n in range(7)]
    for n, path in enumerate(paths):
        save_digests(sort_digests((name,) for name in names[n::7]), path)
    for at_once in (2**22, 1_000, 37):
        assert find_shared(paths, at_once) is None
    twice = names[3]
    save_digests(np.unique(np.append(np.load(paths[6]), np.uint64(conversation_digest(twice)))), paths[6])
    for at_once in (2**22, 1_000, 37):
        found = find_shared(paths, at_once)
        assert found is not None
        assert tuple(found) == (3, 6, conversation_digest(twice))
    assert find_shared([]) is None


def test_what_is_no_folder_of_shards_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list_data_files(str(tmp_path / "nothing.jsonl"))
    assert "is not a folder of shards" in str(run("shards", "catalogue", str(tmp_path / "nothing")).exception)
    with pytest.raises(InputError, match="there are no records"):
        pack_records([], str(tmp_path / "out"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be created as a folder"):
        pack_records(placed(talk()), str(tmp_path / "file"))


def test_a_folder_of_shards_is_known_by_the_name_of_its_catalogue() -> None:
    assert folder.CATALOGUE == manifest.NAME
