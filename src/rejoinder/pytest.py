"""The pytest plugin: a fixture that scores replies into run folders and finds the run to compare them with.

pytest loads it by itself where rejoinder is installed. Nothing else of rejoinder is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rejoinder.comparison.check import assert_no_worse as assert_no_worse
    from rejoinder.scoring.run import Run

_INI = "rejoinder_runs"


class RunFolders:
    """New runs in a temporary folder, and the accepted runs in a folder of the project."""

    def __init__(self, accepted: Path, new: Path) -> None:
        self._accepted, self._new = accepted, new

    def score(self, *files: str | Path, metrics: Sequence[str] = (), name: str = "new") -> Run:
        """Score the replies in files; the run folder is temporary, as ``tmp_path`` is."""
        import rejoinder

        return rejoinder.run(list(files), rejoinder.Plan.of(list(metrics)), self._new / name)

    def accepted(self, name: str) -> Path:
        """Return the folder of an accepted run, in the folder that the setting ``rejoinder_runs`` names."""
        folder = self._accepted / name
        if not (folder / "run.json").is_file():
            pytest.fail(f"{folder}: holds no run; make one with: rejoinder score FILE -o {folder}", pytrace=False)
        return folder


def __getattr__(name: str) -> Any:
    if name == "assert_no_worse":
        from rejoinder.comparison.check import assert_no_worse

        return assert_no_worse
    raise AttributeError(f"module 'rejoinder.pytest' has no attribute {name!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that says where accepted runs are."""
    parser.addini(_INI, "The folder of the accepted runs that new ones are compared with.", default="runs")


@pytest.fixture
def rejoinder_runs(pytestconfig: pytest.Config, tmp_path: Path) -> RunFolders:
    """Run folders for tests: ``score`` makes a new one, ``accepted`` finds the one to compare it with."""
    return RunFolders(pytestconfig.rootpath / pytestconfig.getini(_INI), tmp_path)
