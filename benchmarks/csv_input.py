"""How long ``rejoinder score`` takes for a CSV compared with the same rows in JSONL.

    python -m benchmarks.csv_input 100000

Both are scored by ``length``, the cheapest metric, so that what is compared is reading. The JSONL file is in our own
schema: an item and a response per row. The runs alternate, and the least processor time of each is printed; the CSV
should take at most 1.3 times as long.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

REPEATS = 3


def write_files(folder: Path, rows: int) -> None:
    """Write the same replies as ``rows.csv`` and ``rows.jsonl``."""
    with (
        (folder / "rows.csv").open("w", newline="", encoding="utf-8") as table,
        (folder / "rows.jsonl").open("wb") as lines,
    ):
        writer = csv.writer(table)
        writer.writerow(["id", "prompt", "response", "model", "expected"])
        for number in range(rows):
            prompt = f"Could you tell me, please, what is on page {number} of the catalogue, and what it costs?"
            reply = f"On page {number} there is a lamp, which costs {number % 90 + 10} euros, and a small table."
            expected = f"A lamp for {number % 90 + 10} euros."
            writer.writerow([number, prompt, reply, "bot", expected])
            item = {"kind": "item", "id": str(number), "context": [{"text": prompt}], "references": [expected]}
            response = {"kind": "response", "item": str(number), "system": "bot", "text": reply}
            lines.write(orjson.dumps(item) + b"\n" + orjson.dumps(response) + b"\n")


def time_score(folder: Path, name: str, run: str) -> float:
    """Return the processor seconds of one command and its processes."""
    command = [sys.executable, "-m", "rejoinder", "score", name, "-m", "length", "--no-cache", "--processes", "1"]
    before = os.times()
    subprocess.run([*command, "-o", run], cwd=folder, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print the least time of each, and their ratio."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, rows)
        times: dict[str, list[float]] = {"rows.csv": [], "rows.jsonl": []}
        for repeat in range(REPEATS):
            for file, seconds in times.items():
                seconds.append(time_score(folder, file, f"{Path(file).suffix[1:]}-{repeat}"))
    best = {file: min(seconds) for file, seconds in times.items()}
    for file, least in best.items():
        print(f"{file}: {least:.2f} s for {rows:,} rows")
    print(f"CSV takes {best['rows.csv'] / best['rows.jsonl']:.2f} times as long as JSONL (at most 1.30)")


if __name__ == "__main__":
    main()
