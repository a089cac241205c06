"""What a stranger installs: small, the same files for everybody, on every Python that is supported."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rejoinder.reports.installation import EXTRAS
from tools.install_size import LIMIT, measure, size_table
from tools.licences import find_required

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
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


def pins(text: str) -> dict[str, str]:
    """The version of each library that a file pins."""
    return {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def base_libraries() -> set[str]:
    """The libraries of the base install with all that they require in turn, as they are installed here."""
    declared = [Requirement(line) for line in PROJECT["dependencies"]]
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


def test_the_lock_has_every_library_of_the_base_install_in_the_version_of_the_constraints() -> None:
    locked, constraints = pins(LOCK), pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert base_libraries() <= set(locked), "run: make lock"
    assert locked == {name: constraints[name] for name in locked}, "run: make lock"


def test_the_lock_takes_only_wheels_and_names_no_address() -> None:
    assert "\n--only-binary :all:\n" in LOCK
    assert LOCK.count(" \\\n") == LOCK.count("--hash=sha256:")  # each line before a hash goes on
    assert "://" not in LOCK


def test_the_matrix_resolves_every_extra_for_users() -> None:
    named = re.search(r"^USERS = \((.*)\)$", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    assert set(re.findall(r'"(\w+)"', named[1])) == set(EXTRAS)


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
