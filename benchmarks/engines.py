"""What each engine adds to a plain loop: the same rows of a file under a cheap metric, 1,000 to 1,000,000 of them.

The loop reads a batch of lines, makes pairs of them and calls the metric; a worker does the same with the batch that it
is told. Engines are opened anew for each number of rows, so that what starting costs is seen too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.synthetic import sentences
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import RejoinderError
from rejoinder.metric import parse
from rejoinder.types import Item, Pair, Reference, Response, Turn

METRIC = "rouge_l"
ROWS = (1_000, 100_000, 1_000_000)
KEPT = 100_000  # rows of the file; more are these again
BATCH = 512  # rows, as many as the mean chunk of a run has
MOST = {1_000: None, 100_000: 1.2, 1_000_000: 1.2}  # of one process in place of the loop
Batch = list[int]  # where it begins in the file, and its lines


class RowsWorker:
    """Scores batches of a file."""

    def __init__(self, path: str, spec: str) -> None:
        self._file, self._metric = open(path, "rb"), parse(spec)  # noqa: SIM115

    def compute(self, task: Batch) -> list[float]:
        """The scores of a batch."""
        self._file.seek(task[0])
        return [float(one) for one in self._metric.score([_pair(self._file.readline()) for _ in range(task[1])])]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _pair(line: bytes) -> Pair:
    said = orjson.loads(line)
    item = Item(said["id"], (Turn(said["context"]),), (Reference(said["reference"]),))
    return Pair(item, Response(said["id"], said["id"], "a", said["text"]))


def write_rows(path: Path) -> list[Batch]:
    """Write the file, and say where its batches are."""
    pool, batches, at = sentences(5_000), [], 0
    drawn = np.random.default_rng(0).integers(0, len(pool), (KEPT, 3)).tolist()
    with path.open("wb") as file:
        for i, (a, b, c) in enumerate(drawn):
            if i % BATCH == 0:
                batches.append([at, min(BATCH, KEPT - i)])
            row = {"id": str(i), "context": pool[a], "reference": pool[b], "text": pool[c]}
            at += file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    return batches


def tasks(batches: Sequence[Batch], rows: int) -> Iterator[Batch]:
    """So many rows; beyond the file's end they begin anew."""
    while rows:
        for at, size in batches:
            if not rows:
                return
            yield [at, min(size, rows)]
            rows -= min(size, rows)


def plain(path: Path, given: Iterator[Batch]) -> float:
    """The sum of the scores, by a loop."""
    metric, total = parse(METRIC), 0.0
    with path.open("rb") as file:
        for at, size in given:
            file.seek(at)
            total += sum(metric.score([_pair(file.readline()) for _ in range(size)]))
    return total


def by_engine(engine: Engine, path: Path, given: Iterator[Batch]) -> float:
    """The same by an engine."""
    work = WorkerSpec("benchmarks.engines:RowsWorker", (str(path), METRIC))
    return sum(sum(values) for values in order_results(engine.compute(work, given)))


def ray() -> tuple[Engine | None, float]:
    """A cluster of this machine, and the seconds that it took to start; nothing where Ray is not installed."""
    begun = time.perf_counter()
    try:
        from rejoinder.engines.ray import RayEngine

        return RayEngine(), time.perf_counter() - begun
    except RejoinderError as error:
        print(f"  left out  --engine ray: {error}", file=sys.stderr, flush=True)
        return None, 0.0


def measure(rows: Sequence[int] = ROWS) -> list[dict[str, Any]]:
    """Seconds of each engine beside those of the loop."""
    entries = []
    cluster, started = ray()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        batches = write_rows(path)
        plain(path, tasks(batches, 1_000))  # what is loaded once
        for n in rows:
            engines: list[tuple[str, Engine]] = [
                (f"local, {k} process{'es' * (k > 1)}", LocalEngine(k)) for k in (1, 2)
            ]
            if cluster is not None:
                engines.append((f"ray, {cluster.workers} workers of this machine", cluster))
            entries += _measured(n, path, batches, engines)
    if cluster is not None:
        entries.append({**_entry("starting a Ray cluster on this machine", started, "once"), "ratio": None})
    return entries


def _measured(
    rows: int, path: Path, batches: Sequence[Batch], engines: Sequence[tuple[str, Engine]]
) -> list[dict[str, Any]]:
    begun = time.perf_counter()
    wanted = plain(path, tasks(batches, rows))
    loop = time.perf_counter() - begun
    spent = []
    for name, engine in engines:
        begun = time.perf_counter()
        found = by_engine(engine, path, tasks(batches, rows))
        spent.append(time.perf_counter() - begun)
        if abs(found - wanted) > 1e-6 * rows:
            raise RuntimeError(f"{name} does not compute the same")
    begun = time.perf_counter()
    plain(path, tasks(batches, rows))
    loop = min(loop, time.perf_counter() - begun)  # a machine may be busy at one end
    entries = []
    for (name, engine), seconds in zip(engines, spent, strict=True):
        entry = _entry(f"{METRIC} of {rows:,} rows, --engine {name}", seconds, f"a plain loop, {loop:.2f} s")
        entry |= {"ratio": round(seconds / loop, 2), "at_most": True}
        entries.append(entry | ({"floor": MOST.get(rows)} if engine.workers == 1 and engine.name == "local" else {}))
    return entries


def _entry(name: str, seconds: float, against: str) -> dict[str, Any]:
    return {"name": name, "value": round(seconds, 2), "unit": "s", "against": against, "ratio": 0.0, "floor": None}
