"""Data at its edges: shared conversations, catalogues that lie, records out of order, lists that do not go together."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from rejoinder.data.collection import collect, from_lists
from rejoinder.data.datasets import list_datasets
from rejoinder.data.grouping import group_by_conversation
from rejoinder.data.objects import to_object
from rejoinder.data.questions import limit_situation
from rejoinder.data.schema import Place, from_object
from rejoinder.data.shards.conversations import (
    conversation_digest,
    find_shared,
    pack_digests,
    save_digests,
    sort_digests,
    unpack_digests,
)
from rejoinder.data.shards.manifest import ShardEntry, ShardManifest, compare_manifest, decode_manifest, encode_manifest
from rejoinder.data.shards.stats import ShardStats, SurveyWorker, read_shard_stats
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Statement,
    Turn,
)

HI = (Turn("Hi.", "user"),)

# ---- conversations


def saved(folder: Path, *parts: list[int]) -> list[Path]:
    paths = [folder / f"{n}.npy" for n in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        save_digests(np.array(sorted(part), dtype=np.uint64), path)
    return paths


def test_a_digest_is_that_of_blake2b_and_travels_as_text() -> None:
    raw = hashlib.blake2b(b"a\0b", digest_size=8).digest()
    assert conversation_digest("a", "b") == int.from_bytes(raw, "little")
    assert conversation_digest("ab") != conversation_digest("a", "b")
    found = sort_digests([("b",), ("a",), ("b",)])
    assert found.tolist() == sorted({conversation_digest("a"), conversation_digest("b")})
    assert unpack_digests(pack_digests(found)).tolist() == found.tolist()
    assert unpack_digests(pack_digests(found)).dtype == np.uint64


@pytest.mark.parametrize("at_once", [1, 3, 7, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_two_files_that_share_a_conversation_are_found_however_few_are_compared_at_once(
    tmp_path: Path, at_once: int, seed: int
) -> None:
    chance = random.Random(seed)
    numbers = [chance.getrandbits(64) for _ in range(30)]
    parts = [numbers[:10], numbers[10:20], numbers[20:]]
    assert find_shared(saved(tmp_path, *parts), at_once) is None
    owner, other = chance.sample(range(3), 2)
    twice = chance.choice(parts[owner])
    parts[other].append(twice)
    found = find_shared(saved(tmp_path, *parts), at_once)
    assert found is not None
    assert ({found.first, found.second}, found.digest) == ({owner, other}, twice)


def test_digests_at_the_ends_of_their_range_are_compared_too(tmp_path: Path) -> None:
    for shared in (0, 2**63, 2**64 - 1):
        found = find_shared(saved(tmp_path, [shared, 5], [shared, 6], [7]), 1)
        assert found is not None
        assert tuple(found) == (0, 1, shared)
    assert find_shared([]) is None
    assert find_shared(saved(tmp_path, [], [])) is None


def test_stretches_hold_about_equally_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.data.shards import conversations

    sizes = []
    inner = conversations._shared_digest

    def counted(parts: Any) -> Any:
        sizes.append(sum(map(len, parts)))
        return inner(parts)

    monkeypatch.setattr(conversations, "_shared_digest", counted)
    numbers = [n * 2**54 for n in range(1024)]  # evenly spread
    assert find_shared(saved(tmp_path, numbers[::2], numbers[1::2]), 256) is None
    assert sizes == [256] * 4


# ---- what a shard holds


RECORDS: list[Record] = [
    Dialogue("d", (Turn("Hi."), Turn("Yes?"))),
    Item("i", HI, dialogue="d"),
    Item("j", HI),
    Response("r", "i", "bot", "Yes."),
    Response("s", "j", "bot", "No."),
    Question("q", HI, (Candidate("Yes.", "0", 1.0), Candidate("No.", "1", 0.0)), dialogue="e"),
    Rating("ann", "apt", 1.0, "r"),
    Rating("ann", "apt", 2.0, dialogue="d"),
    Preference("j", "s", "r", "ann", "first", "apt"),
]


def test_the_conversation_of_every_kind_of_record() -> None:
    found = ShardStats()
    for record in RECORDS:
        found.add(record)
    assert [found.conversation(record) for record in RECORDS] == ["d", "d", "j", "d", "j", "e", "d", "d", "j"]
    assert found.conversations() == {"d", "j", "e"}
    assert found.records == {"dialogue": 1, "item": 2, "response": 2, "question": 1, "rating": 2, "preference": 1}
    assert found.digests().tolist() == sorted({conversation_digest("bot", "d"), conversation_digest("bot", "j")})
    lost = [
        Response("x", "nowhere", "bot", "Yes."),
        Rating("ann", "apt", 1.0, "nobody"),
        Preference("n", "r", "s", "a", "tie", "b"),
    ]
    assert [found.conversation(record) for record in lost] == [None, None, None]


def test_a_worker_surveys_a_shard_and_an_empty_one(tmp_path: Path) -> None:
    path, empty = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write(RECORDS, path)
    empty.write_bytes(b"")
    entry, text = SurveyWorker().compute(["a.jsonl", str(path), path.stat().st_size])
    raw = path.read_bytes()
    assert entry[:3] == ["a.jsonl", len(raw), hashlib.sha256(raw).hexdigest()]
    assert entry[3]["response"] == 2
    assert entry[4] == 3
    assert unpack_digests(text).tolist() == sorted({conversation_digest("bot", "d"), conversation_digest("bot", "j")})
    found = read_shard_stats(path, "a.jsonl")
    assert found.records["item"] == 2
    assert read_shard_stats(empty, "b.jsonl").records == {}


def test_records_are_gathered_by_conversation_items_first() -> None:
    order = [RECORDS[n] for n in (8, 4, 7, 6, 3, 2, 1, 0, 5)]
    found = [
        record
        for record, _ in group_by_conversation((record, Place("x", n)) for n, record in enumerate(order, start=1))
    ]
    assert found == [RECORDS[n] for n in (2, 4, 8, 0, 1, 3, 6, 7, 5)]
    places = [
        place.line
        for _, place in group_by_conversation((record, Place("x", n)) for n, record in enumerate(order, start=1))
    ]
    assert places == [6, 2, 1, 8, 7, 5, 4, 3, 9]
    with pytest.raises(InputError, match="x line 2: refers to a record that is not in the input"):
        list(group_by_conversation([(RECORDS[2], Place("x", 1)), (RECORDS[3], Place("x", 2))]))


# ---- catalogues


ENTRIES = [ShardEntry("b", 20, "bb", {"item": 2, "response": 1}, 2), ShardEntry("a", 10, "aa", {"item": 1}, 1)]


def test_a_catalogue_comes_back_in_the_order_of_names() -> None:
    found = decode_manifest(encode_manifest(ShardManifest(ENTRIES)), "here")
    assert list(found.entries) == ENTRIES[::-1]
    assert found.records() == {"item": 3, "response": 1}
    assert found.summary() == "2 shards: 3 items, 1 response of 3 conversations in 30 bytes"
    assert ShardManifest([]).summary() == "0 shards: no records of 0 conversations in 0 bytes"
    assert orjson.loads(encode_manifest(ShardManifest(ENTRIES)))["records"] == {"item": 3, "response": 1}


def test_a_catalogue_that_cannot_be_right_is_refused() -> None:
    for raw in (b"", b"[]", b"{}", b'{"format": 1, "shards": [{}]}', b'{"format": 1, "shards": 3}'):
        with pytest.raises(InputError, match=r"here: (is not a catalogue of shards|was changed after it was written)"):
            decode_manifest(raw, "here")
    with pytest.raises(InputError, match="was written by another version of rejoinder"):
        decode_manifest(b'{"format": 2, "shards": []}', "here")
    for double in (ENTRIES[0]._replace(sha256="cc"), ENTRIES[0]._replace(name="c")):
        with pytest.raises(InputError, match="here: lists 'b' twice"):
            decode_manifest(encode_manifest(ShardManifest([*ENTRIES, double])), "here")


def test_shards_are_compared_with_their_catalogue() -> None:
    found = ShardManifest(ENTRIES)
    assert compare_manifest(found, {"a": 10, "b": 20}, "here") == {"a": ENTRIES[1], "b": ENTRIES[0]}
    with pytest.raises(InputError, match="here: the shard 'b' is listed but not there"):
        compare_manifest(found, {"a": 10}, "here")
    with pytest.raises(InputError, match=r"the shard 'a' \(and 1 more\) is listed but not there"):
        compare_manifest(found, {}, "here")
    assert set(compare_manifest(found, {"a": 10}, "here", whole=False)) == {"a", "b"}
    with pytest.raises(InputError, match="here: does not list the shard 'c'"):
        compare_manifest(found, {"a": 10, "b": 20, "c": 1}, "here")
    with pytest.raises(InputError, match="10 bytes are listed, 11 are there"):
        compare_manifest(found, {"a": 11, "b": 20}, "here")


# ---- collections, records and situations


def test_lists_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(InputError, match="contexts has 1 entries but responses has 2"):
        from_lists(["a", "b"], contexts=["x"])
    with pytest.raises(InputError, match="references has 3 entries but responses has 2"):
        from_lists(["a", "b"], references=["x", "y", "z"])
    with pytest.raises(InputError, match=r"responses\[1\] is int; it must be a string"):
        from_lists(["a", 3])  # type: ignore[list-item]
    for wrong in (["x", " "], ["x", [""]], ["x", ["y", 3]]):
        with pytest.raises(
            InputError, match=r"contexts\[1\] must be a non-empty string or a list of non-empty strings"
        ):
            from_lists(["a", "b"], contexts=wrong)  # type: ignore[arg-type]


def test_lists_become_items_whose_ids_sort() -> None:
    found = from_lists([f"r{n}" for n in range(11)], contexts=[["a", "b"]] * 11, references=["x"] * 11, system="bot")
    assert list(found.items) == [f"{n:02}" for n in range(11)] == sorted(found.items)
    assert list(found.responses)[10] == "10/bot"
    assert found.items["00"] == Item("00", (Turn("a"), Turn("b")), (Reference("x"),))
    assert list(from_lists(["a"]).items) == ["0"]
    assert "0" in from_lists(["a"] * 10).items
    assert found.pair("10/bot").response.text == "r10"
    assert from_lists([]).counts()["items"] == 0


def test_every_record_comes_back_from_its_object() -> None:
    whole = [
        *RECORDS,
        Item(
            "k",
            HI,
            (Reference("Yes."), Reference("No.", "bm25", 0.5)),
            (Turn("So."),),
            (Statement("It is cold."), Statement("It is May.", "date", False)),
            "d",
            True,
            {"a": [1]},
        ),
        Response("t", "k", "bot", ""),
    ]
    for record in whole:
        assert from_object(to_object(record), Place("x", 1), allow_empty=True) == record
    assert to_object(whole[-2])["references"][0] == "Yes."
    assert to_object(whole[-2])["references"][1] == {"text": "No.", "source": "bm25", "score": 0.5}
    assert "future" not in to_object(RECORDS[2])
    assert to_object(whole[-1])["text"] == ""
    assert [type(record).__name__ for record in collect(RECORDS)] == [
        "Dialogue", "Item", "Item", "Question", "Response", "Response", "Rating", "Rating", "Preference",
    ]  # fmt: skip


def test_how_much_of_a_situation_is_shown() -> None:
    cold, may = Statement("It is cold.", "environment", True), Statement("It is May.", "date", False)
    meta = {
        "expanded": [{"text": "A dog barks."}, {"text": "It is cold.", "relevant": True}, {"text": "It rains."}],
        "distractors": {"5": [0], "10": [0, 2]},
    }
    question = Question("q", HI, (Candidate("Yes.", "0"),), (cold, may), meta=meta)
    for given, expected in {
        "u": [],
        "u+S1": ["It is cold."],
        "u+S": ["It is cold.", "It is May."],
        "5": ["A dog barks.", "It is cold."],
        "10": ["A dog barks.", "It is cold.", "It rains."],
    }.items():
        (found,) = limit_situation([question], given)
        assert [statement.text for statement in found.situation] == expected
    with pytest.raises(InputError, match="its meta has no expanded situation with 15 distractors"):
        limit_situation([question], "15")
    with pytest.raises(InputError, match="no input is called 'u\\+S2'"):
        limit_situation([question], "u+S2")
    unknown = Question("q", HI, (Candidate("Yes.", "0"),), (Statement("It is cold."),))
    with pytest.raises(InputError, match="its statements are not marked as relevant or not"):
        limit_situation([unknown], "u+S1")
    assert limit_situation([Question("q", HI, (Candidate("Yes.", "0"),))], "u+S1")[0].situation == ()


def test_what_is_known_of_the_published_files_does_not_change_by_accident() -> None:
    files = {file for found in list_datasets() for file in found.files}
    lines = sorted(f"{file.path} {file.size} {file.sha256} {file.commit}" for file in files)
    counts = sorted(
        f"{found.name} {sorted(found.counts.items())} {[file.path for file in found.files]}"
        for found in list_datasets()
    )
    digested = hashlib.sha256("\n".join([*lines, *counts]).encode()).hexdigest()[:16]
    assert digested == "0d7b6237f0cf50d8", (
        "a file's size, digest or commit has changed, or a set's counts; check them, then pin them here"
    )
