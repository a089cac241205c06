"""schemathesis against the description: no answer is a 500, and none breaks what is described.

schemathesis is no part of this project: it is run where its command is installed, or where REJOINDER_SCHEMATHESIS
names it, and skipped elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from tests.serve_site import TOKEN, library_at, serving

COMMAND = os.environ.get("REJOINDER_SCHEMATHESIS") or shutil.which("schemathesis")


@pytest.mark.skipif(COMMAND is None, reason="schemathesis is not there: set REJOINDER_SCHEMATHESIS to its command")
def test_schemathesis_finds_no_500_and_no_violation(tmp_path: Path) -> None:
    folder = library_at(tmp_path / "runs")
    with serving(str(folder)) as (url, _):
        command = [str(COMMAND), "run", f"{url}/openapi.json", "--checks", "all", "--max-examples", "10", "--seed", "1"]
        command += ["--header", f"Authorization: Bearer {TOKEN}", "--request-timeout", "120", "--no-color"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
