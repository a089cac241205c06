"""An engine that keeps what was done: a command that was stopped goes on where it was.

Every result stands in a folder beside the output under its content address: the worker, the task, the files that are
named and the version of rejoinder. A file that was torn is no result. The folder goes when the output is written.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

import rejoinder
from rejoinder.engines.base import Engine, FailureCounts, TaskResult, WorkerSpec
from rejoinder.errors import InputError, RunError, SpecError

_DIGEST_SIZE = 16


class CachingEngine:
    """Another engine, and a folder; ``files`` are names that workers read, whose change makes all results others."""

    def __init__(self, engine: Engine, folder: Path, files: Iterable[str] = ()) -> None:
        self._engine, self._folder = engine, folder
        self._files = [_file_stamp(name) for name in files]

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._engine.name

    @property
    def workers(self) -> int:
        """Those of the engine."""
        return self._engine.workers

    @property
    def counts(self) -> FailureCounts:
        """Those of the engine."""
        return self._engine.counts

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Every task: what is kept as it stands, the others by the engine."""
        named = ((number, task, self._place(work, task)) for number, task in enumerate(tasks))
        for number, task, path in named:
            if (found := _read_result(path)) is None:
                yield from self._compute(work, itertools.chain([(number, task, path)], named))
                return
            yield TaskResult(number, found[0])

    def _compute(self, work: WorkerSpec, named: Iterable[tuple[int, Any, Path]]) -> Iterator[TaskResult]:
        kept: deque[tuple[int, Path]] = deque()
        asked: dict[int, tuple[int, Path]] = {}
        count = itertools.count()

        def missing() -> Iterator[Any]:
            for number, task, path in named:
                if _read_result(path) is None:
                    asked[next(count)] = number, path
                    yield task
                else:
                    kept.append((number, path))

        def drained() -> Iterator[TaskResult]:
            while kept:
                number, path = kept.popleft()
                yield TaskResult(number, (_read_result(path) or _raise_missing(path))[0])

        for outcome in self._engine.compute(work, missing()):
            number, path = asked.pop(outcome.number)
            _write_result(path, outcome.value)
            yield from drained()
            yield TaskResult(number, outcome.value)
        yield from drained()

    def value(self, work: WorkerSpec, task: Any, compute: Callable[[Any], Any]) -> Any:
        """The result of one task, as it is kept or else computed here."""
        path = self._place(work, task)
        if (found := _read_result(path)) is None:
            found = [compute(task)]
            _write_result(path, found[0])
        return found[0]

    def _place(self, work: WorkerSpec, task: Any) -> Path:
        whole = [rejoinder.__version__, self._files, work.address or work.maker, list(work.given), task]
        try:
            raw = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a file's name that is not UTF-8
            raw = json.dumps(whole, sort_keys=True).encode()
        address = hashlib.sha256(raw).hexdigest()
        return self._folder / address[:2] / address[2:]


@contextmanager
def caching_engine(engine: Engine, out: str | Path | None, files: Iterable[str] = ()) -> Iterator[Engine]:
    """An engine that keeps what it does beside an output file; without one (or to standard output), as it is."""
    if out is None or str(out) == "-":
        yield engine
        return
    folder = Path(out).with_name(f".{Path(out).name}.kept")
    try:
        yield CachingEngine(engine, folder, files)
    except (InputError, SpecError):  # nothing can go on from here: leave no trace
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _file_stamp(name: str) -> list[Any]:
    """A file as it is now."""
    try:
        about = os.stat(name)
    except (OSError, ValueError):
        return [name]
    return [os.path.realpath(name), about.st_size, about.st_mtime_ns]


def _read_result(path: Path) -> list[Any] | None:
    """What is kept, in a list of one; None where nothing is, or not whole."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    return [orjson.loads(raw[_DIGEST_SIZE:])] if _digest(raw[_DIGEST_SIZE:]) == raw[:_DIGEST_SIZE] else None


def _raise_missing(path: Path) -> list[Any]:
    raise RunError(f"{path}: was taken away while it was read; run the same command again")


def _write_result(path: Path, value: Any) -> None:
    payload = orjson.dumps(value)
    part = path.with_name(f".{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(_digest(payload) + payload)
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise RunError(
            f"{path.parent.parent}: results cannot be kept there ({error.strerror}); free some space"
        ) from None


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_DIGEST_SIZE).digest()
