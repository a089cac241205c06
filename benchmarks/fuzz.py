"""Mutated input files: each must give a result or one line of error, never a traceback, never a changed number.

``python -m benchmarks.fuzz 20000`` tries 20,000 files and prints how they ended.
"""

from __future__ import annotations

import collections
import contextlib
import gzip
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

from rejoinder import cli
from rejoinder.data.writing import encode
from rejoinder.types import Item, Rating, Record, Reference, Response, Turn

METRICS = ("bleu", "rouge_l", "distinct", "length")
Scores = dict[str, dict[str, float | None]]


def seed_records() -> list[Record]:
    """A small file with every kind of thing in it; its texts are made up here."""
    found: list[Record] = []
    for i in range(3):
        found.append(
            Item(
                f"i{i}",
                (Turn("Is the café open today?", "user"), Turn(f"Let me look, number {i}.", "assistant")),
                (Reference("Yes, until nine."), Reference("It closed an hour ago.", "example")),
                (Turn("Great 👍", "user"),),
                dialogue="d0",
            )
        )
        for system in ("a", "b"):
            found.append(Response(f"i{i}/{system}", f"i{i}", system, f"Yes, it is open until {system} nine {i}."))
            found.append(Rating("ann", "apt", 4.0, f"i{i}/{system}"))
    return found


def _truncate(raw: bytes, r: random.Random) -> bytes:
    return raw[: r.randrange(len(raw))]


def _splice(raw: bytes, r: random.Random) -> bytes:
    a, b, c = sorted(r.randrange(len(raw)) for _ in range(3))
    return raw[:a] + raw[b:c] + raw[a:]


def _random_bytes(raw: bytes, r: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(r.randint(1, 12)):
        changed[r.randrange(len(changed))] = r.randrange(256)
    return bytes(changed)


def _noise(raw: bytes, r: random.Random) -> bytes:
    return r.randbytes(r.randint(0, 400))


def _nest(raw: bytes, r: random.Random) -> bytes:
    depth = r.choice([5, 50, 500, 5_000, 50_000])
    deep = r.choice(["[", '{"a":']) * depth
    where = r.choice([b'"user"', b'"Yes, until nine."', b'"i0"', b"4.0"])
    return raw.replace(where, deep.encode(), 1)


def _huge_line(raw: bytes, r: random.Random) -> bytes:
    return raw.replace(b"open", b"open " * r.choice([10, 1_000, 100_000]), r.randint(1, 3))


def _shuffle_lines(raw: bytes, r: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    r.shuffle(lines)
    return b"".join(lines)


def _repeat_or_drop_lines(raw: bytes, r: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    return b"".join(line * r.choice([1, 1, 1, 0, 2]) for line in lines)


def _zip(raw: bytes, r: random.Random) -> bytes:
    zipped = gzip.compress(raw)
    return r.choice([zipped, _truncate(zipped, r), _random_bytes(zipped, r)])


def _wrong_types(raw: bytes, r: random.Random) -> bytes:
    odd: list[Any] = [None, True, 0, -1.5, 10**400, "", " ", [], {}, [[]], {"text": 1}, "\x00", "x" * 5_000, 1e308]

    def change(value: Any) -> Any:
        if r.random() < 0.06:
            return r.choice(odd)
        if isinstance(value, dict):
            return {(r.choice(["", "txet", k]) if r.random() < 0.02 else k): change(v) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v) for v in value]
        return value

    try:
        return b"".join(json.dumps(change(json.loads(line))).encode() + b"\n" for line in raw.splitlines())
    except (ValueError, RecursionError):
        return raw


MUTATIONS: Sequence[Callable[[bytes, random.Random], bytes]] = (
    _truncate, _splice, _random_bytes, _noise, _nest, _huge_line, _shuffle_lines, _repeat_or_drop_lines, _zip,
    _wrong_types,
)  # fmt: skip


def run_command(path: Path, out: Path) -> tuple[int, str]:
    """``rejoinder score`` in this process: exit status and what it said on the error stream."""
    argv = ["rejoinder", "score", str(path), "-o", str(out), "--processes", "1", "--no-cache"]
    argv += [word for metric in METRICS for word in ("-m", metric)]
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            cli.main()
            return 0, said.getvalue()
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()


def scores_of(out: Path) -> Scores:
    """Every response's scores of a finished run."""
    lines = (json.loads(line) for line in (out / "scores.jsonl").read_text().splitlines())
    return {line["response"]: line["scores"] for line in lines}


def content_of(out: Path) -> dict[str, str]:
    """For every response of a run, the text and the item that its scores depend on."""
    lines = [json.loads(line) for line in (out / "data.jsonl").read_text().splitlines()]
    items = {line["id"]: [line["context"], line.get("references")] for line in lines if line["kind"] == "item"}
    return {r["id"]: json.dumps([r["text"], items[r["item"]]]) for r in lines if r["kind"] == "response"}


def complaint(path: Path, out: Path, truth: Scores, content: dict[str, str]) -> str | None:
    """What is wrong with how a file ended; None where all is well."""
    try:
        status, said = run_command(path, out)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if status == 2:
        return None if said.count("\n") == 1 and said.startswith("rejoinder: ") else f"not one line: {said[:200]!r}"
    if status != 0:
        return f"exit status {status}: {said[:200]!r}"
    unchanged = {name for name, text in content_of(out).items() if content.get(name) == text}
    found = scores_of(out)
    wrong = [name for name in unchanged if found[name] != truth[name]]
    return f"changed numbers: {wrong}" if wrong else None


def try_seeds(seeds: Sequence[int]) -> tuple[collections.Counter[str], list[str]]:
    """One mutated file a seed: how many gave a result, how many an error, and what went wrong."""
    ended: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        raw = b"".join(map(encode, seed_records()))
        path, out = Path(folder) / "mutated.jsonl", Path(folder) / "truth"
        path.write_bytes(raw)
        if run_command(path, out)[0] != 0:
            raise RuntimeError("the unchanged file does not score")
        truth, content = scores_of(out), content_of(out)
        for seed in seeds:
            r = random.Random(seed)
            mutated = raw
            for _ in range(r.choice([1, 1, 1, 2])):
                mutated = r.choice(MUTATIONS)(mutated, r) if mutated else mutated
            path.write_bytes(mutated)
            out = Path(folder) / str(seed)
            found = complaint(path, out, truth, content)
            ended["result" if out.exists() else "one line of error"] += 1
            if found:
                wrong.append(f"seed {seed}: {found}")
    return ended, wrong


def main(n: int) -> None:
    """Try ``n`` files on all cores."""
    cores = os.cpu_count() or 1
    ended: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(cores) as pool:
        for counts, found in pool.map(try_seeds, [range(i, n, cores * 8) for i in range(cores * 8)]):
            ended += counts
            wrong += found
    print(f"{n} mutated files: {dict(ended)}, {len(wrong)} complaints")
    print("\n".join(wrong[:20]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
