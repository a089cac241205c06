"""``scores.to_pandas()`` at size: seconds, and memory of the whole process. Run: python -m benchmarks.to_pandas [ROWS]

A run of made-up replies (two turns of context each, four systems) is scored and loaded; only the call itself is timed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.synthetic import write_file

ROWS = 1_000_000
METRICS = ("length", "context_overlap")
_PROGRAM = """
import json, resource, sys, time
import pandas, rejoinder
scores = rejoinder.load(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
frame = scores.to_pandas()
seconds = time.perf_counter() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": seconds, "before": before * 1024, "peak": peak * 1024, "shape": list(frame.shape)}))
"""


def measure(rows: int = ROWS, systems: int = 4) -> list[dict[str, Any]]:
    """Seconds of one call, and the peak memory of a process that loads the run and makes the table."""
    with tempfile.TemporaryDirectory() as name:
        chats, run = write_file(Path(name) / "chats.jsonl", rows, systems, references=1), Path(name) / "run"
        metrics = [word for metric in METRICS for word in ("-m", metric)]
        score = [sys.executable, "-m", "rejoinder", "score", str(chats), *metrics, "-o", str(run), "--no-cache"]
        subprocess.run(score, check=True, capture_output=True)
        done = subprocess.run([sys.executable, "-c", _PROGRAM, str(run)], check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    assert figures["shape"][0] == rows
    limits = {"seconds": 5 * rows / ROWS, "peak": 2e9}
    return [
        {
            "name": f"to_pandas of {rows:,} replies with their texts, {what}",
            "value": round(figures[key] / scale, 3),
            "unit": unit,
            "against": f"at most {limits[key] / scale:g} {unit}",
            "ratio": round(figures[key] / limits[key], 3),
            "floor": 1.0,
            "at_most": True,
        }
        for key, what, scale, unit in (("seconds", "time", 1, "s"), ("peak", "memory of the process", 1e9, "GB"))
    ]


if __name__ == "__main__":
    for entry in measure(*map(int, sys.argv[1:])):
        print(f"{entry['name']}: {entry['value']} {entry['unit']} ({entry['against']})")
