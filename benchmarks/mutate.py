"""Mutation testing: mutants of the packages that decide numbers, drawn by a seed, each run against its line's tests.

``make mutate`` (N, SEED and WORKERS are its variables) writes docs/results/mutation.json and mutation.md. A mutant is
killed when a test fails, or when it runs out of 120 seconds or 6 GB; what no test can tell from the original is listed
in benchmarks/equivalent_mutants.json with the reason. Results are kept under local/mutate, so a stopped run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutant_run import KILLED, Overlay, planned
from benchmarks.mutants import Mutant, find_mutants
from benchmarks.test_map import ROOT, CoverageMap, CoveredTest, map_tests

# What is mutated, below src/rejoinder: the only place that names it.
PACKAGES = (
    "stats",
    "scoring",
    "comparison",
    "data",
    "annotation/store",
    "server/access.py",
    "server/login.py",
    "server/middleware.py",
    "server/limits.py",
    "server/api/auth.py",
    "server/api/limits.py",
    "server/api/records.py",
)
SOURCE = ROOT / "src" / "rejoinder"
LOCAL = ROOT / "local" / "mutate"
RESULTS = ROOT / "docs" / "results"
EQUIVALENTS = Path(__file__).with_name("equivalent_mutants.json")
BAR = 0.9
EQUIVALENT_LIMIT = 0.05


@dataclass(frozen=True)
class Result:
    """How a mutant ended: killed by a failed test, by time or by memory; equivalent; survived."""

    mutant: Mutant
    end: str
    detail: str


def files_of(packages: Sequence[str]) -> list[Path]:
    """The modules of the packages."""
    found = []
    for package in packages:
        place = SOURCE / package
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    if missing := [package for package in packages if not (SOURCE / package).exists()]:
        raise SystemExit(f"nothing is called {', '.join(missing)} in {SOURCE}; mend PACKAGES in {Path(__file__).name}")
    return found


def draw(n: int, seed: int) -> list[Mutant]:
    """N mutants of different lines: a line is drawn first, so that long expressions weigh no more than short ones."""
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    sources = {}
    for file in files_of(PACKAGES):
        path = file.relative_to(SOURCE).as_posix()
        sources[path] = file.read_bytes()
        for mutant in find_mutants(path, sources[path]):
            by_line.setdefault((path, mutant.line), []).append(mutant)
    chance = random.Random(seed)
    drawn: list[Mutant] = []
    for place in chance.sample(sorted(by_line), len(by_line)):
        mutant = chance.choice(by_line[place])
        if len(drawn) < n and mutant.compiles(sources[place[0]]):
            drawn.append(mutant)
    return drawn


def equivalents() -> dict[tuple[str, str], str]:
    """Reasons by the line of source and the change, so that they hold when a line or a file moves."""
    rows = json.loads(EQUIVALENTS.read_text(encoding="utf-8"))
    return {(row["source"], row["change"]): row["reason"] for row in rows}


def source_line(mutant: Mutant) -> str:
    """The line of source that a mutant changes."""
    return (SOURCE / mutant.path).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()


def run_mutants(mutants: Sequence[Mutant], tests: CoverageMap, workers: int) -> Iterator[Result]:
    """The mutants' ends, as they come."""
    reasons = equivalents()
    with tempfile.TemporaryDirectory(prefix="rejoinder-mutate-") as folder:
        overlays: queue.Queue[Overlay] = queue.Queue()
        for number in range(workers):
            overlays.put(Overlay(Path(folder) / str(number)))

        def one(mutant: Mutant) -> Result:
            if reason := reasons.get((source_line(mutant), mutant.change)):
                return Result(mutant, "equivalent", reason)
            related = planned(
                tests.tests_of(mutant.path, range(mutant.lines[0], mutant.lines[1] + 1), mutant.at_import)
            )
            if not related:
                return Result(mutant, "survived", "no test runs this file")
            key = _key(mutant, related)
            kept = LOCAL / "ends" / f"{key}.json"
            if kept.exists():
                return Result(mutant, *json.loads(kept.read_text(encoding="utf-8")))
            overlay = overlays.get()
            try:
                end, detail = overlay.run(mutant, related)
            finally:
                overlays.put(overlay)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps([end, detail]), encoding="utf-8")
            return Result(mutant, end, detail)

        with ThreadPoolExecutor(workers) as pool:
            for future in as_completed([pool.submit(one, mutant) for mutant in mutants]):
                yield future.result()


def _key(mutant: Mutant, tests: Sequence[CoveredTest]) -> str:
    """Of the change, the module and the tests' own files: another module's change is not seen."""
    found = hashlib.sha256(repr((mutant.change, mutant.line, [test.name for test in tests])).encode())
    for file in sorted({SOURCE / mutant.path, *(ROOT / test.name.partition("::")[0] for test in tests)}):
        found.update(file.read_bytes())
    return found.hexdigest()[:24]


def summary(results: Sequence[Result], n: int, seed: int) -> dict[str, Any]:
    """What is written: the counts, the score, the survivors and the equivalents."""
    ends = Counter(result.end for result in results)
    killed = sum(ends[end] for end in KILLED)
    rows: dict[str, list[dict[str, Any]]] = {"survived": [], "equivalent": []}
    for result in sorted(results, key=lambda result: (result.mutant.path, result.mutant.line)):
        if result.end in rows:
            place = {"file": result.mutant.path, "line": result.mutant.line, "source": source_line(result.mutant)}
            rows[result.end].append({**place, "change": result.mutant.change, "detail": result.detail})
    packages = {
        package: [
            sum(result.end in KILLED for result in results if _belongs(result.mutant.path, package)),
            sum(result.end != "equivalent" for result in results if _belongs(result.mutant.path, package)),
        ]
        for package in PACKAGES
    }
    return {
        "n": n,
        "seed": seed,
        "killed": killed,
        "killed_by": {end: ends[end] for end in KILLED},
        "equivalent": ends["equivalent"],
        "survived": ends["survived"],
        "score": round(killed / max(1, len(results) - ends["equivalent"]), 4),
        "packages": packages,
        "survivors": rows["survived"],
        "equivalents": rows["equivalent"],
    }


def _belongs(path: str, package: str) -> bool:
    return path == package or path.startswith(f"{package}/")


def page(found: dict[str, Any]) -> str:
    """The summary in Markdown."""
    ways = found["killed_by"]
    noticeable = found["killed"] + found["survived"]
    lines = [
        "# Mutation testing",
        "",
        f"Written by `make mutate N={found['n']} SEED={found['seed']}`: {found['n']} small changes of the source,",
        "drawn by the seed, one at a time, each against the tests that run the changed line, with at most 120 seconds",
        "and 6 GB.",
        "",
        f"**{found['score']:.1%} of the {noticeable} that can be noticed were killed** (bar: {BAR:.0%}):",
        f"{ways['failed']} by a test that failed, {ways['time']} by time, {ways['memory']} by memory;",
        f"{found['survived']} survived, {found['equivalent']} are equivalent to the original.",
        "",
        "| package | killed | of |",
        "|---|---|---|",
        *(f"| `{name}` | {killed} | {of} |" for name, (killed, of) in found["packages"].items() if of),
    ]
    for title, rows in (("Survived", found["survivors"]), ("Equivalent", found["equivalents"])):
        if rows:
            lines += ["", f"## {title}", "", "| place | change | |", "|---|---|---|"]
            lines += [f"| `{row['file']}:{row['line']}` | {_code(row['change'])} | {row['detail']} |" for row in rows]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|').replace('`', chr(39))}`"


def main() -> int:
    """Draw, run, write; the status is 1 below the bar or with too many equivalents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    mutants = draw(options.n, options.seed)
    tests = map_tests(PACKAGES, LOCAL / "map", options.workers, lambda line: print(line, flush=True))
    results = []
    for result in run_mutants(mutants, tests, options.workers):
        results.append(result)
        mutant = result.mutant
        print(f"{len(results)} {result.end} {mutant.path}:{mutant.line}: {mutant.change} ({result.detail})", flush=True)
    found = summary(results, len(mutants), options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "mutation.json").write_text(
        json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (options.output / "mutation.md").write_text(page(found), encoding="utf-8")
    print(f"{found['score']:.1%} killed; {found['survived']} survived, {found['equivalent']} equivalent")
    few = found["equivalent"] <= EQUIVALENT_LIMIT * len(mutants)
    if not few:
        print(f"{found['equivalent']} equivalents are more than {EQUIVALENT_LIMIT:.0%} of {len(mutants)}")
    return 0 if found["score"] >= BAR and few else 1


if __name__ == "__main__":
    sys.exit(main())
