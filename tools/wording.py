"""Every text that a user can read, with its place: ``python tools/wording.py [FOLDER ...]`` prints the list.

Strings of the package (docstrings of modules, classes and private functions are for developers and left out), the
visible text of templates, and the documents. ``tests/test_wording.py`` holds the list to plain English.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rejoinder"
DOCUMENTS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/*.md", "docs/papers/*.md", "docs/results/*.md"),
    "examples/**/*.md",
    "lab/src/rejoinder_lab/papers/**/notes.md",
)
_WORDS = re.compile(r"[A-Za-z]{2,}\W*\s+\W*\w")  # at least two words: a name or a key alone is not a sentence
_MARKUP = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<script.*?</script>|<style.*?</style>|<[^>]*>", re.DOTALL)


class Text(NamedTuple):
    """A text and where it stands."""

    file: str
    line: int
    text: str


def collect_texts() -> Iterator[Text]:
    """All texts: of the package's modules, of its templates, of the documents."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield from _strings(path)
    for path in sorted(SOURCE.rglob("*.html")):
        yield from _lines(path, _MARKUP.sub(_blank, path.read_text(encoding="utf-8")))
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            yield from _lines(path, path.read_text(encoding="utf-8"))


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n") or " "


def _lines(path: Path, text: str) -> Iterator[Text]:
    for number, line in enumerate(text.splitlines(), 1):
        if _WORDS.search(line):
            yield Text(path.relative_to(ROOT).as_posix(), number, " ".join(line.split()))


def _strings(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {id(node) for node in ast.walk(tree) if not _is_public(node) for node in _docstring(node)}
    hidden |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _WORDS.search(text):
            yield Text(path.relative_to(ROOT).as_posix(), node.lineno, " ".join(text.split()))


def _is_public(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def _docstring(node: ast.AST) -> list[ast.AST]:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    first = node.body[0] if node.body else None
    return [first.value] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else []


if __name__ == "__main__":
    wanted = tuple(sys.argv[1:])
    for text in collect_texts():
        if not wanted or text.file.startswith(wanted):
            print(f"{text.file}:{text.line}: {text.text}")
