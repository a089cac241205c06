"""Scoring made-up turns in Parquet shards: what a turn costs at 100,000 and at many more, and the memory it takes.

``python -m benchmarks.turns 10000000`` says it for as many turns as are named and puts it into ``docs/results``; with
``--data FOLDER`` the shards are kept there, and taken from there the next time.
"""

from __future__ import annotations

import functools
import hashlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import resident, tree
from benchmarks.synthetic import sentences
from rejoinder.data.parquet import arrow_schema
from rejoinder.data.shards import manifest
from rejoinder.data.shards.manifest import ShardEntry, ShardManifest

FEW, MANY = 100_000, 1_000_000
TURNS_A_DIALOGUE, TURNS_A_SHARD = 5, 50_000
SYSTEMS = ("north", "south")
METRICS = ("bleu", "rouge_l", "chrf")
POOL = 20_000
MOST_GIGABYTES, MOST_TIMES = 3.0, 1.15
_GROUP = 8_000  # turns a row group


def turns(begin: int, end: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """An item and a response for every turn; they depend on nothing but its number.

    A dialogue's context grows turn by turn; the reference is what was really said, and the response shares its
    beginning, its end or nothing with it.
    """
    pool, heads, tails = _pool()
    said: list[dict[str, Any]] = []
    for number in range(begin, end):
        dialogue, place = divmod(number, TURNS_A_DIALOGUE)
        if place == 0:
            drawn = np.random.default_rng(dialogue).integers(0, POOL, (TURNS_A_DIALOGUE, 3)).tolist()
            said = [{"speaker": "A", "text": pool[drawn[0][2]]}]
        spoken, other, way = drawn[place]
        text = pool[spoken]
        reply = (f"{heads[spoken]} {tails[other]}", f"{heads[other]} {tails[spoken]}", pool[other])[way % 3]
        name = f"d{dialogue}-{place}"
        item = {"kind": "item", "id": name, "context": list(said), "references": [{"text": text}]}
        system = SYSTEMS[dialogue % len(SYSTEMS)]
        response = {"kind": "response", "id": f"{name}/{system}", "item": name, "system": system, "text": reply}
        yield item | {"dialogue": f"d{dialogue}"}, response
        said.append({"speaker": "BA"[place % 2], "text": text})


@functools.cache
def _pool() -> tuple[list[str], list[str], list[str]]:
    """Sentences, their beginnings and their ends."""
    pool = sentences(POOL)
    words = [text.split() for text in pool]
    heads = [" ".join(some[: len(some) // 2 + 1]) for some in words]
    return pool, heads, [" ".join(some[len(some) // 2 + 1 :]) for some in words]


def write_shard(path: Path, begin: int, end: int) -> ShardEntry:
    """Some turns as one Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    ours = arrow_schema()
    with ParquetWriter(path, ours, compression="zstd") as file:
        for first in range(begin, end, _GROUP):
            rows = [row for both in turns(first, min(first + _GROUP, end)) for row in both]
            columns = [pa.array([row.get(one.name) for row in rows], one.type) for one in ours]
            file.write_table(pa.Table.from_arrays(columns, schema=ours))
    n = end - begin
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return ShardEntry(path.name, path.stat().st_size, sha256, {"item": n, "response": n}, -(-n // TURNS_A_DIALOGUE))


def write_shards(folder: Path, n: int) -> Path:
    """So many turns in shards, with their catalogue, unless they are there."""
    if not (folder / manifest.NAME).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        entries = [
            write_shard(folder / f"{number:05}.parquet", begin, min(begin + TURNS_A_SHARD, n))
            for number, begin in enumerate(range(0, n, TURNS_A_SHARD))
        ]
        (folder / manifest.NAME).write_bytes(manifest.encode_manifest(ShardManifest(entries)))
    return folder


def score(data: Path, out: Path, processes: int) -> dict[str, float]:
    """What scoring the shards takes: seconds, processor seconds, gigabytes, bytes of data and of results."""
    command = [sys.executable, "-m", "rejoinder", "score", str(data), "-o", str(out), "--processes", str(processes)]
    command += [word for metric in METRICS for word in ("-m", metric)]
    before, begun, peak = _processor(), time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, sum(map(resident, tree(process.pid))))
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"scoring ended with {process.returncode}")
    found = {"seconds": time.perf_counter() - begun, "processor": _processor() - before, "gigabytes": peak / 1e9}
    about = json.loads((out / "sharded.json").read_bytes())
    found["turns"] = sum(shard["responses"] for shard in about["shards"])
    found["data"] = sum(shard["bytes"] for shard in about["shards"])
    found["results"] = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    shutil.rmtree(out)
    return found


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(many: int = MANY, processes: int = 2, kept: Path | None = None) -> list[dict[str, Any]]:
    """Scoring as many turns as are named, and 100,000 twice before and twice after: the machine may not be quiet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_shards(kept or folder / "many", many)
        little = write_shards(folder / "few", FEW)
        small = [score(little, folder / "run", processes) for _ in range(2)]
        more = score(data, folder / "run", processes)
        small += [score(little, folder / "run", processes) for _ in range(2)]
        few = {key: statistics.median(one[key] for one in small) for key in small[0]}
    return _entries(few, more, processes)


def _entries(few: dict[str, float], more: dict[str, float], processes: int) -> list[dict[str, Any]]:
    n = int(more["turns"])
    what = f"{n:,} turns in Parquet shards with {', '.join(METRICS)}"
    found = []
    for key, called in (("processor", "processor time"), ("seconds", f"time with {processes} processes")):
        each, small = more[key] / n * 1e6, few[key] / few["turns"] * 1e6
        found.append(
            {
                "name": f"scoring {what}: {called} ({more[key]:,.0f} s)",
                "value": round(each, 1),
                "unit": "us/turn",
                "against": f"{small:.1f} us at {int(few['turns']):,} turns",
                "ratio": round(each / small, 3),
                "floor": MOST_TIMES,
                "at_most": True,
            }
        )
    data, results = more["data"] / n, more["results"] / n
    found.append(
        {
            "name": f"peak memory of scoring {what} ({data:.0f} bytes a turn of data, {results:.0f} of results)",
            "value": round(more["gigabytes"], 3),
            "unit": "GB, all processes",
            "against": f"at most {MOST_GIGABYTES:g} GB; {few['gigabytes']:.3f} GB at {int(few['turns']):,} turns",
            "ratio": round(more["gigabytes"] / MOST_GIGABYTES, 3),
            "floor": 1.0,
            "at_most": True,
        }
    )
    return found


def main(given: list[str]) -> None:
    """Measure as many turns as are named, print it, and put it into the results."""
    import argparse

    from benchmarks.__main__ import TARGET, merged

    parser = argparse.ArgumentParser(prog="benchmarks.turns")
    parser.add_argument("turns", type=int, nargs="?", default=MANY)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(given)
    entries = measure(asked.turns, asked.processes, asked.data)
    for entry in entries:
        print(entry)
    dated = [{**entry, "part": "turns", "date": time.strftime("%Y-%m-%d")} for entry in entries]
    TARGET.write_text(json.dumps(merged(dated), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
