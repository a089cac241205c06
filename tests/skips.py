"""A table at the end of a test run: how many tests were skipped, why, and what would make them run.

With REJOINDER_REQUIRE=browser a skipped test of the browser fails the run.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DEV = 'pip install -c constraints.txt -e ".[dev]"'
# What a reason says -> what to do about it; the first that is in the reason counts.
REMEDIES = {
    "REJOINDER_DATA": "REJOINDER_DATA=FOLDER with the files of docs/datasets.md (rejoinder data get NAME)",
    "/usr/bin/chromium": "apt-get install chromium",
    "axe-core": f"{DEV}, or REJOINDER_AXE=FILE",
    "schemathesis": "pip install schemathesis, or REJOINDER_SCHEMATHESIS=COMMAND",
    "psycopg": DEV,
    "PostgreSQL": "apt-get install postgresql, or REJOINDER_POSTGRES=URL",
    "no GPU": "run them on a machine with a GPU",
    "a GPU": "run them on a machine without a GPU",
    "smollm2-135m is not in the cache": "rejoinder models get smollm2-135m",
    "minilm is not in the cache": "rejoinder models get minilm",
    "glove-6b-50d is not in the cache": "rejoinder models get glove-6b-50d",
    "in the package": "a checkout with its weights (src/rejoinder/models/weights)",
    "has no writer": "a checkout with its weights (src/rejoinder/models/weights)",
    "lm_eval": "pip install lm_eval",
    "inspect_ai": "pip install inspect_ai",
    "label_studio_sdk": "pip install label-studio-sdk",
    "crowd-kit is installed": "pip uninstall crowd-kit",
    "crowd": 'pip install -e ".[crowd]"',
    "pandas": 'pip install -e ".[crowd]"',
    "usearch": 'pip install -e ".[ann]"',
    "POSIX": "run them on a POSIX system",
    "fcntl": "run them on a POSIX system",
    "Unix": "run them on a POSIX system",
    "of Linux": "run them on Linux",
    "scores each pair by itself": "nothing: the check does not apply",
    "asked together": "nothing: the check does not apply",
    "extra is not installed": DEV,
    "rejoinder[docs]": DEV,
    "moto": DEV,
    "is not installed": DEV,
    "could not import": DEV,
}
UNKNOWN = "unknown: add the reason to tests/skips.py"
BROWSER = re.compile(r"test_\w+_(browser|accessible)\.py")
Skip = tuple[str, str]
"""The test or module, and why it was skipped."""
_MODULES = pytest.StashKey[list[Skip]]()


def find_remedy(reason: str) -> str:
    """What makes tests run that are skipped for this reason."""
    return next((remedy for part, remedy in REMEDIES.items() if part in reason), UNKNOWN)


def skip_table(skips: list[Skip]) -> list[str]:
    """One line per reason: number of tests, why, what would run them; the largest number first."""
    reasons = Counter(reason for _, reason in skips)
    whole = {reason for name, reason in skips if "::" not in name}
    lines = [f"{'tests':>5}  why they were skipped, and what would run them"]
    for reason, number in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        lines.append(f"{number:>5}  {reason}{' (whole files)' if reason in whole else ''}")
        lines.append(f"{'':>5}    -> {find_remedy(reason)}")
    return lines


def browser_skips(skips: list[Skip]) -> list[Skip]:
    """Those of the browser's tests."""
    return [skip for skip in skips if BROWSER.search(skip[0])]


def _reason(report: Any) -> str:
    where = report.longrepr
    text = where[2] if isinstance(where, tuple) else str(where)
    return " ".join(text.removeprefix("Skipped: ").split())


def _all_skips(config: pytest.Config) -> list[Skip]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    tests = [(report.nodeid, _reason(report)) for report in reports if "::" in report.nodeid]
    return [*tests, *dict.fromkeys(config.stash.get(_MODULES, []))]


@pytest.hookimpl
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_MODULES] = []
    if config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(_FromWorkers(config))

    class Collected:
        """Whole files, which end before any of their tests is known."""

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.skipped:
                config.stash[_MODULES].append((report.nodeid, _reason(report)))

    config.pluginmanager.register(Collected())


class _FromWorkers:
    """pytest-xdist does not pass skipped files on; its workers hand them over when they end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        self.config.stash[_MODULES] += [(name, reason) for name, reason in output.get("skipped_files", [])]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["skipped_files"] = session.config.stash[_MODULES]
    elif _required() and browser_skips(_all_skips(session.config)) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skips = _all_skips(terminalreporter.config)
    if skips:
        terminalreporter.section("not everything was tested")
        for line in skip_table(skips):
            terminalreporter.write_line(line)
    missing = browser_skips(skips) if _required() else []
    if missing:
        files = sorted({Path(name.partition("::")[0]).name for name, _ in missing})
        terminalreporter.write_line(
            f"FAILED: REJOINDER_REQUIRE=browser, but tests of the browser were skipped in {', '.join(files)}", red=True
        )


def _required() -> bool:
    return os.environ.get("REJOINDER_REQUIRE") == "browser"
