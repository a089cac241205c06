"""The local engine: this process, or several on this machine, with a bounded number of tasks under way.

Tasks of a process that died (out of memory, or killed) are given to new ones, a few times; Ctrl-C ends all at once.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from rejoinder.engines.base import FailureCounts, TaskResult, Worker, WorkerSpec
from rejoinder.errors import RunError

_TASKS_PER_WORKER = 3  # tasks for each worker
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MAX_RETRIES = 3  # times that a task is given out again after it was with a process that died
_NumberedTask = tuple[int, Any]


@dataclass(frozen=True)
class LocalEngine:
    """So many processes; one means this one."""

    workers: int = 1
    name: str = "local"
    counts: FailureCounts = field(default_factory=FailureCounts, compare=False, repr=False)

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Every task, in the order in which they are done."""
        if self.workers > 1:
            yield from self._in_processes(work, tasks)
            return
        worker = work.worker()
        try:
            for number, task in enumerate(tasks):
                yield TaskResult(number, worker.compute(task))
        finally:
            worker.close()

    def _in_processes(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        waiting = enumerate(tasks)
        again: deque[_NumberedTask] = deque()
        tried: Counter[int] = Counter()
        while True:
            pool = _Pool(work, self.workers)
            try:
                yield from pool.outcomes(_chain_retries(again, waiting))
            finally:
                pool.end()
            if not pool.lost:
                return
            again.extendleft(sorted(pool.lost, key=lambda one: -one[0]))
            tried.update(number for number, _ in pool.lost)
            self.counts.failures = (self.counts.failures or 0) + 1
            self.counts.retries = (self.counts.retries or 0) + len(pool.lost)
            if (times := max(tried.values())) > _MAX_RETRIES:
                raise RunError(
                    f"a worker process died {times} times over the same tasks (out of memory, or killed); what was "
                    "done is kept: run the same command again, with fewer --processes if memory is short"
                )


def _chain_retries(again: deque[_NumberedTask], waiting: Iterator[_NumberedTask]) -> Iterator[_NumberedTask]:
    while again:
        yield again.popleft()
    yield from waiting


class _Pool:
    """Processes that take tasks until one of them dies: what was under way then is lost."""

    def __init__(self, work: WorkerSpec, workers: int) -> None:
        # "spawn" and not "fork": a forked process that inherits threads (of a model, of a progress bar) may hang.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start_process, initargs=(work, workers)
        )
        self._workers = workers
        self._most = _TASKS_PER_WORKER * workers
        self._tasks: dict[Future[TaskResult], _NumberedTask] = {}
        self._finished = False
        self.lost: list[_NumberedTask] = []

    def outcomes(self, tasks: Iterator[_NumberedTask]) -> Iterator[TaskResult]:
        """What comes of tasks, which are taken as they are needed."""
        while not self.lost:
            for task in itertools.islice(tasks, self._most - len(self._tasks)):
                if not self._submitted(task):
                    break
            if not self._tasks:
                break
            done, _ = wait(self._tasks, return_when=FIRST_COMPLETED)
            yield from self._taken(done)
        yield from self._taken(list(self._tasks))
        self._finished = not self.lost

    def _submitted(self, task: _NumberedTask) -> bool:
        try:
            with _without_interrupts(), _limit_threads(self._workers):
                self._tasks[self._pool.submit(_compute_task, *task)] = task
        except BrokenProcessPool:
            self.lost.append(task)
        return not self.lost

    def _taken(self, done: Iterable[Future[TaskResult]]) -> Iterator[TaskResult]:
        """The results of futures, as far as their process lived."""
        for future in done:
            task = self._tasks.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                self.lost.append(task)
            else:
                yield outcome

    def end(self) -> None:
        """End the processes; at once, whatever they are at, where nobody waits for it any more."""
        if not self._finished:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started here never see Ctrl-C: this one does, when they are started, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came: list[int] = []
    usual = signal.getsignal(signal.SIGINT)
    # Blocked, for the processes; and put off here: another thread may take it, and it would be raised in this one.
    handled = usual is not None and threading.current_thread() is threading.main_thread()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if handled:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if handled:
            signal.signal(signal.SIGINT, usual)
    if came and callable(usual):
        usual(came[0], None)


@contextlib.contextmanager
def _limit_threads(processes: int) -> Iterator[None]:
    """Processes that are started here take the cores once, together; numpy's library looks when it is loaded.

    Otherwise each takes all cores, and they wait for each other, spinning: that can take five times as long.
    """
    mine = [name for name in _THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(mine, str(_threads_per_process(processes))))
    try:
        yield
    finally:
        for name in mine:
            del os.environ[name]


def _threads_per_process(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)


_work: WorkerSpec | None = None
_worker: Worker | None = None


def _start_process(work: WorkerSpec, processes: int) -> None:
    global _work
    # Models compute with several threads each: together the workers take the cores once.
    os.environ.setdefault("REJOINDER_THREADS", str(_threads_per_process(processes)))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = work


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _compute_task(number: int, task: Any) -> TaskResult:
    """A task by the worker of this process, made with the first: what is wrong with it is then told like anything."""
    global _worker
    if _worker is None:
        if _work is None:
            raise RuntimeError("a worker was asked to compute before it was started")
        _worker = _work.worker()
    return TaskResult(number, _worker.compute(task))
