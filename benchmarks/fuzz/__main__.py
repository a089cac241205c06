"""``python -m benchmarks.fuzz 20000`` tries 20,000 damaged files and says how they ended.

Some go to ``score``, where no number may change, the others to every command that reads a file. ``python -m
benchmarks.fuzz commands 39`` tries one of them again.
"""

from __future__ import annotations

import collections
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.fuzz import commands, readers
from benchmarks.fuzz.inputs import make_inputs
from rejoinder.data.writer import encode_record

KINDS = {"readers": readers.try_seeds, "commands": commands.try_seeds}
_READERS = 0.6  # of all files; a command takes about three times as long


def _work(kind: str, seeds: Sequence[int]) -> tuple[str, collections.Counter[str], list[str]]:
    return kind, *KINDS[kind](seeds)


def main(n: int) -> None:
    """Try ``n`` files on all cores: some with ``score``, where no number may change, the others with every command."""
    cores = os.cpu_count() or 1
    share = round(n * _READERS)
    shares = {"readers": share, "commands": n - share}
    tasks = [(kind, range(i, total, cores * 4)) for kind, total in shares.items() for i in range(cores * 4)]
    ended: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    wrong: list[str] = []
    with ProcessPoolExecutor(cores) as pool:
        for kind, counts, found in pool.map(_work, *zip(*(task for task in tasks if task[1]), strict=True)):
            ended[kind] += counts
            wrong += found
    for kind, total in shares.items():
        print(f"{total:,} damaged files for {kind}: {dict(ended[kind])}")
    print(f"{len(wrong)} complaints; run one again with: python -m benchmarks.fuzz KIND SEED", *wrong[:40], sep="\n")
    sys.exit(1 if wrong else 0)


def replay(kind: str, seed: int) -> None:
    """Try one seed again, say what its command printed, and leave its files where they can be looked at."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    if kind == "commands":
        inputs, target = folder / "inputs", folder / "work"
        for one in (inputs, target):
            one.mkdir()
        make_inputs(inputs)
        case, how = commands.prepare(seed, inputs, target)
        ended, told = commands.run_case(case, target)
        print(f"cd {target} && rejoinder {case.words}", f"damage: {how}", *told, sep="\n")
    else:
        path = folder / "mutated.jsonl"
        path.write_bytes(readers.mutate(b"".join(map(encode_record, readers.seed_records())), seed))
        ended = readers.run_command(path, folder / "out")
        print(f"rejoinder score {path}")
    print(f"status {ended.status}", ended.out[-2000:], ended.err, ended.crash, sep="\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [("readers" | "commands") as kind, seed]:
            replay(kind, int(seed))
        case [n]:
            main(int(n))
        case _:
            main(1000)
