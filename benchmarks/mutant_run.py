"""A mutant under its tests: in a copy of src, with a limit of time and memory."""

from __future__ import annotations

import compileall
import contextlib
import os
import py_compile
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.mutants import Mutant
from benchmarks.test_map import ROOT, CoveredTest

TIME_LIMIT_S = 120
PLANNED_S = 60
MEMORY_LIMIT = 6 * 2**30
BATCH = 40
KILLED = ("failed", "time", "memory")


def planned(tests: Sequence[CoveredTest]) -> list[CoveredTest]:
    """As many of the tests as are expected to fit into half the time limit."""
    chosen, seconds = [], 0.0
    for test in tests:
        seconds += test.seconds
        if seconds > PLANNED_S:
            break
        chosen.append(test)
    return chosen


class Overlay:
    """A copy of src in which one module at a time is changed; everything but modules is linked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for file in (ROOT / "src").rglob("*"):
            copy = folder / file.relative_to(ROOT / "src")
            if file.is_dir() or "__pycache__" in file.parts:
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".py":
                shutil.copyfile(file, copy)
            else:
                copy.symlink_to(file)
        # Compiled files are checked by content: those of two mutants have the same size and time.
        compileall.compile_dir(folder, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)

    def run(self, mutant: Mutant, tests: Sequence[CoveredTest]) -> tuple[str, str]:
        """How the mutant ends under the tests, and what killed it."""
        original = (ROOT / "src" / "rejoinder" / mutant.path).read_bytes()
        place = self.folder / "rejoinder" / mutant.path
        place.write_bytes(mutant.apply(original))
        try:
            return self._test(tests)
        finally:
            place.write_bytes(original)

    def _test(self, tests: Sequence[CoveredTest]) -> tuple[str, str]:
        seconds = float(TIME_LIMIT_S)
        for batch in _batches(tests):
            status, output, spent = _pytest([test.name for test in batch], self.folder, seconds)
            seconds -= spent
            if status == "time" or seconds <= 0:
                return "time", f"more than {TIME_LIMIT_S} s"
            if status != "passed":
                memory = "MemoryError" in output or "Cannot allocate memory" in output
                return ("memory" if memory else "failed"), _first_failure(output)
        return "survived", f"{len(tests)} tests passed"


def _batches(tests: Sequence[CoveredTest]) -> Iterator[list[CoveredTest]]:
    """The first few by themselves, since they kill most mutants and need few imports; then the rest."""
    for start, end in ((0, BATCH), (BATCH, len(tests))):
        if tests[start:end]:
            yield list(tests[start:end])


def _pytest(names: Sequence[str], source: Path, seconds: float) -> tuple[str, str, float]:
    """Whether the tests pass (``passed``, ``failed``, ``time``), what pytest said, and the seconds it took."""
    with tempfile.TemporaryDirectory(prefix="rejoinder-mutant-") as folder:
        listed = Path(folder) / "tests.txt"
        listed.write_text("\n".join(names), encoding="utf-8")
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "--basetemp", f"{folder}/tmp"]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
        started = os.times().elapsed
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, f"@{listed}"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
            status = "passed" if process.returncode == 0 else "failed"
        except subprocess.TimeoutExpired:
            output, status = "", "time"
        finally:
            _end_group(process)
        return status, output, os.times().elapsed - started


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what a mutant started and left behind: the process leads a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout:
        process.stdout.close()
    process.wait()


def _first_failure(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else (output.strip().splitlines() or ["no output"])[-1][:200]
