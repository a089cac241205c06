"""The local engine: this process, or several on this machine, with a limited number of pending tasks.

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

_TASKS_PER_WORKER = 3  # pending tasks per worker
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MAX_RETRIES = 3  # times that a task is started again after its process died
_NumberedTask = tuple[int, Any]


@dataclass(frozen=True)
class LocalEngine:
    """An engine of ``workers`` processes; 1 means this process, where a worker that is open already is used."""

    workers: int = 1
    name: str = "local"
    counts: FailureCounts = field(default_factory=FailureCounts, compare=False, repr=False)
    open_worker: Worker | None = field(default=None, compare=False, repr=False)

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Yield the result of every task as it is finished."""
        if self.workers > 1:
            yield from self._in_processes(work, tasks)
            return
        worker = self.open_worker or work.worker()
        try:
            for number, task in enumerate(tasks):
                yield TaskResult(number, worker.compute(task))
        finally:
            if worker is not self.open_worker:
                worker.close()

    def _in_processes(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        numbered = enumerate(tasks)
        retries: deque[_NumberedTask] = deque()
        attempts: Counter[int] = Counter()
        while True:
            pool = _Pool(work, self.workers)
            try:
                yield from pool.results(_chain_retries(retries, numbered))
            finally:
                pool.end()
            if not pool.lost:
                return
            retries.extendleft(sorted(pool.lost, key=lambda one: -one[0]))
            attempts.update(number for number, _ in pool.lost)
            self.counts.failures = (self.counts.failures or 0) + 1
            self.counts.retries = (self.counts.retries or 0) + len(pool.lost)
            if (times := max(attempts.values())) > _MAX_RETRIES:
                raise RunError(
                    f"a worker process died {times} times on the same tasks (out of memory, or killed); finished tasks "
                    "are kept: run the same command again, with fewer processes if memory is short"
                )


def _chain_retries(retries: deque[_NumberedTask], numbered: Iterator[_NumberedTask]) -> Iterator[_NumberedTask]:
    while retries:
        yield retries.popleft()
    yield from numbered


class _Pool:
    """Processes that compute tasks until one of them dies: pending tasks are then lost."""

    def __init__(self, work: WorkerSpec, workers: int) -> None:
        # "spawn", not "fork": a forked process that inherits threads (of a model, of a progress bar) may hang.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start_process, initargs=(work, workers)
        )
        self._workers = workers
        self._max_pending = _TASKS_PER_WORKER * workers
        self._tasks: dict[Future[TaskResult], _NumberedTask] = {}
        self._finished = False
        self.lost: list[_NumberedTask] = []

    def results(self, tasks: Iterator[_NumberedTask]) -> Iterator[TaskResult]:
        """Yield the results of tasks, which are consumed as needed."""
        while not self.lost:
            for task in itertools.islice(tasks, self._max_pending - len(self._tasks)):
                if not self._submit(task):
                    break
            if not self._tasks:
                break
            done, _ = wait(self._tasks, return_when=FIRST_COMPLETED)
            yield from self._collect(done)
        yield from self._collect(list(self._tasks))
        self._finished = not self.lost

    def _submit(self, task: _NumberedTask) -> bool:
        try:
            with _without_interrupts(), _limit_threads(self._workers):
                self._tasks[self._pool.submit(_compute_task, *task)] = task
        except BrokenProcessPool:
            self.lost.append(task)
        return not self.lost

    def _collect(self, done: Iterable[Future[TaskResult]]) -> Iterator[TaskResult]:
        """Yield the results of futures; tasks whose process died go to ``lost``."""
        for future in done:
            task = self._tasks.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                self.lost.append(task)
            else:
                yield result

    def end(self) -> None:
        """End the processes; immediately, even during a task, if not all results were consumed."""
        if not self._finished:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C; this process gets it after they have started, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signals: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Blocked for the processes, and postponed here: another thread may receive it, and it would be raised in this one.
    replaces_handler = handler is not None and threading.current_thread() is threading.main_thread()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if replaces_handler:
        signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if replaces_handler:
            signal.signal(signal.SIGINT, handler)
    if signals and callable(handler):
        handler(signals[0], None)


@contextlib.contextmanager
def _limit_threads(processes: int) -> Iterator[None]:
    """Limit the threads of processes started here, so that together they use each core once; numpy reads it on import.

    Otherwise each uses all cores, and they wait for each other in busy loops, which can take five times as long.
    """
    names = [name for name in _THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(names, str(_threads_per_process(processes))))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


def _threads_per_process(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)


_work: WorkerSpec | None = None
_worker: Worker | None = None


def _start_process(work: WorkerSpec, processes: int) -> None:
    global _work
    # Models compute with several threads each: together the workers use each core once.
    os.environ.setdefault("REJOINDER_THREADS", str(_threads_per_process(processes)))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work = work


def _end_with_parent() -> None:
    """End this process with its parent: otherwise it would wait for tasks forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _compute_task(number: int, task: Any) -> TaskResult:
    """Compute a task with the worker of this process, created with the first task so that its errors are reported."""
    global _worker
    if _worker is None:
        if _work is None:
            raise RuntimeError("a task was started before the worker process was initialised")
        _worker = _work.worker()
    return TaskResult(number, _worker.compute(task))
