"""The libraries of the base install with the hashes of their wheels, one file per version of Python.

``python -m tools.locks`` (``make locks``) asks pip and writes ``requirements/python3.N.txt``, by which
``pip install --require-hashes`` installs exactly these files on Linux, macOS and Windows. torch and the extras are not
in them: which build of torch is right depends on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.interpreters import PLATFORMS, PYTHONS, ROOT, ResolutionError, constraints_for, resolve

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = ROOT / "requirements"
_SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "linux-arm": {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": "aarch64",
    },
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}
_HEADER = """\
# The base install of rejoinder on Python {version}, with the hashes of all wheels; written by: make locks
#   pip install --require-hashes -r requirements/python{version}.txt
#   pip install --no-deps rejoinder-VERSION-py3-none-any.whl
# For {platforms}; without torch and the extras
"""


def base_requirements() -> list[str]:
    """What pyproject.toml declares for everybody."""
    return list(_read_project()["dependencies"])


def extra_requirements(names: Iterable[str]) -> list[str]:
    """What pyproject.toml declares for extras."""
    return [line for name in names for line in _read_project()["optional-dependencies"][name]]


def _read_project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def lock(version: str) -> str:
    """The file of a version of Python."""
    pins = {canonicalize_name(line.partition("==")[0]): line for line in constraints_for(version)}
    hashes: dict[str, set[str]] = {}
    systems: dict[str, set[str]] = {}
    for platform in PLATFORMS:
        for wheel in _find_wheels(version, platform, pins):
            name = canonicalize_name(wheel["metadata"]["name"])
            hashes.setdefault(name, set()).add(wheel["download_info"]["archive_info"]["hashes"]["sha256"])
            systems.setdefault(name, set()).add(_SYSTEMS[platform]["sys_platform"])
    everywhere = set().union(*systems.values())
    lines = [_HEADER.format(version=version, platforms=", ".join(PLATFORMS))]
    for name in sorted(hashes):
        marker = "" if systems[name] == everywhere else _write_marker(systems[name])
        files = " \\\n".join(f"    --hash=sha256:{digest}" for digest in sorted(hashes[name]))
        lines.append(f"{pins[name].lower()}{marker} \\\n{files}\n")
    return "".join(lines)


def _find_wheels(version: str, platform: str, pins: dict[str, str]) -> list[dict[str, Any]]:
    """All wheels of the base install on a platform; by name, since pip evaluates markers for this machine."""
    environment = {**_SYSTEMS[platform], "python_version": version, "python_full_version": f"{version}.0", "extra": ""}
    wheels: dict[str, dict[str, Any]] = {}
    names = _apply_markers(base_requirements(), environment)
    while new := sorted(names - wheels.keys()):
        if unknown := [name for name in new if name not in pins]:
            raise ResolutionError(f"constraints.txt names no version of {', '.join(unknown)} for Python {version}")
        found = resolve(version, platform, [pins[name] for name in new], deps=False)
        wheels |= {canonicalize_name(wheel["metadata"]["name"]): wheel for wheel in found}
        names = {
            name
            for wheel in wheels.values()
            for name in _apply_markers(wheel["metadata"].get("requires_dist", ()), environment)
        }
    return list(wheels.values())


def _apply_markers(requirements: Iterable[str], environment: dict[str, str]) -> set[str]:
    parsed = [Requirement(line) for line in requirements]
    return {
        canonicalize_name(one.name) for one in parsed if one.marker is None or one.marker.evaluate(dict(environment))
    }


def _write_marker(systems: Iterable[str]) -> str:
    return " ; " + " or ".join(f'sys_platform == "{name}"' for name in sorted(systems))


def main(versions: Sequence[str]) -> None:
    """Write the files of some versions, or of all."""
    FOLDER.mkdir(exist_ok=True)
    for version in versions or PYTHONS:
        path = FOLDER / f"python{version}.txt"
        path.write_text(lock(version), encoding="utf-8", newline="\n")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
