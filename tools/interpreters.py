"""The versions of Python that rejoinder supports, the interpreters of them that are here, and what pip says to each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
CONSTRAINTS = ROOT / "constraints.txt"
# Where wheels are looked for: the oldest systems that the libraries still support.
PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm": (
        "manylinux_2_28_aarch64",
        "manylinux_2_27_aarch64",
        "manylinux_2_17_aarch64",
        "manylinux2014_aarch64",
    ),
    "macos": ("macosx_14_0_arm64", "macosx_14_0_universal2"),
    "windows": ("win_amd64",),
}


class ResolutionError(Exception):
    """What pip said where no set of wheels fits."""


def find_interpreter(version: str) -> Path | None:
    """An interpreter of this version: this one, one on the PATH, or one of pyenv."""
    named = shutil.which(f"python{version}")
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    pyenv = sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)
    candidates = [Path(sys.executable), *([Path(named)] if named else []), *pyenv]
    return next((path for path in candidates if _is_version(path, version)), None)


def _is_version(python: Path, version: str) -> bool:
    """Whether this is an interpreter that runs: pyenv also puts names on the PATH that do not."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def constraints_for(version: str) -> list[str]:
    """The lines of constraints.txt that apply to a version of Python, without markers: ``name==version``."""
    lines = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines]
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    return [
        f"{one.name}{one.specifier}" for one in requirements if one.marker is None or one.marker.evaluate(environment)
    ]


def resolve(version: str, platform: str, wanted: Sequence[str], deps: bool = True) -> list[dict[str, Any]]:
    """The wheels that pip would install, as its report lists them; nothing is installed.

    The interpreter of that version is asked where it is here. Another one evaluates markers by its own version, so
    only ``wanted`` and the constraints are then right, not the markers inside of libraries.
    """
    asked = find_interpreter(version) or Path(sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder) / "constraints.txt", Path(folder) / "report.json"
        constraints.write_text("\n".join(constraints_for(version)), encoding="utf-8")
        command = [str(asked), "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", "--python-version", version, "--target", str(Path(folder) / "none")]
        command += [part for tag in PLATFORMS[platform] for part in ("--platform", tag)]
        command += [
            "--constraint",
            str(constraints),
            "--report",
            str(report),
            *([] if deps else ["--no-deps"]),
            *wanted,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = re.findall(r"^ERROR: (.*)$", done.stderr, re.MULTILINE)
            raise ResolutionError(errors[0] if errors else done.stderr.strip()[-200:])
        found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
        return found
