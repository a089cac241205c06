"""Reading: plain, gzip, standard input; each kind of damage has its own sentence."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

import rejoinder
from rejoinder.data import reader
from rejoinder.errors import InputError
from rejoinder.types import Dialogue, Response

ITEM = b'{"id": "i1", "context": ["Hello?"], "references": ["Hi."]}\n'
RESPONSE = b'{"item": "i1", "system": "bot", "text": "Hi there."}\n'


def written(folder: Path, raw: bytes, name: str = "chats.jsonl") -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


def test_plain_gzip_and_standard_input_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = ITEM + b"\n  \n" + RESPONSE
    plain = list(rejoinder.stream(written(tmp_path, raw)))
    assert list(rejoinder.stream(written(tmp_path, gzip.compress(raw), "chats.gz"))) == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert list(rejoinder.stream("-")) == plain
    assert [type(r).__name__ for r in plain] == ["Item", "Response"]


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf" + (ITEM + RESPONSE).replace(b"\n", b"\r\n")
    assert len(list(rejoinder.stream(written(tmp_path, raw)))) == 2


def test_a_last_line_without_a_newline_is_read(tmp_path: Path) -> None:
    assert len(list(rejoinder.stream(written(tmp_path, ITEM + RESPONSE.strip())))) == 2


DAMAGE = {
    "empty": (b"", "chats.jsonl: is empty"),
    "blank": (b"\n \n", "chats.jsonl: is empty"),
    "cut": (ITEM + RESPONSE[:20], "line 2: the last line is cut off"),
    "not json": (ITEM + b"hello\n" + RESPONSE, "line 2: not valid JSON"),
    "bad utf-8": (ITEM + RESPONSE.replace(b"Hi", b"\xff\xfe"), "line 2: not UTF-8 at byte"),
    "utf-16": (b"\xff\xfe{}\n", "line 1: not UTF-8 at byte 1 (found 0xff); the file may be UTF-16"),
    "lone surrogate": (b'{"item": "i", "system": "s", "text": "\\ud800"}\n', "line 1: not valid JSON"),
    "list": (b"[\n" + ITEM, "not valid JSON"),
    "NaN": (b'{"response": "r", "rater": "a", "aspect": "b", "value": NaN}\n', "line 1: not valid JSON"),
    "deep": (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 1: not valid JSON"),
    "cut gzip": (gzip.compress(ITEM)[:-9], "the gzip file ends too early"),
    "damaged gzip": (gzip.compress(ITEM)[:12] + b"\x00" * 30, "damaged gzip file"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_kind_of_damage_has_its_own_sentence(damage: str, tmp_path: Path) -> None:
    raw, said = DAMAGE[damage]
    with pytest.raises(InputError) as error:
        rejoinder.read(written(tmp_path, raw))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder, not a file"):
        rejoinder.read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        rejoinder.read(tmp_path / "nothing.jsonl")


def test_a_line_that_is_far_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LONGEST_LINE", 200)
    with pytest.raises(InputError, match="line 2: longer than"):
        list(rejoinder.stream(written(tmp_path, ITEM + b'{"x": "' + b"y" * 300 + b'"}\n')))


def test_a_duplicate_id_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3: response id 'i1/bot' was already used in .*chats.jsonl line 2"):
        rejoinder.read(written(tmp_path, ITEM + RESPONSE + RESPONSE))
    with pytest.raises(InputError, match=r"line 2: item id 'i1' was already used in .*chats.jsonl line 1"):
        rejoinder.read(written(tmp_path, ITEM + ITEM))


def test_a_response_to_an_unknown_item_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: response refers to an unknown item 'i1'"):
        rejoinder.read(written(tmp_path, RESPONSE))


def test_a_rating_of_an_unknown_response_and_one_given_twice_are_errors(tmp_path: Path) -> None:
    rating = b'{"response": "i1/bot", "rater": "ann", "aspect": "apt", "value": 4}\n'
    with pytest.raises(InputError, match="line 2: rating refers to an unknown response 'i1/bot'"):
        rejoinder.read(written(tmp_path, ITEM + rating))
    with pytest.raises(InputError, match=r"line 4: the same rater already gave this rating in .*chats.jsonl line 3"):
        rejoinder.read(written(tmp_path, ITEM + RESPONSE + rating + rating))


def test_records_may_come_in_any_order_and_any_number_of_files(tmp_path: Path) -> None:
    data = rejoinder.read(written(tmp_path, RESPONSE, "a.jsonl"), written(tmp_path, ITEM, "b.jsonl"))
    assert data.counts() == {
        "dialogues": 0, "items": 1, "responses": 1, "questions": 0, "ratings": 0, "preferences": 0
    }  # fmt: skip
    assert [(p.item.id, p.response.id) for p in data.pairs()] == [("i1", "i1/bot")]


def test_the_same_item_may_stand_in_two_files_but_not_a_different_one(tmp_path: Path) -> None:
    other = b'{"item": "i1", "system": "other", "text": "Hello."}\n'
    a, b = written(tmp_path, ITEM + RESPONSE, "a.jsonl"), written(tmp_path, ITEM + other, "b.jsonl")
    assert rejoinder.read(a, b).counts()["items"] == 1
    assert len(rejoinder.score(rejoinder.read(a, b), "length")) == 2
    changed = written(tmp_path, ITEM.replace(b"Hi.", b"Ho.") + other, "c.jsonl")
    with pytest.raises(
        InputError, match=r"c.jsonl line 1: item id 'i1' was already used in .*a.jsonl line 1, with a different"
    ):
        rejoinder.read(a, changed)


def test_what_is_written_is_read_back_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    records = [Dialogue("d", (rejoinder.Turn("Hé, «ça» 👍"),)), Response("r", "i", "s", "ok")]
    for name in ("a.jsonl", "a.jsonl.gz"):
        assert rejoinder.write(records, tmp_path / name) == 2
        first = (tmp_path / name).read_bytes()
        rejoinder.write(records, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        assert list(rejoinder.stream(tmp_path / name)) == records


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken() -> object:
        yield Response("r", "i", "s", "ok")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        rejoinder.write(broken(), tmp_path / "out.jsonl")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_writing_to_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        rejoinder.write([], tmp_path)


def test_plain_lists_must_go_together() -> None:
    with pytest.raises(InputError, match="references has 1 entries but responses has 2"):
        rejoinder.from_lists(["a", "b"], references=[["x"]])
    with pytest.raises(InputError, match=r"responses\[0\] is int"):
        rejoinder.from_lists([3])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"contexts\[1\] must be"):
        rejoinder.from_lists(["a", "b"], contexts=["x", [""]])


def test_a_collection_made_by_hand_is_checked_as_a_file_is() -> None:
    with pytest.raises(InputError, match="records line 1: response refers to an unknown item"):
        rejoinder.data.collect([Response("r", "i", "s", "ok")])


def test_a_notebook_shows_a_table(tmp_path: Path) -> None:
    data = rejoinder.read(written(tmp_path, ITEM + RESPONSE))
    assert "<table>" in data._repr_html_()
    assert repr(data) == "Collection(1 items, 1 responses)"
