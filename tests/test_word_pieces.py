"""BERT's tokeniser without the library: the same tokens as the library gives, for every character and any text."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from rejoinder.errors import MissingExtraError
from rejoinder.models import word_pieces
from rejoinder.models.tokenization import TextTokenizer, _LibraryTokenizer
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.models.word_pieces import WordPieceTokenizer, read_rules

FILE = (WEIGHTS / "aptness" / "tokenizer.json").read_text(encoding="utf-8")
LIMIT = 12
POOLS = [
    [chr(point) for point in range(32, 127)],
    [chr(point) for point in range(0x250)],
    [chr(point) for point in range(0x370, 0x3000)],
    [chr(point) for point in range(0x3000, 0xD800)],
    [*"aeiou ", *(chr(point) for point in range(0x300, 0x36F))],
    [*"abc ,.", "[SEP]", "[CLS]", "[MASK]", "[UNK]", "[sep]"],
    ["supercalifragilistic", "x" * 101, " ", "é", "ﬁ", "中", "\u200b", "\x85", "😀"],
]


@pytest.fixture(scope="module")
def own() -> WordPieceTokenizer:
    rules = read_rules(json.loads(FILE))
    assert rules is not None
    return WordPieceTokenizer(rules, LIMIT)


@pytest.fixture(scope="module")
def library() -> _LibraryTokenizer:
    pytest.importorskip("tokenizers")
    return _LibraryTokenizer(FILE, LIMIT)


def texts(number: int) -> list[str]:
    draw = random.Random(13)
    pools = [draw.choice(POOLS) for _ in range(number)]
    return ["".join(draw.choices(pool, k=draw.randrange(30))) for pool in pools]


def test_every_character_has_the_tokens_of_the_library(own: WordPieceTokenizer, library: _LibraryTokenizer) -> None:
    points = [point for point in range(0x30000) if not 0xD800 <= point < 0xE000]
    lines = ["".join(f"a{chr(point)}b " for point in points[i : i + 256]) for i in range(0, len(points), 256)]
    assert own.pieces(lines) == library.pieces(lines)


def test_any_text_has_the_tokens_of_the_library(own: WordPieceTokenizer, library: _LibraryTokenizer) -> None:
    some = texts(2000)
    assert own.pieces(some) == library.pieces(some)
    for cut in ("left", "right"):
        assert own.ids(some, cut) == library.ids(some, cut)
        assert own.encode(some, cut) == library.encode(some, cut)
    assert own.truncated(some) == library.truncated(some)


def test_tokens_are_where_the_library_locates_them(own: WordPieceTokenizer, library: _LibraryTokenizer) -> None:
    for text in texts(2000):
        assert own.locate(text) == library.locate(text), ascii(text)


def test_the_classes_of_characters_are_those_of_the_library() -> None:
    pytest.importorskip("tokenizers")
    from tools.word_piece_characters import describe_classes

    assert word_pieces.CHARACTERS.read_text(encoding="utf-8") == describe_classes()


def test_the_embedded_networks_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    tokenizer = TextTokenizer(FILE, 8)
    assert tokenizer.ids(["Où est la gare ?"]) == [[101, 15068, 9765, 2474, 11721, 2890, 1029, 102]]
    assert [token.word for token in tokenizer.locate("tokenisers")] == [0, 0, 0]


def test_another_kind_of_tokeniser_asks_for_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    for change in (
        {"pre_tokenizer": {"type": "ByteLevel"}},
        {"normalizer": None},
        {"post_processor": {"type": "Other"}},
    ):
        with pytest.raises(MissingExtraError, match=r"rejoinder\[torch\]"):
            TextTokenizer(json.dumps({**json.loads(FILE), **change}), 8).ids(["Hello."])


def test_the_template_of_a_file_surrounds_a_text() -> None:
    file = json.loads(FILE)
    file["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    assert TextTokenizer(json.dumps(file), 8).ids(["hello"]) == [[101, 7592, 102]]
    file["post_processor"] = None
    assert TextTokenizer(json.dumps(file), 8).ids(["hello"]) == [[7592]]


def test_the_package_has_the_classes_of_characters() -> None:
    assert Path(word_pieces.CHARACTERS).stat().st_size < 10_000
