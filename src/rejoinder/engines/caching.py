"""An engine that caches results: a command that was interrupted continues where it stopped.

Every result is stored in a folder beside the output under its content address: the worker, the task, the files it
reads and the version of rejoinder. Incomplete files are ignored. The folder is deleted when the output is written.
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
    """Another engine with a folder of results; if one of ``files``, which workers read, changes, nothing is reused."""

    def __init__(self, engine: Engine, folder: Path, files: Iterable[str] = ()) -> None:
        self._engine, self._folder = engine, folder
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
        numbered = ((number, task, self._result_path(work, task)) for number, task in enumerate(tasks))
        for number, task, path in numbered:
            if (cached := _read_result(path)) is None:
                yield from self._compute(work, itertools.chain([(number, task, path)], numbered))
                return
            yield TaskResult(number, cached[0])

    def _compute(self, work: WorkerSpec, numbered: Iterable[tuple[int, Any, Path]]) -> Iterator[TaskResult]:
        cached: deque[tuple[int, Path]] = deque()
        pending: dict[int, tuple[int, Path]] = {}
        count = itertools.count()

        def list_missing() -> Iterator[Any]:
            for number, task, path in numbered:
                if _read_result(path) is None:
                    pending[next(count)] = number, path
                    yield task
                else:
                    cached.append((number, path))

        def yield_cached() -> Iterator[TaskResult]:
            while cached:
                number, path = cached.popleft()
                yield TaskResult(number, (_read_result(path) or _raise_missing(path))[0])

        for result in self._engine.compute(work, list_missing()):
            number, path = pending.pop(result.number)
            _write_result(path, result.value)
            yield from yield_cached()
            yield TaskResult(number, result.value)
        yield from yield_cached()

    def value(self, work: WorkerSpec, task: Any, compute: Callable[[Any], Any]) -> Any:
        """Return the result of one task, cached or computed here."""
        path = self._result_path(work, task)
        if (cached := _read_result(path)) is None:
            cached = [compute(task)]
            _write_result(path, cached[0])
        return cached[0]

    def _result_path(self, work: WorkerSpec, task: Any) -> Path:
        whole = [rejoinder.__version__, self._files, work.address or work.factory, list(work.arguments), task]
        try:
            raw = orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a file name that is not UTF-8
            raw = json.dumps(whole, sort_keys=True).encode()
        address = hashlib.sha256(raw).hexdigest()
        return self._folder / address[:2] / address[2:]


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


def _file_stamp(name: str) -> list[Any]:
    """Return a file's path, size and time of change."""
    try:
        about = os.stat(name)
    except (OSError, ValueError):
        return [name]
    return [os.path.realpath(name), about.st_size, about.st_mtime_ns]


def _read_result(path: Path) -> list[Any] | None:
    """Return a cached result, in a list of one; None if there is none, or it is incomplete."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    return [orjson.loads(raw[_DIGEST_SIZE:])] if _digest(raw[_DIGEST_SIZE:]) == raw[:_DIGEST_SIZE] else None


def _raise_missing(path: Path) -> list[Any]:
    raise RunError(f"{path}: was deleted while the command was running; run the same command again")


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
            f"{path.parent.parent}: results cannot be written there ({error.strerror}); free some space"
        ) from None


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_DIGEST_SIZE).digest()
