"""The shape of the package: what may import what, and what must not be loaded early."""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

import rejoinder

ROOT = Path(rejoinder.__file__).parent
# From what knows nothing to what knows everything: a package imports from itself and from lines above its own, so that
# no two packages can import each other.
LAYERS = [
    ("entry_points", "errors", "exports", "escape", "lab", "seeded", "types"),
    ("files", "paths", "registry", "table", "text", "user_file", "user_function"),
    ("json_schema", "keyed_store", "model_use", "spec"),
    ("engines",),
    ("metric", "stats"),
    ("data",),
    ("models", "scoring"),
    ("comparison", "indexes", "judges", "probes"),
    ("annotation", "augmentation", "metrics", "sources"),
    ("systems",),
    ("selection",),
    ("situation",),
    ("reports",),
    ("server",),
    ("cli", "pytest"),
    ("__main__",),
]
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}
# Imports that lead back to their own module, each with the reason why it is better so; no other may.
BACKWARD = {
    ("indexes.corpus", "indexes.speakers"): "corpus.speakers is computed once per corpus, and reads all of it",
    ("scoring.result", "scoring.frames"): "to_pandas() is a method of the scores that it makes a table of",
}
MAX_CHAIN = 25  # modules that import one another in a row: a change of the last can reach the first
HEAVY = ("torch", "transformers", "pandas", "sklearn", "matplotlib", "scipy", "nltk", "pyarrow", "sacrebleu")


def modules() -> list[Path]:
    return sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in modules()}


@functools.cache
def imports_of(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """What a file imports, at its top or inside a function."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_by(path: Path) -> set[str]:
    """The modules of the package that a file imports."""
    names = set()
    for node in imports_of(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rejoinder":
            base = node.module.removeprefix("rejoinder").removeprefix(".")
            whole = [f"{base}.{alias.name}".removeprefix(".") for alias in node.names]
            names |= {name if name in NAMES else base for name in whole} - {""}
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("rejoinder.") for a in node.names if a.name.startswith("rejoinder.")}
    return names


def folder_of(name: str) -> str:
    """The folder of a module; a package is in its own folder."""
    return name if (ROOT / name.replace(".", "/")).is_dir() else name.rpartition(".")[0]


@functools.cache
def import_graph() -> dict[str, list[str]]:
    """What every module imports: at its top, inside a function or for types alone, without what is in BACKWARD."""
    imports = {name_of(path): imported_by(path) & NAMES for path in modules()}
    return {
        one: sorted(other for other in names - {one} if (one, other) not in BACKWARD) for one, names in imports.items()
    }


def find_circle(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Nodes that lead back to the first of them; none where all can be put into an order."""
    rest = dict(graph)
    while free := [node for node, others in rest.items() if not any(other in rest for other in others)]:
        for node in free:
            del rest[node]
    circle: list[str] = []
    while rest:
        node = next(iter(rest)) if not circle else next(one for one in rest[circle[-1]] if one in rest)
        if node in circle:
            return circle[circle.index(node) :]
        circle.append(node)
    return circle


def find_longest_chain(graph: Mapping[str, Collection[str]]) -> list[str]:
    """The longest row of nodes of which each leads to the next; the graph has no circle."""

    @functools.cache
    def follow(node: str) -> tuple[str, ...]:
        return (node, *max(map(follow, graph[node]), key=len, default=()))

    return list(max(map(follow, graph), key=len))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_one_way_and_stay_out_of_private_modules(path: Path) -> None:
    mine = name_of(path).partition(".")[0]
    assert mine in LAYER, f"rejoinder.{mine} stands in no layer: add it to LAYERS"
    others = {name for name in imported_by(path) if name.partition(".")[0] != mine}
    upward = {name for name in others if LAYER[name.partition(".")[0]] >= LAYER[mine]}
    assert not upward, f"rejoinder.{name_of(path)} must not import {upward}"
    private = {name for name in others if any(part.startswith("_") for part in name.split("."))}
    assert not private, f"rejoinder.{name_of(path)} must not import what another package keeps private: {private}"


def test_no_module_imports_itself_through_others() -> None:
    assert find_circle(import_graph()) == []


def test_what_may_lead_back_still_does() -> None:
    for one, other in BACKWARD:
        assert other in imported_by(ROOT / f"{one.replace('.', '/')}.py"), f"take {one}, {other} out of BACKWARD"
        assert find_circle({**import_graph(), one: [*import_graph()[one], other]}), f"{one}, {other} leads back no more"


def test_no_folder_imports_itself_through_others() -> None:
    graph: dict[str, set[str]] = {}
    for name, others in import_graph().items():
        if name not in rejoinder.PACKAGES:  # what a package offers at its first level may be in a folder of its own
            graph.setdefault(folder_of(name), set()).update(map(folder_of, others))
    assert find_circle({folder: others - {folder, ""} for folder, others in graph.items() if folder}) == []


def test_chains_of_modules_are_short() -> None:
    chain = find_longest_chain(import_graph())
    assert len(chain) <= MAX_CHAIN, f"{len(chain)} modules import one another in a row: {' -> '.join(chain)}"


def test_circles_and_chains_are_found() -> None:
    assert find_circle({"a": ["b"], "b": ["c"], "c": []}) == []
    assert find_circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c"]
    assert find_longest_chain({"a": ["b", "c"], "b": ["c"], "c": []}) == ["a", "b", "c"]


def test_the_core_never_imports_the_lab() -> None:
    wrong = [
        name_of(path)
        for path in [*modules(), ROOT / "__init__.py"]
        for node in imports_of(path)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rejoinder_lab")
        or (isinstance(node, ast.Import) and any(a.name.partition(".")[0] == "rejoinder_lab" for a in node.names))
    ]
    assert wrong == []


def test_public_functions_survive_the_import_of_every_module() -> None:
    # A package called like a function would replace it as soon as anything imports the package.
    for name in sorted(NAMES - {"__main__"}):
        importlib.import_module(f"rejoinder.{name}")
    assert all(callable(getattr(rejoinder, name)) for name in rejoinder.__all__ if name.islower())


def test_onnxruntime_is_imported_in_one_place_alone() -> None:
    importers = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in imports_of(path)
        if (isinstance(node, ast.Import) and any(a.name.partition(".")[0] == "onnxruntime" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "onnxruntime")
    }
    assert importers == {"models/device.py"}  # whose import_onnxruntime turns the telemetry off


@pytest.mark.parametrize(
    "code",
    ["import rejoinder", "import sys; sys.argv = ['rejoinder', '--help']; import rejoinder.cli; rejoinder.cli.main()"],
)
def test_neither_the_package_nor_its_help_loads_anything_heavy(code: str) -> None:
    report = "print('LOADED', *sorted({m.partition('.')[0] for m in sys.modules}))"
    probe = f"import atexit, sys\natexit.register(lambda: {report})\n{code}"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert not set(loaded) & set(HEAVY)


def test_the_first_screen_of_help_is_printed_without_click_and_without_any_command() -> None:
    """What keeps it under five times the start of Python itself, which ``make bench`` measures."""
    code = "import sys; sys.argv = ['rejoinder', '--help']; import rejoinder.cli; rejoinder.cli.main()\n"
    code += "print('LOADED', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, _, loaded = done.stdout.rpartition("LOADED")
    assert shown.startswith("Usage: rejoinder ")
    assert not set(loaded.split()) & {"click", "difflib", "inspect", "json", "numpy", "orjson", "pathlib", "platform"}
    of_lab = {"rejoinder_lab", "rejoinder_lab.cli"}  # where it is installed: they only name what is in them
    assert {name for name in loaded.split() if name.startswith("rejoinder")} - of_lab == {
        "rejoinder", "rejoinder.cli", "rejoinder.cli._help", "rejoinder.cli._terminal", "rejoinder.entry_points",
        "rejoinder.errors", "rejoinder.escape", "rejoinder.lab", "rejoinder.registry",
    }  # fmt: skip


def test_the_first_score_of_a_process_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    """What keeps it under half a second, which ``make bench`` measures."""
    (tmp_path / "small.csv").write_text("prompt,response,model\nHow are you?,Fine.,a\nWhere is it?,Here.,a\n")
    code = "import sys; sys.argv = ['rejoinder', 'score', 'small.csv', '-m', 'aptness']\n"
    code += "import rejoinder.cli; rejoinder.cli.main(); print('LOADED', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    shown, _, loaded = done.stdout.rpartition("LOADED")
    assert "aptness" in shown
    assert "onnxruntime" in loaded.split()
    assert not set(loaded.split()) & {"scipy", "numpy.ma", "http.client", "rejoinder.judges", "sacrebleu", "torch"}


def test_the_first_score_of_lists_imports_even_less(tmp_path: Path) -> None:
    code = "import sys, rejoinder; rejoinder.aptness([['How are you?']], ['Fine.']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(done.stdout.split())
    assert "onnxruntime" in loaded
    assert not loaded & {"scipy", "importlib.metadata", "importlib.resources", "csv"}
    assert {name for name in loaded if name.startswith("rejoinder.") and name.count(".") == 1} == {
        "rejoinder.entry_points", "rejoinder.errors", "rejoinder.exports", "rejoinder.files", "rejoinder.lab",
        "rejoinder.metric", "rejoinder.metrics", "rejoinder.model_use", "rejoinder.models", "rejoinder.paths",
        "rejoinder.registry", "rejoinder.spec", "rejoinder.text", "rejoinder.types", "rejoinder.user_function",
    }  # fmt: skip


def test_every_public_name_is_there() -> None:
    for name in rejoinder.__all__:
        assert getattr(rejoinder, name) is not None
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = rejoinder.nothing_such
