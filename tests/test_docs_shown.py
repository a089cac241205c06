"""Every command and snippet of the docs is run; what needs more than a fresh install is read as far as it goes."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from shown import PAGES, ROOT, Block, blocks, is_synopsis, unknown_options, words
from shown_shelf import decide, fill, questions
from tiny_talks import talks

import rejoinder
from rejoinder.cli import program
from rejoinder.data.datasets import datasets_under
from rejoinder.metric import parse
from rejoinder.models.catalog.entries import find_model
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.systems import System, parse_system
from rejoinder.systems._texts import distinct_texts, place_scores
from rejoinder.types import Question
from tools.docsite.needs import need

WHAT_TO_DO = "put its files into tests/shown_shelf.py; if it needs more than that, say what in tools/docsite/needs.py"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the docs name, and a cache that all pages share."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REJOINDER_CACHE", str(folder / "cache"))
        (folder / "files").mkdir()
        fill(folder / "files")
    return folder


@pytest.fixture
def workplace(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shelf to type in."""
    shutil.copytree(shelf / "files", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("REJOINDER_CACHE", str(shelf / "cache"))
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    return tmp_path / "here"


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


SHOWING = [page for page in PAGES if any(block.commands for block in blocks(page))]


@pytest.mark.parametrize("page", SHOWING, ids=named)
def test_every_shown_command_runs(page: Path, workplace: Path) -> None:
    if page.name == "selecting.md":  # where RUN is what the page makes
        shutil.rmtree("RUN")
    shown = list(blocks(page))
    for block in shown:
        if block.name:
            Path(block.name).parent.mkdir(parents=True, exist_ok=True)
            Path(block.name).write_text(block.text.replace("<TAB>", "\t"), encoding="utf-8")
    for block in shown:
        for command in block.commands:
            if command.startswith("rejoinder "):
                type_it(command, block)
            else:
                is_there(command)


def type_it(command: str, block: Block) -> None:
    assert not unknown_options(command), command
    if is_synopsis(command):
        return
    typed = words(command)[1:]
    if need(command):
        names_are_known(typed)
        return
    if typed == ["rank", "questions.jsonl"] and not (WEIGHTS / "ranker").is_dir():
        return  # a version without a ranker of its own says so
    if typed[:2] == ["train", "idk"]:
        typed += ["--contexts", "40"]  # the shelf has few dialogues
    found = CliRunner().invoke(program, typed)
    # A gate that does not hold is no error of the docs: its threshold is an example.
    allowed = {0, 1, 3} if typed[0] == "check" else {0}
    assert found.exit_code in allowed, f"{command}\n{found.output}\n{found.exception!r}\n{WHAT_TO_DO}"
    said = found.output.splitlines()
    for line in block.output if len(block.commands) == 1 else []:
        assert any(line in one for one in said), f"{command} does not say: {line}\n{found.output}"
    if "--review" in typed:
        decide(Path(typed[typed.index("--review") + 1]))


def names_are_known(typed: list[str]) -> None:
    """Metrics, systems, models, sets and reproductions that a command names exist, though it is not run."""
    for option, word in zip(["", *typed], typed, strict=False):
        if option in {"-m", "--metric", "--judge-with"}:
            parse(word)
        elif typed[0] in {"select", "rank"} and option in {"--system", "--ranker"}:
            parse_system(word)
        elif word.startswith("dataset:") and word not in {"dataset:knowledge/atomic", "dataset:knowledge/conceptnet"}:
            assert datasets_under(word.removeprefix("dataset:").partition("@")[0]), word
    if typed[0] == "models" and len(typed) > 1:
        find_model(typed[2])
    elif typed[0] == "data":
        assert datasets_under(typed[2]), typed
    elif typed[0] == "reproduce":
        from rejoinder_lab.papers import load_reproduction

        load_reproduction(typed[1])


def is_there(command: str) -> None:
    """What is no command of ours is read: a target of the Makefile, a module, a test."""
    typed = words(command)
    if typed[0] == "make":
        assert re.search(rf"^{typed[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
    elif typed[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(typed[2]), command
    else:
        for word in typed:
            if word.startswith("tests/"):
                assert (ROOT / word).exists(), command
        assert need(command) or typed[0].startswith("REJOINDER_"), f"nothing says what {command} needs"


SNIPPETS = [
    pytest.param(page, block, id=f"{named(page)}-{number}")
    for page in PAGES
    for number, block in enumerate(b for b in blocks(page) if b.language == "python")
]


@pytest.mark.parametrize(("page", "block"), SNIPPETS)
def test_every_shown_snippet_runs(page: Path, block: Block, workplace: Path) -> None:
    tree = ast.parse(block.text)
    if need(block.text):
        imports_are_there(tree)
        return
    if page.name == "ranking.md":
        shutil.rmtree("RUN")
    exec(compile(tree, page.name, "exec", dont_inherit=True), surroundings())


def surroundings() -> dict[str, Any]:
    """What snippets take as given: the reader's own data under the names that pages use."""
    return {
        "__name__": "snippet",
        "items": list(rejoinder.read("items.jsonl").items.values())[:4],
        "dialogues": talks(24),
        "repository": talks(24, seed=3),
        "training": (),
        "more": [dataclasses.replace(talk, id=f"more-{talk.id}") for talk in talks(2, seed=9)],
        "questions": questions(),
        "dataclass": dataclasses.dataclass,
        "Sequence": Sequence,
        "System": System,
        "Question": Question,
        "placed": place_scores,
        "replies": distinct_texts,
    }


def imports_are_there(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rejoinder"):
            spec = importlib.util.find_spec(str(node.module))
            assert spec is not None, node.module
            text = Path(str(spec.origin)).read_text(encoding="utf-8")
            for name in node.names:
                assert re.search(rf"\b{name.name}\b", text), f"{node.module} has no {name.name}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_shown_record_and_setting_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            try:
                json.loads(block.text)
            except ValueError:
                for line in block.text.splitlines():
                    json.loads(line)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page):
        known = bool(block.language or block.commands) or page.name == "design.md"
        assert known, f"{named(page)}: name the language of the block {block.text[:60]!r}"


def test_what_needs_more_is_known_by_its_words() -> None:
    assert need("rejoinder score chats.jsonl -m meteor") is None
    assert "published" in str(need("rejoinder select dataset:sugar/0/test --system tfidf"))
    assert "network" in str(need("rejoinder models get minilm"))
    assert "torch" in str(need("rejoinder train aptness -o x"))
