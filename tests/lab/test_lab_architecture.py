"""The shape of the lab: what it may import, and how it comes into rejoinder."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import rejoinder_lab

import rejoinder
from rejoinder import lab
from rejoinder.cli._help import command_names
from rejoinder.errors import RejoinderError
from rejoinder.systems import system_names

ROOT = Path(rejoinder_lab.__file__).parent
# From what knows nothing to what knows everything.
LAYERS = ("models", "metrics", "systems", "training", "papers", "cli")
# What commands and metrics are made of; the underscore keeps these modules out of the registries.
SHARED = ("rejoinder.cli._help", "rejoinder.cli._options", "rejoinder.metrics._")


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_one_way_and_stay_out_of_what_the_core_keeps_private(path: Path) -> None:
    mine = name_of(path).partition(".")[0]
    others = {name.split(".")[1] for name in imported_by(path) if name.startswith("rejoinder_lab.")} - {mine}
    assert {other for other in others if LAYERS.index(other) >= LAYERS.index(mine)} == set()
    core = {name for name in imported_by(path) if name.startswith("rejoinder.")}
    private = {name for name in core if any(part.startswith("_") for part in name.split("."))}
    assert {name for name in private if not name.startswith(SHARED)} == set()


def test_every_module_is_imported() -> None:
    for path in modules():
        importlib.import_module(f"rejoinder_lab.{name_of(path)}")
    assert all(getattr(rejoinder_lab, name) is not None for name in rejoinder_lab.__all__)


def test_the_core_knows_what_is_in_the_lab() -> None:
    assert set(rejoinder_lab.__all__) == lab.NAMES
    assert set(command_names()) >= lab.COMMANDS
    assert set(rejoinder.metric.metric_names()) >= lab.METRICS
    assert set(system_names()) >= lab.SYSTEMS
    assert rejoinder.list_("reproductions").rows


def test_an_old_name_says_where_it_is() -> None:
    with pytest.raises(RejoinderError, match=r"rejoinder\.train is now rejoinder_lab\.train"):
        _ = rejoinder.train


def test_without_the_lab_one_line_says_what_to_install(tmp_path: Path) -> None:
    """As in an environment without it: no entry points, no package."""
    start = "import sys, rejoinder.entry_points as e; e.find_entry_points = lambda group: []; "
    start += "sys.modules['rejoinder_lab'] = None; import rejoinder.registry; "
    start += "rejoinder.registry.find_entry_points = e.find_entry_points; "
    for words, said in {
        "'train', 'idk'": "rejoinder train comes with rejoinder-lab; install it with: pip install rejoinder-lab",
        "'list', 'reproductions'": "the list of reproductions comes with rejoinder-lab; install it with",
    }.items():
        code = f"{start}sys.argv = ['rejoinder', {words}]; import rejoinder.cli; rejoinder.cli.main()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", [name for name in rejoinder_lab.__all__ if name.islower()])
def test_a_public_function_shows_an_example_of_existing_names(name: str) -> None:
    text = inspect.getdoc(getattr(rejoinder_lab, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    code = "".join(one.source for one in example.examples)
    assert "import rejoinder_lab\n" in code
    ast.parse(code)
    assert set(re.findall(r"rejoinder_lab\.(\w+)", code)) <= set(rejoinder_lab.__all__)


def test_a_run_with_a_metric_of_the_lab_opens_without_it(tmp_path: Path) -> None:
    chats = Path(__file__).parents[2] / "examples" / "chats.jsonl"
    rejoinder.run([chats], rejoinder.Plan.of(["ubleu", "length"]), tmp_path / "run")
    code = """
        import sys, rejoinder.entry_points, rejoinder.registry
        rejoinder.registry.find_entry_points = rejoinder.entry_points.find_entry_points = lambda group: []
        sys.modules["rejoinder_lab"] = None
        import rejoinder
        print(rejoinder.load("run").table().heads)
        print([one.metric for one in rejoinder.compare("run")])
        sys.argv = ["rejoinder", "report", "run"]
        import rejoinder.cli
        rejoinder.cli.main()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    spec = next(one for one in rejoinder.load(tmp_path / "run").facts if one.startswith("ubleu"))
    assert done.stdout.count(spec) == 2
    assert spec.partition("(")[0] in (tmp_path / "run.html").read_text(encoding="utf-8")
