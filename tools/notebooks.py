"""The notebooks of ``docs/notebooks``: their code cells are run from top to bottom, and what they print is stored.

``python -m tools.notebooks`` runs them in an empty folder and stores their outputs; a test compares with another run.
It needs no Jupyter. A cell shows what it prints and the value of its last line.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
Notebook = dict[str, Any]


def list_notebooks() -> list[Path]:
    """All notebooks of the docs."""
    return sorted(FOLDER.glob("*.ipynb"))


def read_notebook(path: Path) -> Notebook:
    """A notebook as it is stored."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def execute(notebook: Notebook, folder: Path) -> Notebook:
    """The notebook with the outputs that its cells have now; they are run in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    with _inside(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell = {**cell, "outputs": _run_cell("".join(cell["source"]), names)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def write_notebook(path: Path, notebook: Notebook) -> None:
    """Store a notebook so that the same content gives the same bytes."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _split_lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _split_lines(str(value))}
        outputs.append({"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None})
    return outputs


def _split_lines(text: str) -> list[str]:
    return [line.rstrip(" ") for line in text.splitlines(keepends=True)]


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    """Run all notebooks and store their outputs."""
    for path in list_notebooks():
        with tempfile.TemporaryDirectory() as folder:
            write_notebook(path, execute(read_notebook(path), Path(folder)))
        sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main()
