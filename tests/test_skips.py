"""What was skipped is told at the end of a run, and where the browser is required it fails the run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.skips import UNKNOWN, find_remedy

ROOT = Path(__file__).parent.parent
TESTS = {
    "test_sets.py": """
import pytest
@pytest.mark.parametrize("n", range(3))
def test_needs_data(n):
    pytest.skip("REJOINDER_DATA names no folder of published sets")
def test_runs():
    pass
""",
    "test_page_browser.py": """
import pytest
@pytest.mark.skipif(True, reason="there is no /usr/bin/chromium")
def test_page():
    pass
""",
    "test_page_accessible.py": 'import pytest\npytest.importorskip("no_such_module_of_ours")\n',
}


def run(folder: Path, *options: str, require: str = "", only: str = "") -> tuple[int, str]:
    """The exit status and the output of a run over the files above."""
    for name, text in TESTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.skips", "-p", "no:cacheprovider", "-c", os.devnull]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    done = subprocess.run(
        [*command, "--rootdir", str(folder), *options, str(folder / only)],
        cwd=ROOT,
        env=environment | {"REJOINDER_REQUIRE": require},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_the_table_groups_what_was_skipped_by_reason_and_says_what_would_run_it(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    status, output = run(tmp_path, *options)
    table = [line for line in output.partition("not everything was tested")[2].splitlines() if line]
    assert status == 0
    assert [" ".join(line.split()) for line in table[2:8]] == [
        "3 REJOINDER_DATA names no folder of published sets",
        f"-> {find_remedy('REJOINDER_DATA')}",
        "1 could not import 'no_such_module_of_ours': No module named 'no_such_module_of_ours' (whole files)",
        '-> pip install -c constraints.txt -e ".[dev]"',
        "1 there is no /usr/bin/chromium",
        "-> apt-get install chromium",
    ]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_skipped_test_of_the_browser_fails_the_run_where_the_browser_is_required(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    status, output = run(tmp_path, *options, require="browser")
    assert status == 1
    assert "were skipped in test_page_accessible.py, test_page_browser.py" in output


def test_other_skipped_tests_do_not_fail_it(tmp_path: Path) -> None:
    status, output = run(tmp_path, require="browser", only="test_sets.py")
    assert (status, "not everything was tested" in output) == (0, True)


def reasons_to_skip() -> Iterator[str]:
    """Every reason that is written in the tests, and every module without which they are skipped."""
    for file in sorted((ROOT / "tests").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            reason = next((keyword.value for keyword in node.keywords if keyword.arg == "reason"), None)
            if node.func.attr in ("skip", "skipif", "importorskip") and reason is None and node.args:
                reason = node.args[-1]
            if node.func.attr == "importorskip" and isinstance(reason, ast.Constant) and reason in node.args:
                yield f"could not import '{reason.value}'"
            elif node.func.attr in ("skip", "skipif", "importorskip") and isinstance(reason, ast.Constant):
                yield str(reason.value)


def test_every_reason_to_skip_has_a_remedy() -> None:
    reasons = set(reasons_to_skip())
    assert len(reasons) > 30
    assert sorted(reason for reason in reasons if find_remedy(reason) == UNKNOWN) == []
