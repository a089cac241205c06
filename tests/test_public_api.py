"""The first level: every verb of the command line is there, says what it takes, and its example runs.

A change of names or parameters that is meant is written down by ``python tests/test_public_api.py`` and shows in the
diff of ``golden/api.txt``.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from shown import PAGES, ROOT, blocks
from shown_shelf import fill

import rejoinder
from rejoinder import lab
from rejoinder.cli import program
from tools.docsite.needs import need

PAGE = ROOT / "docs" / "python.md"
# What is public: the first level, and what the page lists one level down.
LOWER = {
    f"{package}.{name}"
    for package, names in re.findall(r"^\| `rejoinder\.([\w.]+)` \| (`.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
}


def find(name: str) -> Any:
    """What has a public name, of the first level or below."""
    module, _, last = f"rejoinder.{name}".rpartition(".")
    return getattr(importlib.import_module(module), last)


PUBLIC = {name: find(name) for name in [*rejoinder.__all__, *sorted(LOWER)]}
FUNCTIONS = [name for name, found in PUBLIC.items() if inspect.isfunction(found)]
# Functions whose names say that they need a model, and whose examples do without.
OFFLINE = {"adapt", "augmentation.parse_delorean"}
# Pages whose Python is about the inside of the package.
INSIDE = {"design.md"}
GOLDEN = Path(__file__).parent / "golden" / "api.txt"


def describe_api() -> str:
    """Every public name with its parameters and their defaults; of a class also what it offers."""
    return "".join(f"{line}\n" for name, found in PUBLIC.items() for line in describe(name, found))


def describe(name: str, found: Any) -> Iterator[str]:
    if inspect.isclass(found):
        yield f"class {name}{parameters(found)}"
        for member in sorted({one for base in found.__mro__[:-1] if is_ours(base) for one in vars(base)}):
            value = inspect.getattr_static(found, member)
            if not member.startswith("_") and (callable(value) or isinstance(value, classmethod | staticmethod)):
                yield f"    .{member}{parameters(getattr(found, member))}"
            elif not member.startswith("_"):
                yield f"    .{member}"
    elif callable(found):
        yield f"{name}{parameters(found)}"
    else:
        yield f"{name}: {type(found).__name__}"


def is_ours(base: type) -> bool:
    return base.__module__.partition(".")[0] == "rejoinder"


def parameters(function: Any) -> str:
    """What a call takes, without types: those may become wider."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"<(?:function |factory|object )?[^<>]*>", "...", text)


def test_names_and_parameters_are_those_that_were_published() -> None:
    published, present = GOLDEN.read_text(encoding="utf-8").splitlines(), describe_api().splitlines()
    gone, new = [line for line in published if line not in present], [line for line in present if line not in published]
    assert published == present, (
        f"not there any more: {gone}; new: {new}. If that is meant: python tests/test_public_api.py, and a line in "
        "CHANGELOG.md; docs/stability.md says in which version it may change."
    )


def test_a_new_parameter_a_new_default_and_a_lost_method_are_noticed() -> None:
    def first(a: int, *, b: int = 1) -> None: ...
    def second(a: int, *, b: int = 2, c: int = 0) -> None: ...

    assert [*describe("f", first), *describe("f", second)] == ["f(a, *, b=1)", "f(a, *, b=2, c=0)"]
    lines = list(describe("Scores", rejoinder.Scores))
    assert lines[0].startswith("class Scores(")
    assert "    .dialogue_scores(self)" in lines


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that examples name, and a cache that they share."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REJOINDER_CACHE", str(folder / "cache"))
        (folder / "files").mkdir()
        fill(folder / "files")
    return folder


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(
    name: str, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shelf / "files", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("REJOINDER_CACHE", str(shelf / "cache"))
    text = inspect.getdoc(PUBLIC[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert example.examples, f"rejoinder.{name} shows no example"
    code = "".join(one.source for one in example.examples)
    assert "import rejoinder\n" in code
    if need(code) and name not in OFFLINE:
        ast.parse(code)
        for used in re.findall(r"rejoinder\.([\w.]*\w)", code):
            assert used in PUBLIC or used.rpartition(".")[0] in PUBLIC  # a method of a class
        return
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not result.failed, "".join(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_lists_its_parameters_and_types_them(name: str) -> None:
    function = PUBLIC[name]
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD, f"{name} takes **{parameter.name}"
        assert parameter.annotation is not inspect.Parameter.empty
        assert f"- ``{parameter.name}``: " in text, f"rejoinder.{name} does not say what {parameter.name} is"


def test_every_command_has_a_function_or_the_page_says_why_not() -> None:
    page = PAGE.read_text(encoding="utf-8")
    without = set(re.findall(r"^\| `(\w+)` \|", page.partition("## Commands without a function")[2], re.MULTILINE))
    names = program.list_commands(click.Context(program))
    missing = {name for name in names if name not in FUNCTIONS and f"{name}_" not in FUNCTIONS}
    missing -= lab.COMMANDS  # whose functions are those of rejoinder_lab
    assert missing == without


def test_the_page_names_every_public_name() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert not [name for name in rejoinder.__all__ if not re.search(rf"\b{name}\b", page)]


def test_what_packages_offer_is_on_the_page() -> None:
    modules = {package: importlib.import_module(f"rejoinder.{package}") for package in rejoinder.PACKAGES}
    late = {package: module for package, module in modules.items() if hasattr(module, "__getattr__")}
    offered = {f"{package}.{name}" for package, module in late.items() for name in module.__all__}
    assert len(late) > 10
    assert offered <= LOWER


@pytest.mark.parametrize("package", ["", *rejoinder.PACKAGES])
def test_type_checkers_see_what_is_there(package: str) -> None:
    module = importlib.import_module(f"rejoinder.{package}".rstrip("."))
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block = next((node for node in tree.body if isinstance(node, ast.If)), None)
    if block is None or not hasattr(module, "__all__"):  # nothing in it is imported late
        return
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} == set(module.__all__)
    for node in imports:
        for alias in node.names:
            assert getattr(importlib.import_module(str(node.module)), alias.name) is getattr(module, alias.name)


def test_no_package_is_called_like_a_public_name() -> None:
    packages = {path.stem for path in Path(str(rejoinder.__file__)).parent.iterdir()}
    assert not packages & set(rejoinder.__all__)
    assert not [name for name in rejoinder.__all__ if isinstance(getattr(rejoinder, name), ModuleType)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_import_from_the_first_two_levels_only(page: Path) -> None:
    if page.name in INSIDE:
        return
    for block in blocks(page):
        if block.language == "python":
            for module, names in re.findall(r"^\s*from rejoinder\.([\w.]+) import (.*)", block.text, re.MULTILINE):
                for name in re.findall(r"\w+", names.partition("#")[0]):
                    assert f"{module}.{name}" in LOWER, f"{page.name}: {module}.{name}"


if __name__ == "__main__":
    sys.stdout.write(f"{GOLDEN}\n")
    GOLDEN.write_text(describe_api(), encoding="utf-8", newline="\n")
