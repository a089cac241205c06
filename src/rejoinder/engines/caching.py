"""An engine that caches results: a command that was interrupted continues where it stopped.

Every result is stored in a folder beside the output under its content address: the worker, the task, the files it
reads and the version of rejoinder. Incomplete files are ignored. The folder is deleted when the output is written.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

import rejoinder
from rejoinder.engines.base import Engine, FailureCounts, TaskResult, Worker, WorkerSpec
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.files import sha256_of_bytes
from rejoinder.keyed_store import FileStore


class CachingEngine:
    """Another engine with a folder of results; if one of ``files``, which workers read, changes, nothing is reused."""

    def __init__(self, engine: Engine, folder: Path, files: Iterable[str] = ()) -> None:
        self._engine, self._folder = engine, folder
        self._results = FileStore(folder, "results", "free some space")
        self._files = [_file_stamp(name) for name in files]

    @property
    def name(self) -> str:
        """The name of the wrapped engine."""
        return self._engine.name

    @property
    def workers(self) -> int:
        """The workers of the wrapped engine."""
        return self._engine.workers

    @property
    def counts(self) -> FailureCounts:
        """The counts of the wrapped engine."""
        return self._engine.counts

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Yield the result of every task, cached or computed by the wrapped engine."""
        numbered = ((number, task, self._address(work, task)) for number, task in enumerate(tasks))
        for number, task, address in numbered:
            if (cached := self._read_result(address)) is None:
                yield from self._compute(work, itertools.chain([(number, task, address)], numbered))
                return
            yield TaskResult(number, cached[0])

    def _compute(self, work: WorkerSpec, numbered: Iterable[tuple[int, Any, str]]) -> Iterator[TaskResult]:
        cached: deque[tuple[int, str]] = deque()
        pending: dict[int, tuple[int, str]] = {}
        count = itertools.count()

        def list_missing() -> Iterator[Any]:
            for number, task, address in numbered:
                if self._read_result(address) is None:
                    pending[next(count)] = number, address
                    yield task
                else:
                    cached.append((number, address))

        def yield_cached() -> Iterator[TaskResult]:
            while cached:
                number, address = cached.popleft()
                yield TaskResult(number, (self._read_result(address) or _raise_missing(self._folder / address))[0])

        for result in self._engine.compute(work, list_missing()):
            number, address = pending.pop(result.number)
            self._write_result(address, result.value)
            yield from yield_cached()
            yield TaskResult(number, result.value)
        yield from yield_cached()

    def replace_engine(self, engine: Engine) -> CachingEngine:
        """Return an engine with the same results, whose other ones another engine computes."""
        other = copy.copy(self)
        other._engine = engine
        return other

    def _read_result(self, address: str) -> list[Any] | None:
        """Return a cached result, in a list of one; None if there is none, or it is incomplete."""
        payload = self._results.get(address)
        return None if payload is None else [orjson.loads(payload)]

    def _write_result(self, address: str, value: Any) -> None:
        self._results.put(address, orjson.dumps(value))

    def _address(self, work: WorkerSpec, task: Any) -> str:
        whole = [rejoinder.__version__, self._files, work.factory, list(work.arguments), task]
        try:
            raw = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a file name that is not UTF-8
            raw = json.dumps(whole, sort_keys=True).encode()
        address = sha256_of_bytes(raw)
        return f"{address[:2]}/{address[2:]}"


@contextmanager
def caching_engine(engine: Engine, out: str | Path | None, files: Iterable[str] = ()) -> Iterator[Engine]:
    """Wrap an engine so that results are cached beside an output file; without one (or for "-"), yield it unchanged."""
    if out is None or str(out) == "-":
        yield engine
        return
    folder = Path(out).with_name(f".{Path(out).name}.kept")
    try:
        yield CachingEngine(engine, folder, files)
    except (InputError, SpecError):  # the command cannot be continued: leave nothing behind
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def compute_here(engine: Engine, worker: Worker) -> Engine:
    """Return an engine of one open worker in this process; results that the other engine has cached are used."""
    local = LocalEngine(open_worker=worker)
    return engine.replace_engine(local) if isinstance(engine, CachingEngine) else local


def _file_stamp(name: str) -> list[Any]:
    """Return a file's path, size and time of change."""
    try:
        about = os.stat(name)
    except (OSError, ValueError):
        return [name]
    return [os.path.realpath(name), about.st_size, about.st_mtime_ns]


def _raise_missing(path: Path) -> list[Any]:
    raise RunError(f"{path}: was deleted while the command was running; run the same command again")
