"""The shape of the package: what may import what, and what must not be loaded early."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rejoinder

ROOT = Path(rejoinder.__file__).parent
# From what knows nothing to what knows everything: a module imports only from its own layer and those before it.
LAYERS = [
    ("types", "errors", "escape", "files", "paths", "text", "folder", "spec", "user_file"),
    ("contract", "registry"),
    ("engines",),
    ("data",),
    ("stats",),
    ("models",),
    ("retrieval",),
    ("sources",),
    ("judging",),
    ("metrics",),
    ("systems",),
    ("report.table",),
    ("scoring",),
    ("verdict",),
    ("training",),
    ("robustness", "explaining", "augmenting", "annotation"),
    ("selection", "ranking", "situating"),
    ("reproduce",),
    ("report",),
    ("web",),
    ("cli", "__main__"),
]
HEAVY = ("torch", "transformers", "pandas", "sklearn", "matplotlib", "scipy", "nltk", "pyarrow", "rich", "sacrebleu")


def layer_of(module: str) -> int:
    found = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(name + ".")
    ]
    assert found, f"rejoinder.{module} stands in no layer: add it to LAYERS"
    return max(found)[1]


def imported_by(path: Path) -> set[str]:
    """The modules of the package that a file names in its import statements."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rejoinder."):
            base = node.module.removeprefix("rejoinder.")
            submodules = {
                f"{base}.{a.name}" for a in node.names if (ROOT / base.replace(".", "/") / f"{a.name}.py").exists()
            }
            names |= submodules or {base}
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("rejoinder.") for a in node.names if a.name.startswith("rejoinder.")}
    return names


def modules() -> list[Path]:
    return sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    mine = layer_of(module)
    upward = {name for name in imported_by(path) if layer_of(name) > mine}
    # The contract prints itself through the registry, which knows it: the one cycle, inside one layer.
    assert not upward, f"rejoinder.{module} must not import {upward}"


def test_onnxruntime_is_imported_in_one_place_alone() -> None:
    importers = {
        path.relative_to(ROOT).as_posix()
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
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


def test_everything_that_the_package_offers_can_be_had() -> None:
    for name in rejoinder.__all__:
        assert getattr(rejoinder, name) is not None
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = rejoinder.nothing_such
