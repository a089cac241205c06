"""The pages about the code are true of it: the layers, the table of packages, and the functions that they name."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_architecture import LAYERS
from test_architecture import ROOT as PACKAGE

from tools.layers import CAPTIONS, PICTURE, draw_layers, read_layers

DOCS = Path(__file__).parent.parent / "docs"
LAB = DOCS.parent / "lab" / "src" / "rejoinder_lab"
SVG = "{http://www.w3.org/2000/svg}"
WALKS = ("walk_score.md", "walk_http.md")
STEP = re.compile(r"`([\w/]+\.py)::([\w.]+)`")


def read_picture() -> ElementTree.Element:
    return ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))


def find_packages() -> set[str]:
    """The folders with code in them, below the first level."""
    return {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/**/__init__.py")}


def table_rows(heading: str) -> list[str]:
    """The first cells of the tables of a section of the design page."""
    page = (DOCS / "design.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)


def test_the_picture_has_the_names_of_the_layers_in_their_order() -> None:
    names = [
        (one.text, int(one.attrib["y"])) for one in read_picture().iter(f"{SVG}text") if one.get("class") == "name"
    ]
    assert [name for name, _ in names] == [name for layer in LAYERS for name in layer]
    rows = [{y for name, y in names if name in layer} for layer in LAYERS]
    assert all(len(row) == 1 for row in rows), "a layer stands in one row"
    heights = [min(row) for row in rows]
    assert heights == sorted(heights, reverse=True), "what knows nothing stands at the bottom"


def test_the_picture_has_every_first_level_package() -> None:
    first_level = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    assert {name for layer in LAYERS for name in layer} == first_level - {"__init__"} == set(CAPTIONS)


def test_the_picture_is_the_one_that_make_docs_draws() -> None:
    assert read_layers() == LAYERS
    assert PICTURE.read_text(encoding="utf-8") == draw_layers(LAYERS), "run: make docs"


def test_the_picture_fetches_nothing_and_is_drawn_for_dark_pages_too() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\s\"']+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|@font-face|url\(|<script|<image|href", text)
    assert "prefers-color-scheme: dark" in text
    assert next(child.tag for child in read_picture()) == f"{SVG}title"


def test_the_page_says_of_every_package_what_lives_there() -> None:
    cells = [name for cell in table_rows("Where things live") for name in re.findall(r"`(\S+?)`", cell)]
    first_level = [name for layer in LAYERS for name in layer]
    named = [name for name in cells if "/" in name or name in first_level]
    assert len(named) == len(set(named))
    assert set(named) == {*first_level, *find_packages()}


def test_the_file_names_that_mean_the_same_everywhere_are_there() -> None:
    files = {name for cell in table_rows("Where things live") for name in re.findall(r"`(\w+\.py)`", cell)}
    assert files
    assert files <= {path.name for folder in (PACKAGE, LAB) for path in folder.rglob("*.py")}


@pytest.mark.parametrize("page", WALKS)
def test_every_step_of_a_walk_names_a_function_that_exists(page: str) -> None:
    steps = STEP.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(steps) > 30
    wrong = [f"{file}::{name}" for file, name in steps if not defines(PACKAGE / file, name)]
    assert not wrong


@pytest.mark.parametrize("page", WALKS)
def test_a_walk_has_one_numbered_step_per_line(page: str) -> None:
    items = re.findall(r"^(\d+)\. (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in items] == list(range(1, len(items) + 1))
    assert all(STEP.match(step) for _, step in items), "a step begins with its file and function"


@pytest.mark.parametrize("page", ["design.md", "../CONTRIBUTING.md"])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    roots = (PACKAGE, LAB, DOCS.parent, PACKAGE / "cli")
    for name in re.findall(r"`((?:(?:lab/)?src/rejoinder(?:_lab)?/)?[\w/]+(?:\.(?:py|json|md)|/))`", text):
        known = any((root / name).exists() for root in roots) or any(
            any(folder.rglob(name.rstrip("/"))) for folder in (PACKAGE, LAB)
        )
        assert known or name in ("_name.py", "data.jsonl", "run.json"), name


def defines(path: Path, name: str) -> bool:
    """Whether a file defines a function, or ``Class.method``, at its top level."""
    body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        node = next((one for one in body if isinstance(one, kinds) and one.name == part), None)
        if node is None:
            return False
        body = node.body
    return True
