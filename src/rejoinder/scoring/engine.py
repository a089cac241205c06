"""The local engine: chunks of a run computed in this process or in several, with a bounded number under way."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import RunError
from rejoinder.scoring.column import Column, Kept, columns_of, keep
from rejoinder.scoring.intake import DataFile
from rejoinder.scoring.store import Store

Where = list[tuple[int, int]]


@dataclass(frozen=True)
class Job:
    """All that a worker needs to know, in strings that any process can read."""

    data: Path
    store: Path
    specs: tuple[str, ...]
    matched: bool


@dataclass(frozen=True)
class Done:
    """A computed chunk: where each column's values are, and the seconds that each took."""

    number: int
    size: int
    kept: tuple[Kept, ...]
    seconds: tuple[float, ...]


class Worker:
    """Computes chunks of one job; metrics are made once and stay."""

    def __init__(self, job: Job) -> None:
        self._data = DataFile(job.data)
        self._store = Store(job.store)
        self._columns: list[Column] = columns_of(job.specs, job.matched)

    def compute(self, number: int, where: Where) -> Done:
        """All columns of one chunk."""
        pairs = self._data.pairs(where)
        kept, seconds = [], []
        for column in self._columns:
            begun = time.perf_counter()
            kept.append(keep(column, pairs, self._store))
            seconds.append(time.perf_counter() - begun)
        return Done(number, len(pairs), tuple(kept), tuple(seconds))

    def close(self) -> None:
        """Let go of the data file."""
        self._data.close()


_worker: Worker | None = None


def _start(job: Job, processes: int) -> None:
    global _worker
    # Models compute with several threads each: together the workers take the cores once.
    os.environ.setdefault("REJOINDER_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(job)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _compute(number: int, where: Where) -> Done:
    if _worker is None:
        raise RuntimeError("a worker was asked to compute before it was started")
    return _worker.compute(number, where)


def compute(job: Job, chunks: Sequence[range], where: Callable[[range], Where], processes: int) -> Iterator[Done]:
    """Every chunk of a run, in the order in which they are done."""
    if min(processes, len(chunks)) <= 1:
        worker = Worker(job)
        try:
            for number, chunk in enumerate(chunks):
                yield worker.compute(number, where(chunk))
        finally:
            worker.close()
    else:
        yield from _in_processes(job, chunks, where, min(processes, len(chunks)))


def _in_processes(job: Job, chunks: Sequence[range], where: Callable[[range], Where], processes: int) -> Iterator[Done]:
    # "spawn" and not "fork": a forked process that inherits threads (of a model, of a progress bar) may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=(job, processes))
    waiting = enumerate(chunks)
    under_way: set[Future[Done]] = set()
    try:
        while True:
            for number, chunk in waiting:
                under_way.add(pool.submit(_compute, number, where(chunk)))
                if len(under_way) >= 3 * processes:
                    break
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        raise RunError(
            "a worker process died (out of memory, or killed); what it had done is kept: "
            "run the same command again, with fewer --processes if memory is short"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
