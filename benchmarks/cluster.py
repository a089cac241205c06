"""``python -m benchmarks.cluster same|kills|speed``: a Ray cluster of several node processes against this process.

``same``: every long command gives the same bytes. ``kills``: a process, a node and the driver killed at seeded random
moments lose and double nothing. ``speed``: two nodes of one core against one on scoring that an encoder bounds. What
was found goes to ``docs/results/cluster.json`` and ``cluster.md``. Needs rejoinder[ray].
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.cluster_cases import Case, cases, outputs, write_data
from benchmarks.ray_nodes import ROOT, Nodes, driver, killed

TARGET = ROOT / "docs" / "results" / "cluster.json"
ROUNDS, NODES = 10, 3
ORDER = ("score shards", "score shards", "score one file", "score shards", "augment")  # of the rounds
LEAST_SPEEDUP = 1.7
_LONGEST = 300  # seconds of a command
Entry = dict[str, Any]


class Bench:
    """A folder with the data, and what the local engine makes of it."""

    def __init__(self, folder: Path, shards: int, items: int) -> None:
        self.folder, self.cases = folder, cases(write_data(folder / "data", shards, items))
        self._wanted: dict[str, dict[str, str]] = {}
        self._n = 0

    def place(self) -> Path:
        """A new folder for an output."""
        self._n += 1
        path = self.folder / str(self._n)
        path.mkdir()
        return path

    def wanted(self, name: str) -> dict[str, str]:
        """What one process of this machine writes."""
        if name not in self._wanted:
            self._wanted[name] = self.run(self.cases[name], self.place(), ["--processes", "1"])[0]
        return self._wanted[name]

    def run(self, case: Case, out: Path, engine: Sequence[str]) -> tuple[dict[str, str], str, float]:
        """A command from beginning to end: what it wrote and said, and the seconds that it took."""
        begun = time.perf_counter()
        process = driver(case.command(out, engine))
        _, said = process.communicate(timeout=_LONGEST)
        if process.returncode:
            raise RuntimeError(f"{case.name} ended with {process.returncode}: {said}")
        return outputs(out), said, time.perf_counter() - begun


def on(nodes: Nodes) -> list[str]:
    """The engine's options for a cluster."""
    return ["--engine", "ray", "--address", nodes.address]


def same(bench: Bench) -> Iterator[Entry]:
    """Whether two processes, one node and two nodes write what one process writes, command by command."""
    for name, case in bench.cases.items():
        found = bench.run(case, bench.place(), ["--processes", "2"])[0]
        yield {"part": "same", "command": name, "engine": "2 processes", "same": found == bench.wanted(name)}
    for n in (1, 2):
        with Nodes(n) as nodes:
            for name, case in bench.cases.items():
                found, _, seconds = bench.run(case, bench.place(), on(nodes))
                entry = {"part": "same", "command": name, "engine": f"{n} nodes", "same": found == bench.wanted(name)}
                yield {**entry, "seconds": round(seconds, 1)}


def kills(bench: Bench, rounds: int = ROUNDS, seed: int = 0) -> Iterator[Entry]:
    """A worker's process, a node and the driver killed at random moments, so many times each."""
    drawn = random.Random(seed)
    with Nodes(NODES) as nodes:
        usual = {
            name: min(bench.run(bench.cases[name], bench.place(), on(nodes))[2] for _ in range(2))
            for name in dict.fromkeys(ORDER)
        }
        for what in ("worker", "node", "driver"):
            for number in range(rounds):
                name = ORDER[number % len(ORDER)]
                share, chosen, hit = drawn.uniform(0.35, 1), drawn.randrange(1000), False
                while not hit:  # a command that ended before is begun again, and killed earlier
                    entry = _kill(bench, nodes, what, name, share * usual[name], chosen)
                    hit, share = entry["in time"], share * 0.8
                    nodes.restore()
                yield entry


def _kill(bench: Bench, nodes: Nodes, what: str, name: str, moment: float, number: int) -> Entry:
    """One killing: what was killed when, and what became of the command."""
    case, out = bench.cases[name], bench.place()
    begun = time.perf_counter()
    process = driver(case.command(out, on(nodes)))
    time.sleep(moment)
    hit = False
    while process.poll() is None and not hit:  # a worker may not be there yet
        if what == "driver":
            hit = killed(process.pid)
        else:
            hit = nodes.kill_worker(number) if what == "worker" else nodes.kill_node(number)
        time.sleep(0 if hit else 0.05)
    at = time.perf_counter() - begun
    _, said = process.communicate(timeout=_LONGEST)
    runs = 1
    if process.returncode:  # as a user does
        said, runs = bench.run(case, out, on(nodes))[1], 2
    retries, fresh = re.search(r"(\d+) retr", said), re.search(r"(\d+) scored now", said)
    return {
        "part": "kills",
        "killed": what,
        "command": name,
        "second": round(at, 1),
        "in time": hit,
        "runs": runs,
        "retries": int(retries.group(1)) if retries else None,
        "shards of the last run": int(fresh.group(1)) if fresh else None,
        "same": outputs(out) == bench.wanted(name),
        "seconds": round(time.perf_counter() - begun, 1),
        "said": [line for line in said.splitlines() if re.search(r"ray|Traceback|Error|WARN", line, re.I)][:5],
    }


def speed(bench: Bench, times: int = 2) -> Iterator[Entry]:
    """The seconds of a command that an encoder bounds, by one node and by two, one core each."""
    case = Case("speed", ("score", str(bench.folder / "data" / "shards"), "-m", "aptness"), "run")
    taken: dict[int, list[float]] = {1: [], 2: []}
    for n in (1, 2):
        with Nodes(n, pinned=True) as nodes:
            taken[n] = [bench.run(case, bench.place(), on(nodes))[2] for _ in range(times)]
            yield {"part": "speed", "nodes": n, "seconds": [round(one, 2) for one in taken[n]]}
    yield {"part": "speed", "speedup": round(min(taken[1]) / min(taken[2]), 2), "at least": LEAST_SPEEDUP}


def main(parts: Sequence[str]) -> int:
    """Measure the parts, print and write them down; the exit status says whether everything came true."""
    from benchmarks.cluster_page import write_page

    sizes = {"same": (6, 40), "kills": (24, 40), "speed": (40, 60)}
    before = json.loads(TARGET.read_text()) if TARGET.exists() else []
    found: list[Entry] = []
    for part in parts or list(sizes):
        with tempfile.TemporaryDirectory() as name:
            for entry in {"same": same, "kills": kills, "speed": speed}[part](Bench(Path(name), *sizes[part])):
                found.append({**entry, "date": time.strftime("%Y-%m-%d")})
                print(entry, flush=True)
    machine = {
        "part": "machine",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{library: version(library) for library in ("rejoinder", "ray", "onnxruntime")},
    }
    new = {entry["part"] for entry in found} | {"machine"}
    every = [machine, *(entry for entry in before if entry["part"] not in new), *found]
    TARGET.write_text(json.dumps(every, indent=1) + "\n")
    write_page(every, TARGET.with_suffix(".md"))
    return int(any(entry.get("same") is False or entry.get("speedup", 9) < LEAST_SPEEDUP for entry in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
