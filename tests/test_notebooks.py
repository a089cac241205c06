"""The notebooks of the docs run from top to bottom, and show what they print today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.notebooks import execute, list_notebooks, read_notebook, write_notebook

NOTEBOOKS = list_notebooks()
ROOT = Path(__file__).parent.parent


def sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in read_notebook(path)["cells"] if cell["cell_type"] == kind]


def test_there_are_two_and_the_docs_link_to_them() -> None:
    assert len(NOTEBOOKS) == 2
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(f"notebooks/{path.name}" in text for path in NOTEBOOKS), page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_print(path: Path, tmp_path: Path) -> None:
    stored = read_notebook(path)
    assert execute(stored, tmp_path) == stored, "run: python -m tools.notebooks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_what_jupyter_reads(path: Path, tmp_path: Path) -> None:
    notebook = read_notebook(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert sources(path, "markdown")[0].startswith("# ")
    assert all(cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code")
    write_notebook(tmp_path / "copy.ipynb", notebook)
    assert (tmp_path / "copy.ipynb").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere_and_imports_are_public(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", "\n".join(sources(path, "markdown"))):
        assert (path.parent / target).exists(), target
    assert not re.findall(r"(?:from|import) rejoinder\.", "\n".join(sources(path, "code")))


def test_the_value_of_the_last_line_is_shown(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["n = 2\n", "print('two')\n", "n + 1"], "outputs": []}
    (done,) = execute({"cells": [cell]}, tmp_path)["cells"]
    assert [output.get("text") or output["data"]["text/plain"] for output in done["outputs"]] == [["two\n"], ["3"]]
