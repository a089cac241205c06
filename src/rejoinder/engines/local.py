"""The local engine: this process, or several on this machine, with a bounded number of tasks under way."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from rejoinder.engines.contract import Outcome, Work, Worker
from rejoinder.errors import RunError

_UNDER_WAY = 3  # tasks for each worker


@dataclass(frozen=True)
class LocalEngine:
    """So many processes; one means this one."""

    workers: int = 1
    name: str = "local"

    def compute(self, work: Work, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Every task, in the order in which they are done."""
        if self.workers > 1:
            yield from self._in_processes(work, tasks)
            return
        worker = work.worker()
        try:
            for number, task in enumerate(tasks):
                yield Outcome(number, worker.compute(task))
        finally:
            worker.close()

    def _in_processes(self, work: Work, tasks: Iterable[Any]) -> Iterator[Outcome]:
        # "spawn" and not "fork": a forked process that inherits threads (of a model, of a progress bar) may hang.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_start, initargs=(work, self.workers))
        waiting = enumerate(tasks)
        under_way: set[Future[Outcome]] = set()
        try:
            while True:
                for number, task in waiting:
                    under_way.add(pool.submit(_compute, number, task))
                    if len(under_way) >= _UNDER_WAY * self.workers:
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


_worker: Worker | None = None


def _start(work: Work, processes: int) -> None:
    global _worker
    # Models compute with several threads each: together the workers take the cores once.
    os.environ.setdefault("REJOINDER_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = work.worker()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _compute(number: int, task: Any) -> Outcome:
    if _worker is None:
        raise RuntimeError("a worker was asked to compute before it was started")
    return Outcome(number, _worker.compute(task))
