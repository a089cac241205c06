"""Indexes of shards over made-up turns: what building and asking cost a turn at 100,000 and at many more.

``python -m benchmarks.indexes 10000000`` says it for as many turns as are named; everything is computed by one process.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.synthetic import sentences
from rejoinder.data.shards.files import shards_of
from rejoinder.data.writer import write
from rejoinder.models.base import Side, TokenVectors
from rejoinder.types import Dialogue, Turn

FEW, MANY = 100_000, 1_000_000
DENSE = 5  # one turn in so many has a vector: they take most of the room
TURNS_A_DIALOGUE, TURNS_A_FILE = 5, 250_000
POOL, NAMES = 20_000, 300_000
QUERIES, K = 40, 5
MOST_GIGABYTES, MOST_TIMES = 3.0, 1.15
_ALONE = """
import sys
from benchmarks.indexes import alone
alone(*sys.argv[1:])
"""


def dialogues(begin: int, end: int) -> Iterator[Dialogue]:
    """Dialogues that depend on nothing but their number: two halves of sentences a turn, and now and then a name."""
    pool = [text.split() for text in sentences(POOL)]
    heads = [" ".join(words[: len(words) // 2]) for words in pool]
    tails = [" ".join(words[len(words) // 2 :]) for words in pool]
    for number in range(begin, end):
        random = np.random.default_rng(number)
        places = random.integers(0, POOL, (TURNS_A_DIALOGUE, 2)).tolist()
        names = (NAMES ** random.random(TURNS_A_DIALOGUE)).astype(int).tolist()  # few are common, most are rare
        turns = tuple(
            Turn(
                f"{heads[head]} n{name} {tails[tail]}" if name % 4 == 0 else f"{heads[head]} {tails[tail]}", "AB"[i % 2]
            )
            for i, ((head, tail), name) in enumerate(zip(places, names, strict=True))
        )
        yield Dialogue(f"d{number * 2654435761 % 2**32}", turns, split="test" if number % 10 == 0 else "train")


def write_files(folder: Path, turns: int) -> Path:
    """So many turns in data files."""
    step = TURNS_A_FILE // TURNS_A_DIALOGUE
    for number, begin in enumerate(range(0, turns // TURNS_A_DIALOGUE, step)):
        end = min(begin + step, turns // TURNS_A_DIALOGUE)
        write(dialogues(begin, end), folder / f"{number:05}.jsonl")
    return folder


class Drawn:
    """An encoder that takes no time: a text has one of some drawn vectors."""

    name, digest, dimensions, max_tokens = "drawn", "1", 384, 256

    def __init__(self) -> None:
        vectors = np.random.default_rng(0).standard_normal((2**14, self.dimensions), np.float32)
        self._vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode(self, texts: Sequence[str], cut: Side = "right") -> NDArray[np.float32]:
        places = [zlib.crc32(text.encode()) % len(self._vectors) for text in texts]
        return np.asarray(self._vectors[places], np.float32)

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        raise NotImplementedError

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def alone(kind: str, data: str, folder: str) -> None:
    """Build an index and ask it, in a process of its own; prints what that took."""
    import resource

    from rejoinder.indexes.sharded.bm25 import ShardedBm25Index
    from rejoinder.indexes.sharded.dense import ShardedDenseIndex
    from rejoinder.models.encoder import factory

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    drawn = Drawn()
    factory.load_encoder = lambda name, cache=True: drawn
    shards = shards_of(data)
    begun, wall = time.process_time(), time.perf_counter()
    index: Any = (
        ShardedBm25Index.build(shards, folder)
        if kind == "bm25"
        else ShardedDenseIndex.build(shards, folder, drawn, precision="float16")
    )
    built, waited, held = time.process_time() - begun, time.perf_counter() - wall, peak()
    queries = [turn.text for dialogue in dialogues(0, QUERIES) for turn in dialogue.turns[:1]]
    index.search(queries[:1], K)
    begun = time.process_time()
    for query in queries:
        index.search([query], K)
    asked = (time.process_time() - begun) / len(queries)
    begun = time.process_time()
    index.search(queries, K)
    together = (time.process_time() - begun) / len(queries)
    print("DONE" + json.dumps([len(index), index.shards, built, waited, held, asked, together, peak()]))


def costs(kind: str, turns: int, folder: Path) -> dict[str, float]:
    """What an index over so many turns takes, by name."""
    data = write_files(folder / f"data-{turns}", turns)
    target = folder / f"{kind}-{turns}"
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, kind, str(data), str(target)], capture_output=True, text=True, check=True
    )
    n, shards, built, waited, held, asked, together, peak = json.loads(done.stdout.rpartition("DONE")[2])
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    for used in (data, target):
        shutil.rmtree(used)
    return {
        "turns": n,
        "shards": shards,
        "microseconds a turn": built / n * 1e6,
        "seconds": waited,
        "gigabytes while building": held,
        "bytes a turn": size / n,
        "milliseconds a query": asked * 1e3,
        "milliseconds a query of many": together * 1e3,
        "gigabytes": peak,
    }


def measure(turns: int = MANY) -> list[dict[str, Any]]:
    """Building and asking at 100,000 turns and at as many as are named."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        for kind, many in (("bm25", turns), ("dense", max(2 * FEW, turns // DENSE))):
            few, more = (costs(kind, n, Path(name)) for n in (FEW, many))
            found += _entries(kind, few, more)
    return found


def _entries(kind: str, few: dict[str, float], more: dict[str, float]) -> list[dict[str, Any]]:
    """The entries of a kind."""
    what = f"{more['turns']:,} turns in {more['shards']} shards by {kind}"
    each = "microseconds a turn"
    asked = f"{few['milliseconds a query']:.2f} ms at {few['turns']:,}"
    return [
        {
            "name": f"indexing {what} ({more['seconds']:.0f} s, {more['bytes a turn']:.0f} bytes a turn on disk)",
            "value": round(more[each], 2),
            "unit": "us/turn",
            "against": f"{few[each]:.2f} us at {few['turns']:,} turns",
            "ratio": round(more[each] / few[each], 3),
            "floor": MOST_TIMES,
            "at_most": True,
        },
        {
            "name": f"peak memory of indexing and searching {what}",
            "value": round(more["gigabytes"], 3),
            "unit": "GB",
            "against": f"at most {MOST_GIGABYTES:g} GB; {more['gigabytes while building']:.3f} GB of it for indexing",
            "ratio": round(more["gigabytes"] / MOST_GIGABYTES, 3),
            "floor": 1.0,
            "at_most": True,
        },
        {
            "name": f"finding the nearest {K} of {what}",
            "value": round(more["milliseconds a query"], 2),
            "unit": "ms/query",
            "against": f"{asked}; {more['milliseconds a query of many']:.2f} ms when {QUERIES} are asked together",
            "ratio": None,
            "floor": None,
        },
    ]


if __name__ == "__main__":
    for entry in measure(int(sys.argv[1]) if len(sys.argv) > 1 else MANY):
        print(entry)
