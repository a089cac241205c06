"""An engine that keeps what was done: a command that was stopped goes on where it was.

Every result stands in a folder beside the output under its content address: the worker, the task, the files that are
named and the version of rejoinder. A file that was torn is no result. The folder goes when the output is written.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

import rejoinder
from rejoinder.engines.base import Engine, FailureCounts, TaskResult, WorkerSpec
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.files import sha256_of_bytes
from rejoinder.keyed_store import FileStore


class CachingEngine:
    """Another engine, and a folder; ``files`` are names that workers read, whose change makes all results others."""

    def __init__(self, engine: Engine, folder: Path, files: Iterable[str] = ()) -> None:
        self._engine, self._folder = engine, folder
        self._results = FileStore(folder, "results", "free some space")
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
        for number, task, address in named:
            if (found := self._read_result(address)) is None:
                yield from self._compute(work, itertools.chain([(number, task, address)], named))
                return
            yield TaskResult(number, found[0])

    def _compute(self, work: WorkerSpec, named: Iterable[tuple[int, Any, str]]) -> Iterator[TaskResult]:
        kept: deque[tuple[int, str]] = deque()
        asked: dict[int, tuple[int, str]] = {}
        count = itertools.count()

        def missing() -> Iterator[Any]:
            for number, task, address in named:
                if self._read_result(address) is None:
                    asked[next(count)] = number, address
                    yield task
                else:
                    kept.append((number, address))

        def drained() -> Iterator[TaskResult]:
            while kept:
                number, address = kept.popleft()
                yield TaskResult(number, (self._read_result(address) or _raise_missing(self._folder / address))[0])

        for outcome in self._engine.compute(work, missing()):
            number, address = asked.pop(outcome.number)
            self._write_result(address, outcome.value)
            yield from drained()
            yield TaskResult(number, outcome.value)
        yield from drained()

    def value(self, work: WorkerSpec, task: Any, compute: Callable[[Any], Any]) -> Any:
        """The result of one task, as it is kept or else computed here."""
        address = self._place(work, task)
        if (found := self._read_result(address)) is None:
            found = [compute(task)]
            self._write_result(address, found[0])
        return found[0]

    def _read_result(self, address: str) -> list[Any] | None:
        """Return the result at an address in a list of its own; None where there is none, or it is not whole."""
        payload = self._results.get(address)
        return None if payload is None else [orjson.loads(payload)]

    def _write_result(self, address: str, value: Any) -> None:
        self._results.put(address, orjson.dumps(value))

    def _place(self, work: WorkerSpec, task: Any) -> str:
        whole = [rejoinder.__version__, self._files, work.address or work.maker, list(work.given), task]
        try:
            raw = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a file's name that is not UTF-8
            raw = json.dumps(whole, sort_keys=True).encode()
        address = sha256_of_bytes(raw)
        return f"{address[:2]}/{address[2:]}"


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


def _raise_missing(path: Path) -> list[Any]:
    raise RunError(f"{path}: was removed while it was read; run the same command again")
