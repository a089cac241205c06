"""Which tests run which lines, by one run under coverage; kept until the sources or the tests change.

As a plugin of pytest (``-p benchmarks.test_map``) it writes, per test that passed, its seconds and the lines it ran.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
# Slow, or about something else than the mutated packages; so are those that need torch.
LEFT_OUT = re.compile(
    r"test_(\w+_(browser|accessible|simulated)|ray_\w+|reproduce_\w+|wheel|docs\w*|architecture|mutate|skips|examples"
    r"|attack|augment_(cli|engine)|embed\w*|ranking_(tfidf|evaluating)|retrieval|serve_schemathesis|sharded_index|ssrem_\w+|systems_\w+"
    r"|three_field)\.py"
)
# About the mutated packages without importing them.
ALSO = re.compile(r"test_(cli|knowledge|ranking_measures|report|serve_pages)\.py")
NEEDS_TORCH = re.compile(r"import torch|importorskip\(\"(torch|transformers)")
TEST_LIMIT_S = 10  # of the processor's time


@dataclass(frozen=True)
class CoveredTest:
    """A test that passed: its seconds, and the lines that it ran, by file."""

    name: str
    seconds: float
    lines: dict[str, frozenset[int]]


class CoverageMap:
    """The tests of every line."""

    def __init__(self, runs: Sequence[CoveredTest]) -> None:
        self.runs = runs
        self._texts: dict[str, str] = {}
        self.by_line: dict[tuple[str, int], list[CoveredTest]] = defaultdict(list)
        self.by_file: dict[str, list[CoveredTest]] = defaultdict(list)
        for run in runs:
            for path, lines in run.lines.items():
                self.by_file[path].append(run)
                for line in lines:
                    self.by_line[path, line].append(run)

    def _text(self, run: CoveredTest) -> str:
        """The file of a test."""
        file = run.name.partition("::")[0]
        if file not in self._texts:
            self._texts[file] = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
        return self._texts[file]

    def tests_of(self, path: str, lines: range, at_import: bool) -> list[CoveredTest]:
        """Those that run one of the lines; of the whole file where they run on import or are seen by no test.

        The quickest come first, measured by how much of what a test runs is in this file. What runs on import is also
        read without running a line: there the tests whose file names the module's package come last.
        """
        found = {run.name: run for line in lines for run in self.by_line.get((path, line), [])}
        if at_import or not found:
            package = re.compile(rf"\brejoinder\.{re.escape('.'.join(Path(path).parts[:-1]))}\b")
            found = {run.name: run for run in self.by_file.get(path, [])}
            found |= {run.name: run for run in self.runs if package.search(self._text(run))}

        def cost(run: CoveredTest) -> float:
            share = len(run.lines.get(path, ())) / max(1, sum(len(lines) for lines in run.lines.values()))
            return (run.seconds + 0.01) / max(share, 1e-6)

        return sorted(found.values(), key=lambda run: (cost(run), run.name))


def map_tests(packages: Sequence[str], folder: Path, workers: int, log: Callable[[str], None]) -> CoverageMap:
    """The map of all test files that import the packages."""
    shared = [file for file in sorted((ROOT / "tests").glob("*.py")) if not file.name.startswith("test_")]
    common = _digest([*sorted((ROOT / "src").rglob("*.py")), *shared]) + repr(sorted(packages))
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {}
    for file in related_files(packages):
        key = hashlib.sha256((common + _digest([file])).encode()).hexdigest()[:24]
        outputs[f"tests/{file.name}"] = folder / f"{file.stem}-{key}.json"
    for old in set(folder.glob("*.json")) - set(outputs.values()):
        old.unlink()
    missing = [name for name, out in outputs.items() if not out.exists()]
    log(f"{len(missing)} of {len(outputs)} test files are run to see which lines they reach")
    with ThreadPoolExecutor(workers) as pool:
        list(
            pool.map(
                lambda names: _run_files(names, outputs, packages, log),
                [missing[n::workers] for n in range(workers)],
            )
        )
    return CoverageMap([run for out in outputs.values() for run in _read(out)])


def related_files(packages: Sequence[str]) -> list[Path]:
    """The test files that import one of the packages, without the slow ones."""
    modules = "|".join(package.removesuffix(".py").replace("/", r"\.") for package in packages)
    imports = re.compile(rf"rejoinder\.({modules})\b")
    found = []
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        related = imports.search(text) or ALSO.fullmatch(file.name)
        if related and not LEFT_OUT.fullmatch(file.name) and not NEEDS_TORCH.search(text):
            found.append(file)
    return found


def _run_files(
    names: Sequence[str], outputs: dict[str, Path], packages: Sequence[str], log: Callable[[str], None]
) -> None:
    """Run test files in one process; if it dies, the file that it died in is reported and left out."""
    left = list(names)
    while left:
        settings = {"outputs": {name: str(outputs[name]) for name in left}, "packages": list(packages)}
        environment = os.environ | {"REJOINDER_TEST_MAP": json.dumps(settings)}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        environment["COVERAGE_CORE"] = "ctrace"  # the others know no contexts
        options = ["-q", "-p", "benchmarks.test_map", "-p", "no:cacheprovider", "-p", "no:xdist"]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *left],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
        )
        # An error while tests are collected stops pytest before it runs any: no single file is to blame.
        if run.returncode == pytest.ExitCode.INTERRUPTED:
            raise SystemExit(f"the tests could not be collected:\n{run.stdout[-2000:]}")
        left = [name for name in left if not outputs[name].exists()]
        if left:
            log(f"{left[0]} is left out: pytest died in it (status {run.returncode})")
            outputs[left.pop(0)].write_text("[]", encoding="utf-8")


def _read(file: Path) -> Iterator[CoveredTest]:
    for row in json.loads(file.read_text(encoding="utf-8")):
        yield CoveredTest(row["name"], row["seconds"], {path: frozenset(lines) for path, lines in row["lines"].items()})


def _digest(files: Sequence[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        found.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()


class _Recorder:
    """Coverage under the name of the test that runs, written when its file is done."""

    def __init__(self, outputs: dict[str, str], packages: Sequence[str]) -> None:
        from coverage import Coverage

        self.outputs = outputs
        self.source = ROOT / "src" / "rejoinder"
        include = [str(self.source / p) if p.endswith(".py") else str(self.source / p / "*") for p in packages]
        self.coverage = Coverage(data_file=None, include=include, config_file=False)
        self.coverage.start()
        self.file = ""
        self.seconds: dict[str, float] = defaultdict(float)
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file = nodeid.partition("::")[0]
        if file != self.file:
            self._write()
            self.file = file
        self.coverage.switch_context(nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """A test that takes too long fails, and is so left out."""
        signal.signal(signal.SIGVTALRM, _fail)
        signal.setitimer(signal.ITIMER_VIRTUAL, TEST_LIMIT_S)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.when == "call" or not report.passed:
            self.outcomes[report.nodeid] = report.outcome

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self._write()

    def _write(self) -> None:
        """Write what is known of the file that is done; coverage goes on, since it does not start twice."""
        if self.file in self.outputs:
            Path(self.outputs[self.file]).write_text(json.dumps(self._rows()), encoding="utf-8")
        self.outcomes.clear()

    def _rows(self) -> list[dict[str, Any]]:
        """Per test that passed in time: its name, its seconds, its lines by file."""
        lines: dict[str, dict[str, list[int]]] = defaultdict(dict)
        data = self.coverage.get_data()
        data.set_query_contexts([f"^{re.escape(self.file)}::"])
        for file in data.measured_files():
            path = Path(file).relative_to(self.source).as_posix()
            by_test: dict[str, list[int]] = defaultdict(list)
            for line, names in data.contexts_by_lineno(file).items():
                for name in names:
                    by_test[name].append(line)
            for name, found in by_test.items():
                lines[name][path] = sorted(found)
        return [
            {"name": name, "seconds": round(self.seconds[name], 4), "lines": lines[name]}
            for name, outcome in self.outcomes.items()
            if outcome == "passed"
        ]


def _fail(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {TEST_LIMIT_S} s")


def pytest_configure(config: pytest.Config) -> None:
    """Start to record, where it is asked for."""
    if settings := os.environ.get("REJOINDER_TEST_MAP"):
        config.pluginmanager.register(_Recorder(**json.loads(settings)))
