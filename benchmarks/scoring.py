"""Scoring at size: memory at a million responses, seconds a response at 10,000 and at 1,000,000, the help's start."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.processes import resident, tree
from benchmarks.synthetic import write_file

SMALL, LARGE = 10_000, 1_000_000
METRICS = ("bleu", "rouge_l", "distinct", "length", "context_overlap")


def score_once(folder: Path, chats: Path) -> tuple[float, float]:
    """Seconds to score a file, and the peak memory in GB of the main process and all workers together."""
    out = folder / "run"
    command = [sys.executable, "-m", "rejoinder", "score", str(chats), "-o", str(out), "--no-cache"]
    command += [word for metric in METRICS for word in ("-m", metric)]
    begun, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, sum(map(resident, tree(process.pid))))
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"scoring ended with {process.returncode}")
    seconds = time.perf_counter() - begun
    shutil.rmtree(out)
    return seconds, peak / 1e9


def measure_scale(small: int = SMALL, large: int = LARGE) -> list[dict[str, Any]]:
    """Peak memory of a large run, and its seconds a response against those of a small one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        little = write_file(folder / "small.jsonl", small)
        # The median of five, for the small run is short and the machine is not quiet.
        small_seconds = statistics.median(score_once(folder, little)[0] for _ in range(5))
        seconds, peak = score_once(folder, write_file(folder / "large.jsonl", large))
    return [
        {
            "name": f"peak memory of scoring {large:,} responses with {len(METRICS)} metrics",
            "value": round(peak, 3),
            "unit": "GB, all processes",
            "against": "at most 1.5 GB",
            "ratio": round(peak / 1.5, 3),
            "floor": 1.0,
            "at_most": True,
        },
        {
            "name": f"seconds a response at {large:,} against {small:,}",
            "value": round(seconds / large * 1e6, 1),
            "unit": "microseconds a response",
            "against": f"{small_seconds / small * 1e6:.1f} at {small:,}",
            "ratio": round(seconds / large / (small_seconds / small), 3),
            "floor": 1.2,
            "at_most": True,
        },
    ]


def measure_start(repeats: int = 15) -> list[dict[str, Any]]:
    """``rejoinder --help`` against a bare interpreter, medians of runs in turn."""
    times: dict[str, list[float]] = {"bare": [], "help": []}
    commands = {
        "bare": [sys.executable, "-c", "pass"],
        "help": [str(Path(sys.executable).parent / "rejoinder"), "--help"],
    }
    for _ in range(repeats):
        for name, command in commands.items():
            begun = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times[name].append(time.perf_counter() - begun)
    bare, full = (statistics.median(times[name]) for name in ("bare", "help"))
    return [
        {
            "name": "rejoinder --help",
            "value": round(full, 4),
            "unit": "s",
            "against": f"python -c pass, {bare:.4f} s",
            "ratio": round(full / bare, 2),
            "floor": 5.0,
            "at_most": True,
        }
    ]


def measure() -> list[dict[str, Any]]:
    """All measurements of this file."""
    return [*measure_start(), *measure_scale()]
