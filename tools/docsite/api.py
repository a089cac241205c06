"""The reference of the library, read off signatures and docstrings; nothing is imported."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.docsite.markdown import slug
from tools.docsite.page import ROOT, Page

SOURCE = ROOT / "src"
SHORT = 100  # characters: a longer signature has a line for each parameter


def api_pages() -> list[Page]:
    """A page of all packages, then one for each with its public modules."""
    packages = sorted({path.parent for path in (SOURCE / "rejoinder").rglob("*.py") if is_public(path)})
    pages = [_package(folder) for folder in packages]
    rows = [
        f"| [{page.label}]({Path(page.output).name}) | {_first(_read(folder / '__init__.py'))} |"
        for page, folder in zip(pages, packages, strict=True)
    ]
    text = "\n".join(["# Python reference", "", "Public modules with their classes and functions, from the code.", "",
                      "| package | what |", "|---|---|", *rows, "", *_short_ways()])  # fmt: skip
    return [Page("site/api", "api/index.html", text, "All packages", made=True), *pages]


def is_public(path: Path) -> bool:
    """Whether no part of a module's path begins with an underscore."""
    return not any(
        part.startswith("_") for part in path.relative_to(SOURCE).with_suffix("").parts if part != "__init__"
    )


def dotted(path: Path) -> str:
    """The name under which a file is imported."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package(folder: Path) -> Page:
    name = dotted(folder / "__init__.py")
    lines = [f"# {name}", "", *_docstring(_read(folder / "__init__.py"))]
    lines += _public_things(_read(folder / "__init__.py"), 2)
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py" and is_public(path):
            tree = _read(path)
            lines += [f"## {dotted(path)}", "", *_docstring(tree), *_public_things(tree, 3)]
    return Page(f"site/api/{name}", f"api/{name}.html", "\n".join(lines), name, made=True)


@cache
def _read(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    said = ast.get_docstring(node)
    return [inspect.cleandoc(said), ""] if said else []


def _first(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    paragraph = (ast.get_docstring(node) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def _public_things(tree: ast.Module, level: int) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _class(node, level)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield from [f"{'#' * level} {node.name}", "", "```python", _signature(node), "```", "", *_docstring(node)]


def _class(node: ast.ClassDef, level: int) -> Iterator[str]:
    bases = ", ".join(map(ast.unparse, node.bases))
    head = f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    fields = [
        f"    {ast.unparse(part)}"
        for part in node.body
        if isinstance(part, ast.AnnAssign | ast.Assign) and _shown(part)
    ]
    yield from [
        f"{'#' * level} {node.name}",
        "",
        "```python",
        *([head, *fields] if fields else [head.rstrip(":")]),
        "```",
        "",
    ]
    yield from _docstring(node)
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
    rows = [
        f"- `{' '.join(_signature(part, 10**6).split())}`: {_first(part)}" for part in methods if part.name[0] != "_"
    ]
    yield from [*rows, ""] if rows else []


def _shown(part: ast.AnnAssign | ast.Assign) -> bool:
    target = part.target if isinstance(part, ast.AnnAssign) else part.targets[0]
    return isinstance(target, ast.Name) and not target.id.startswith("_")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, short: int = SHORT) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({ast.unparse(node.args)}){result}"
    if len(line) <= short:
        return line
    return f"{node.name}(\n    " + ",\n    ".join(_split(ast.unparse(node.args))) + f",\n){result}"


def _split(parameters: str) -> list[str]:
    """Parameters one by one: split at commas that stand in no bracket."""
    parts, depth = [""], 0
    for sign in parameters:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _short_ways() -> list[str]:
    """What ``import rejoinder`` gives by itself, and where each has its description."""
    import rejoinder

    rows = []
    for name in rejoinder.__all__:
        module = f"rejoinder.{rejoinder._HOME[name]}"
        package = module if (SOURCE / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]
        rows += [f"| `rejoinder.{name}` | [{module}]({package}.html#{slug(module, {})}) |"]
    return ["## What `import rejoinder` gives", "", "| name | described under |", "|---|---|", *rows, ""]
