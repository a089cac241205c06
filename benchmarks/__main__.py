"""``python -m benchmarks [PART ...]``: run measurements, print them, put them into ``docs/results/bench.json``."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PARTS = (
    "overlap",
    "meteor",
    "statistics",
    "trust",
    "encoding",
    "bertscore",
    "aptness",
    "idk",
    "ssrem",
    "language_model",
    "adaptation",
    "judge",
    "speakers",
    "retrieval",
    "three_field",
    "indexes",
    "ranking",
    "annotation",
    "serving",
    "reply_table",
    "scoring",
    "to_pandas",
    "engines",
    "turns",
)
TARGET = Path(__file__).parent.parent / "docs" / "results" / "bench.json"
LIBRARIES = (
    "rejoinder",
    "numpy",
    "scipy",
    "nltk",
    "rouge-score",
    "sacrebleu",
    "rapidfuzz",
    "torch",
    "sentence-transformers",
    "bert-score",
    "bm25s",
    "rank-bm25",
    "gensim",
)


def verdict(entry: dict[str, Any]) -> str:
    """Whether an entry reaches its floor (or stays under it, where ``at_most`` is set)."""
    if entry.get("floor") is None:
        return ""
    reached = entry["ratio"] <= entry["floor"] if entry.get("at_most") else entry["ratio"] >= entry["floor"]
    return "ok" if reached else "MISSED"


def measured(part: str) -> list[dict[str, Any]] | str:
    """The entries of a part, measured in a process of its own; or why it cannot be measured here.

    A process of its own: its memory and its threads are not those of the parts before it.
    """
    program = (
        "import importlib, json, sys\n"
        "from rejoinder.errors import RejoinderError\n"
        "try:\n"
        f"    found = importlib.import_module('benchmarks.{part}').measure()\n"
        "except RejoinderError as error:\n"
        "    found = str(error)\n"
        "print('MEASURED' + json.dumps(found))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.rpartition("MEASURED")[2])
    return found if isinstance(found, str) else list(found)


def merged(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured before with these entries in the place of their parts' old ones, in the order of PARTS.

    A ratio is of one run of its part, so parts may be measured on different days; each entry says when.
    """
    machine = {
        "name": "machine",
        "value": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "unit": time.strftime("%Y-%m-%d"),
        "against": ", ".join(f"{name} {_version(name)}" for name in LIBRARIES),
        "ratio": None,
        "floor": None,
    }
    before = json.loads(TARGET.read_text()) if TARGET.exists() else []
    new = {entry["part"] for entry in entries}, {entry["name"] for entry in entries}
    kept = [e for e in before if e["name"] != "machine" and e.get("part") not in new[0] and e["name"] not in new[1]]
    found = sorted([*kept, *entries], key=lambda entry: PARTS.index(entry["part"]) if "part" in entry else -1)
    return [machine, *found]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not here"


def main(parts: list[str]) -> int:
    """Measure the parts and write them down; the exit status says whether every floor was reached."""
    entries: list[dict[str, Any]] = []
    for part in parts or PARTS:
        found = measured(part)
        if isinstance(found, str):
            print(f"  left out  {part}: {found}", flush=True)
            continue
        for entry in found:
            sign = "<=" if entry.get("at_most") else ">="
            print(
                f"{verdict(entry):>6}  {entry['name']}: {entry['value']} {entry['unit']} (against {entry['against']}), "
                f"ratio {entry['ratio']} {sign} {entry['floor']}",
                flush=True,
            )
            entries.append({**entry, "part": part, "date": time.strftime("%Y-%m-%d")})
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(merged(entries), indent=1) + "\n")
    return 1 if any(verdict(entry) == "MISSED" for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
