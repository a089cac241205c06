"""What a stranger installs: small, the same files for everybody, on every Python that is supported."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.install_size import LIMIT, measure, size_table
from tools.interpreters import PYTHONS, constraints_for, find_interpreter
from tools.licences import find_required
from tools.locks import FOLDER, base_requirements
from tools.matrix import run_tests, summarize

ROOT = Path(__file__).parent.parent
LOCKS = {version: (FOLDER / f"python{version}.txt").read_text(encoding="utf-8") for version in PYTHONS}
HEAVY = {
    "torch",
    "tokenizers",
    "huggingface-hub",
    "lxml",
    "pandas",
    "rich",
    "sacrebleu",
    "scikit-learn",
    "transformers",
}


def locked(version: str) -> dict[str, str]:
    """The pins of a file, by name."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", LOCKS[version], re.MULTILINE))


def base_libraries() -> set[str]:
    """The libraries of the base install with all that they require in turn, as they are installed here."""
    declared = [Requirement(line) for line in base_requirements()]
    names = {canonicalize_name(one.name) for one in declared if one.marker is None or one.marker.evaluate()}
    return {*names, *(inner for name in names for inner in find_required(name))}


def installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:  # of another platform
        return None


def test_the_base_install_stays_below_its_limit() -> None:
    sizes = measure([found for name in sorted(base_libraries()) if (found := installed(name))])
    package = sum(path.stat().st_size for path in (ROOT / "src").rglob("*.py"))
    assert sum(sizes.values()) > 200e6  # scipy, numpy and onnxruntime alone
    assert sum(sizes.values()) + 3 * package < LIMIT * 1e6, size_table(sizes)  # with its byte code


def test_nothing_heavy_is_installed_for_everybody() -> None:
    assert not base_libraries() & HEAVY


def test_weights_and_what_came_with_the_environment_do_not_count(tmp_path: Path) -> None:
    for name, files in {
        "rejoinder": ["rejoinder/a.py", "rejoinder/models/weights/b.onnx"],
        "pip": ["pip/c.py"],
    }.items():
        about = tmp_path / f"{name}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("12345")
    assert measure(metadata.distributions(path=[str(tmp_path)])) == {"rejoinder": 5}


@pytest.mark.parametrize("version", PYTHONS)
def test_each_python_has_a_file_with_a_hash_for_every_library(version: str) -> None:
    blocks = re.split(r"\n(?=\S)", LOCKS[version].partition("\n\n")[0])
    pins = [block for block in blocks if not block.startswith("#")]
    assert len(pins) == len(locked(version)) > 12
    for block in pins:
        assert re.fullmatch(r"[\w.-]+==\S+(?: ; .*?)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+", block), block
    assert locked(version)["numpy"] in LOCKS[version]
    assert len(re.findall(r"sha256", LOCKS[version].partition("\nscipy==")[2].partition("\nsnow")[0])) == 4  # platforms


@pytest.mark.parametrize("version", PYTHONS)
def test_the_files_with_hashes_follow_the_constraints_and_the_project(version: str) -> None:
    pins = dict(line.lower().split("==") for line in constraints_for(version))
    for name, release in locked(version).items():
        assert pins[name.replace("_", "-")] == release, "run: make locks"
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    for one in map(Requirement, base_requirements()):
        if one.marker is None or one.marker.evaluate(environment):
            assert one.specifier.contains(locked(version)[canonicalize_name(one.name)]), "run: make locks"
    assert not set(locked(version)) & HEAVY


def test_what_a_version_of_python_needs_is_chosen_by_its_markers() -> None:
    assert "tomli" in locked("3.10")
    assert "tomli" not in locked("3.11")


def test_a_python_that_is_not_here_is_named() -> None:
    assert find_interpreter("3.1") is None
    assert run_tests("3.1", "dev", []) == (True, "did not run: no such interpreter on the PATH or in pyenv")


def test_the_matrix_reads_what_pytest_counted() -> None:
    assert summarize("....\n12 passed, 3 skipped in 1.20s\n") == "12 passed, 3 skipped in 1.20s"
    assert summarize("=== 1 failed, 2 passed in 61.00s (0:01:01) ===") == "1 failed, 2 passed in 61.00s (0:01:01)"
    assert summarize("ImportError") == "did not run: pytest ended early"
