"""Every supported version of Python: whether wheels of all libraries exist, and whether the tests pass.

``python -m tools.matrix`` (``make matrix``) resolves the base install and the extras for each version, then makes an
environment for each interpreter that is here (on the PATH, or of pyenv) and runs the tests in it; what did not run is
named. ``--extra test`` installs no torch and none of the large libraries; tests that need them are skipped by name.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence

from rejoinder.reports.installation import EXTRAS
from rejoinder.table import Cell, Table, to_terminal
from tools.interpreters import CONSTRAINTS, PYTHONS, ROOT, ResolutionError, find_interpreter, resolve
from tools.locks import base_requirements, extra_requirements

ENVIRONMENTS = ROOT / "build" / "matrix"
# Their libraries have no wheels for each Python, or none that fits every machine.
_UNRESOLVED = frozenset({"crowd", "grade", "ray", "torch"})


def resolution_table(versions: Sequence[str]) -> Table:
    """For each version, how many wheels pip finds, or why there is no set of them."""
    extras = [name for name in EXTRAS if name not in _UNRESOLVED]
    wanted = {
        "base install": base_requirements(),
        f"with {', '.join(extras)}": [*base_requirements(), *extra_requirements(extras)],
    }
    rows: list[list[Cell]] = []
    for version in versions:
        asked = "its own pip" if find_interpreter(version) else "the pip of another Python"
        rows.append([version, asked, *(_count_wheels(version, lines) for lines in wanted.values())])
    return Table(
        "Wheels for Linux", ["Python", "asked", *wanted], rows, [f"Not asked: {', '.join(sorted(_UNRESOLVED))}."]
    )


def _count_wheels(version: str, wanted: Sequence[str]) -> str:
    try:
        return f"{len(resolve(version, 'linux', wanted))} wheels"
    except ResolutionError as error:
        return f"none: {error}"


def run_tests(version: str, extra: str, arguments: Sequence[str]) -> tuple[bool, str]:
    """Whether the tests pass in an environment of this version, and pytest's last line or why there is none."""
    python = find_interpreter(version)
    if python is None:
        return True, "did not run: no such interpreter on the PATH or in pyenv"
    folder = ENVIRONMENTS / version
    inner = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    steps = [] if inner.exists() else [[str(python), "-m", "venv", str(folder)]]
    steps.append([str(inner), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS), "-e", f"{ROOT}[{extra}]"])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = re.findall(r"^ERROR: (.*)$", done.stderr, re.MULTILINE) or [done.stderr.strip()[-200:]]
            return False, f"did not run: could not be installed ({errors[0]})"
    done = subprocess.run(
        [str(inner), "-m", "pytest", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    (folder / "pytest.log").write_text(done.stdout, encoding="utf-8")
    return done.returncode == 0, summarize(done.stdout)


def summarize(output: str) -> str:
    """The last line of pytest that counts tests."""
    counts = re.findall(r"^=* ?(\d+ (?:passed|failed|skipped|error).*? in [^=]*?) ?=*$", output, re.MULTILINE)
    return counts[-1] if counts else "did not run: pytest ended early"


def main() -> int:
    """Print both tables; 1 where tests fail or could not be installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extra", default="dev", help="the extra that the tests are installed with: dev or test")
    parser.add_argument("--python", action="append", help="only this version; may be repeated")
    parser.add_argument("--only", choices=("wheels", "tests"), help="one half of it")
    parser.add_argument("arguments", nargs="*", help="what pytest gets")
    typed = parser.parse_args()
    versions = typed.python or PYTHONS
    if typed.only != "tests":
        print(to_terminal(resolution_table(versions)))
    if typed.only == "wheels":
        return 0
    results = [(version, *run_tests(version, typed.extra, typed.arguments or ["-n", "auto"])) for version in versions]
    rows: list[list[Cell]] = [[version, said] for version, _, said in results]
    print(to_terminal(Table(f"Tests with rejoinder[{typed.extra}]", ["Python", "result"], rows)))
    return int(not all(passed for _, passed, _ in results))


if __name__ == "__main__":
    sys.exit(main())
