"""A metric of the user's: its signature and its place in the cache hold everything that decides its scores."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder import user_file
from rejoinder.errors import RunError, SpecError
from rejoinder.scoring import run as runs
from rejoinder.scoring.run import Plan, run
from rejoinder.types import Item, Response, Turn

METRIC = """
from dataclasses import dataclass
from rejoinder import Metric
{imports}

@dataclass(frozen=True)
class Mine(Metric):
    range = (0.0, 9.0)

    def score(self, pairs):
        {body}
        return [float({value}) for pair in pairs]
"""


def metric(value: str, imports: str = "", body: str = "") -> str:
    return METRIC.format(value=value, imports=imports, body=body)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
    monkeypatch.setattr(user_file._FINDER, "sources", {})
    yield tmp_path
    for name in user_file._FINDER.sources:
        sys.modules.pop(name, None)


def chats(place: Path, **changed: object) -> Path:
    item = Item("i", (Turn("Are you there?", "A"),))
    reply = {"id": "r", "item": "i", "system": "s", "text": "Yes.", **changed}
    rejoinder.write([item, Response(**reply)], place / "chats.jsonl")  # type: ignore[arg-type]
    return place / "chats.jsonl"


def scored(place: Path, name: str, spec: str = "./mine.py") -> tuple[float, str]:
    """The score in a run of its own, and the signature."""
    scores = run([place / "chats.jsonl"], Plan.of([spec]), place / name).scores
    (found,) = scores.metrics
    return float(scores[found][0]), scores.metrics[found]


def test_bytecode_of_the_same_size_and_time_is_never_run(place: Path) -> None:
    chats(place)
    file = place / "mine.py"
    script = "import rejoinder; print(rejoinder.score('chats.jsonl', './mine.py').mean('./mine.py').value)"
    for value in ("1", "2"):
        file.write_text(metric(value))
        os.utime(file, (1_000_000_000, 1_000_000_000))
        if value == "1":
            py_compile.compile(str(file))
        told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
        assert float(told.stdout) == float(value)


def test_a_module_beside_it_is_found_in_the_signature_and_never_run_from_bytecode(place: Path) -> None:
    chats(place)
    (place / "mine.py").write_text(metric("weight.WEIGHT", "import weight"))
    signatures = []
    for value in ("1", "2"):
        (place / "weight.py").write_text(f"WEIGHT = {value}\n")
        os.utime(place / "weight.py", (1_000_000_000, 1_000_000_000))
        if value == "1":
            py_compile.compile(str(place / "weight.py"))
        score, signature = scored(place, f"run{value}")
        assert score == float(value)
        signatures.append(signature)
    assert signatures[0] != signatures[1]


@pytest.mark.parametrize(
    ("imports", "body", "value"),
    [
        ("from parts.one import one", "", "one()"),
        ("", "from parts import one", "one.one()"),
        ("", "import importlib; one = importlib.import_module('parts.one')", "one.one()"),
        ("import sys; sys.path.insert(0, __file__.rpartition('/')[0]); import parts.one", "", "parts.one.one()"),
    ],
)
def test_modules_that_modules_import_are_in_the_signature(imports: str, body: str, value: str, place: Path) -> None:
    chats(place)
    (place / "parts").mkdir()
    (place / "parts" / "__init__.py").write_text("")
    (place / "parts" / "one.py").write_text("from . import two\n\ndef one():\n    return two.TWO\n")
    (place / "mine.py").write_text(metric(value, imports, body))
    signatures = []
    for number in ("3", "4"):
        (place / "parts" / "two.py").write_text(f"TWO = {number}\n")
        score, signature = scored(place, f"run{number}")
        assert score == float(number)
        signatures.append(signature)
    assert signatures[0] != signatures[1]


def test_modules_of_python_and_of_packages_are_not_those_beside_it(place: Path) -> None:
    chats(place)
    (place / "orjson.py").write_text("1 / 0")
    (place / "colorsys.py").write_text("1 / 0")
    (place / "mine.py").write_text(metric("len(orjson.dumps(1)) + len(colorsys.__name__)", "import colorsys, orjson"))
    assert scored(place, "run")[0] == 9.0


def test_two_modules_of_one_name_are_an_error(place: Path) -> None:
    for folder in ("a", "b"):
        (place / folder).mkdir()
        (place / folder / "twice_named.py").write_text(f"NAME = {folder!r}\n")
        (place / folder / "mine.py").write_text(metric("1", "import twice_named"))
    rejoinder.parse("./a/mine.py")
    with pytest.raises(SpecError, match="under the same name; rename one of them"):
        rejoinder.parse("./b/mine.py")


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        ("pair.response.meta['stars']", {"meta": {"stars": 5}}),
        ("len(pair.response.id)", {"id": "longer"}),
        ("len(pair.response.system)", {"system": "longer"}),
        ("len(pair.response.text)", {"text": "Oh yes."}),
    ],
)
def test_all_that_a_metric_of_the_users_may_read_is_in_the_address(
    value: str, changed: dict[str, object], place: Path
) -> None:
    (place / "mine.py").write_text(metric(value))
    chats(place, **{"meta": {"stars": 1}})
    first = scored(place, "first")[0]
    chats(place, **{"meta": {"stars": 1}, **changed})
    assert scored(place, "second")[0] > first


def test_a_metric_made_of_the_users_reads_as_much(place: Path) -> None:
    of_references = metric("pair.response.meta['stars']").replace(
        "range =", "needs = frozenset({'references'})\n    range ="
    )
    (place / "mine.py").write_text(of_references)
    for stars in (1, 5):
        item = Item("i", (Turn("Are you there?", "A"),), (rejoinder.Reference("Yes."),))
        rejoinder.write([item, Response("r", "i", "s", "Yes.", {"stars": stars})], place / "chats.jsonl")
        assert scored(place, f"run{stars}", "with_references(metric='./mine.py')")[0] == stars


def test_the_signature_is_that_of_the_text_that_was_run(place: Path) -> None:
    (place / "mine.py").write_text(metric("1"))
    old = rejoinder.parse("./mine.py")
    signature = rejoinder.signature(old)
    (place / "mine.py").write_text(metric("2"))
    new = rejoinder.parse("./mine.py")
    assert rejoinder.signature(old) == signature != rejoinder.signature(new)
    pairs = list(rejoinder.read(chats(place)).pairs())
    assert (old.score(pairs), new.score(pairs)) == ([1.0], [2.0])


def test_a_file_that_is_edited_during_the_run_ends_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats(place)
    (place / "mine.py").write_text(metric("1"))
    assemble = runs.assemble_scores

    def assemble_later(*given: Any) -> Any:
        (place / "mine.py").write_text(metric("2"))
        return assemble(*given)

    monkeypatch.setattr(runs, "assemble_scores", assemble_later)
    with pytest.raises(RunError, match="was changed during the run"):
        run([place / "chats.jsonl"], Plan.of(["./mine.py"]), place / "run")
    assert not (place / "run" / "run.json").exists()
