"""Mutated files for ``score``: a result or one line of error, never a traceback, never a changed number."""

from __future__ import annotations

import collections
import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz.commands import error_of, open_files
from benchmarks.fuzz.inputs import META, Ending, run
from rejoinder.data.writer import encode_record
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
                meta=META,
            )
        )
        for system in ("a", "b"):
            found.append(Response(f"i{i}/{system}", f"i{i}", system, f"Yes, it is open until {system} nine {i}.", META))
            found.append(Rating("ann", "apt", 4.0, f"i{i}/{system}", meta=META))
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


def run_command(path: Path, out: Path) -> Ending:
    """``rejoinder score`` in this process."""
    metrics = [word for metric in METRICS for word in ("-m", metric)]
    return run(["score", str(path), "-o", str(out), "--processes", "1", "--no-cache", *metrics])


def scores_of(out: Path) -> Scores:
    """Every response's scores of a finished run."""
    lines = (json.loads(line) for line in (out / "scores.jsonl").read_text().splitlines())
    return {line["response"]: line["scores"] for line in lines}


def content_of(out: Path) -> dict[str, str]:
    """For every response of a run, the text and the item that its scores depend on."""
    lines = [json.loads(line) for line in (out / "data.jsonl").read_text().splitlines()]
    items = {line["id"]: [line["context"], line.get("references")] for line in lines if line["kind"] == "item"}
    return {r["id"]: json.dumps([r["text"], items[r["item"]]]) for r in lines if r["kind"] == "response"}


def complaint(ended: Ending, out: Path, truth: Scores, content: dict[str, str]) -> str | None:
    """What is wrong with how a file ended; None where all is well."""
    if ended.crash:
        return ended.crash
    if ended.status == 2:
        return error_of(ended.err)
    if ended.status != 0:
        return f"exit status {ended.status}: {ended.err[:200]!r}"
    unchanged = {name for name, text in content_of(out).items() if content.get(name) == text}
    found = scores_of(out)
    wrong = [name for name in unchanged if found[name] != truth[name]]
    return f"changed numbers: {wrong}" if wrong else None


def mutate(raw: bytes, seed: int) -> bytes:
    """The file of a seed."""
    r = random.Random(seed)
    for _ in range(r.choice([1, 1, 1, 2])):
        raw = r.choice(MUTATIONS)(raw, r) if raw else raw
    return raw


def try_seeds(seeds: Sequence[int]) -> tuple[collections.Counter[str], list[str]]:
    """One mutated file per seed: how many gave a result, how many an error, and what went wrong."""
    ended: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        raw = b"".join(map(encode_record, seed_records()))
        path, out = Path(folder) / "mutated.jsonl", Path(folder) / "truth"
        path.write_bytes(raw)
        if run_command(path, out).status != 0:
            raise RuntimeError("the unchanged file does not score")
        truth, content = scores_of(out), content_of(out)
        before = open_files()
        for seed in seeds:
            path.write_bytes(mutate(raw, seed))
            out = Path(folder) / str(seed)
            found = complaint(run_command(path, out), out, truth, content)
            ended["result" if out.exists() else "one line of error"] += 1
            shutil.rmtree(out, ignore_errors=True)
            if found:
                wrong.append(f"readers {seed}: {found}")
        if (left := open_files() - before) > 0:
            wrong.append(f"readers {seeds[0]} to {seeds[-1]}: {left} files were left open")
    return ended, wrong
