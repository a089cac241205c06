"""The wheel: it builds, has everything in it, and works where there is no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tiny_aptness

from rejoinder.models.aptness.model import AptnessModel

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("source") / "rejoinder"
    keep_out = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", copy / "src", ignore=keep_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return build(copy, tmp_path_factory.mktemp("dist"))


SECOND = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "own-weights"
version = "1"

[project.entry-points."rejoinder.weights"]
research = "own_weights"

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
own_weights = ["**/*"]
"""


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with rejoinder alone."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def build(source: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


def test_the_wheel_and_its_weights_stay_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 100e6
    for folder in (ROOT / "src" / "rejoinder" / "models" / "weights", ROOT / "lab" / "src" / "rejoinder_lab"):
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 95 * 2**20, folder


def test_a_second_distribution_brings_a_set_of_weights(site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "research"
    package = copy / "src" / "own_weights"
    tiny_aptness.write(package / "aptness", seed=3)
    (package / "__init__.py").touch()
    (copy / "pyproject.toml").write_text(SECOND, encoding="utf-8")
    second = tmp_path / "second"
    zipfile.ZipFile(build(copy, tmp_path / "dist")).extractall(second)
    code = (
        f"import sys; sys.path[:] = [{str(site)!r}, {str(second)!r}, *(p for p in sys.path if 'src' not in p)]\n"
        "import rejoinder\n"
        f"assert rejoinder.__file__.startswith({str(site)!r})\n"
        "print(rejoinder.aptness([['the cat sat']], ['dog ran fast'], weights='research'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    model = AptnessModel(package / "aptness")
    (expected,) = model.probabilities([["the cat sat"]], ["dog ran fast"])
    assert json.loads(done.stdout) == [pytest.approx(expected, abs=1e-4)]


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    package = ROOT / "src" / "rejoinder"
    wanted = {
        str(Path("rejoinder") / path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_it_scores_outside_the_checkout(site: Path, tmp_path: Path) -> None:
    lines = (ROOT / "examples" / "chats.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    few = [line for line in lines if '"trains-1' in line or '"trains-2' in line]
    (tmp_path / "chats.jsonl").write_text("".join(few), encoding="utf-8")
    code = (
        f"import sys; sys.path[:] = [{str(site)!r}, *(p for p in sys.path if 'src' not in p)]\n"
        "import rejoinder, rejoinder.cli\n"
        f"assert rejoinder.__file__.startswith({str(site)!r})\n"
        "sys.argv = ['rejoinder', 'score', 'chats.jsonl', '--processes', '1']\n"
        "rejoinder.cli.main()\n"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "attentive" in done.stdout
