"""JSON that rejoinder wrote itself and somebody changed: refused in one line, wherever it is read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz.cases import CASES, Case
from benchmarks.fuzz.commands import complaint, copy_inputs, listing, run_case
from benchmarks.fuzz.damage import places
from benchmarks.fuzz.inputs import make_inputs
from rejoinder.data.shape import fits_shape


@pytest.mark.parametrize(
    ("value", "shape", "whether"),
    [
        (3, int, True), (3, float, True), (3.0, int, False), (True, int, False), (True, bool, True),
        (None, (str, type(None)), True), (None, str, False), (float("nan"), float, False), (float("inf"), float, False),
        ([1, 2], [int], True), ([1, "2"], [int], False), ({"a": 1}, {"a": int}, True), ({"b": 1}, {"a": int}, False),
        ({}, {"a?": int}, True), ({"a": "x"}, {"a?": int}, False), ({"x": [1]}, {str: [int]}, True), ([], {}, False),
        ({"a": {"b": []}}, {"a": {str: object}}, True), ("ab", [str], False),
    ],
)  # fmt: skip
def test_a_value_has_a_shape_or_not(value: Any, shape: Any, whether: bool) -> None:
    assert fits_shape(value, shape) is whether


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "inputs"
    folder.mkdir()
    make_inputs(folder)
    return folder


def damaged(value: Any, r: random.Random) -> Any:
    """A value with one place of it replaced or taken out."""
    holder, key = r.choice(list(places(value)))
    if r.random() < 0.4:
        del holder[key]
    else:
        holder[key] = r.choice([None, 7, "x", [], {}, [7], {"x": 7}, True])
    return value


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("compare run", "run/run.json"), ("report run -o", "run/run.json"), ("judge run", "run/run.json"),
        ("select selected", "selected/selection.json"), ("report selected", "selected/selection.json"),
        ("shards check", "shards/catalogue.json"), ("index check", "index/manifest.json"),
        ("index search", "index/manifest.json"), ("build out.jsonl --pools", "set.pools.card.json"),
    ],
)  # fmt: skip
def test_what_was_changed_gives_one_line(inputs: Path, tmp_path: Path, words: str, file: str) -> None:
    case: Case = next(case for case in CASES if case.words.startswith(words))
    r = random.Random(words)
    for n in range(25):
        folder = tmp_path / str(n)
        folder.mkdir()
        copy_inputs(case, inputs, folder)
        (folder / file).write_text(json.dumps(damaged(json.loads((folder / file).read_text()), r)))
        before = listing(folder)
        ended, told = run_case(case, folder)
        assert not complaint(case, ended, told, folder, before)


def test_shards_of_a_file_that_cannot_be_read_are_taken_away_again(inputs: Path, tmp_path: Path) -> None:
    lines = (inputs / "dialogues.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "broken.jsonl").write_text("".join(lines[:8]) + "{\n")
    case = Case("shards write broken.jsonl -o out --records 2", "")
    ended, _ = run_case(case, tmp_path)
    assert ended.status == 2
    assert listing(tmp_path) == {"broken.jsonl"}
    (tmp_path / "broken.jsonl").write_text("".join(lines))
    assert run_case(case, tmp_path)[0].status == 0
    before = listing(tmp_path)
    (tmp_path / "other.jsonl").write_text("".join(lines[:8]) + "{\n")
    assert run_case(Case("shards write other.jsonl -o out --records 2", ""), tmp_path)[0].status == 2
    assert listing(tmp_path) == before | {"other.jsonl"}


def test_grades_of_no_known_scale_are_told_before_anybody_is_asked(inputs: Path, tmp_path: Path) -> None:
    text = (inputs / "graded.jsonl").read_text().replace('"Best"', '"so-so"', 1)
    (tmp_path / "graded.jsonl").write_text(text)
    ended, _ = run_case(Case("rank graded.jsonl --ranker tfidf -o out", ""), tmp_path)
    assert "to no known scale" in ended.err
    assert listing(tmp_path) == {"graded.jsonl"}


def test_reading_a_project_that_nobody_has_served_makes_no_database(inputs: Path, tmp_path: Path) -> None:
    copy_inputs(case := Case("agreement project.toml", "project.toml chats.jsonl"), inputs, tmp_path)
    ended, _ = run_case(case, tmp_path)
    assert "there are no judgements yet" in ended.err
    assert listing(tmp_path) == {"project.toml", "chats.jsonl"}
