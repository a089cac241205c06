"""The Ray engine: tasks go through Ray Data to the processes of a Ray cluster, in windows that limit the memory here.

Workers stay: Ray keeps its processes between tasks and windows, and each process keeps its worker. If a process or a
node dies, Ray gives its tasks to others, a few times; tasks that still have no result are submitted again here, and no
result counts twice. Every node needs rejoinder and access to the files.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from rejoinder import errors
from rejoinder.engines.base import FailureCounts, TaskResult, Worker, WorkerSpec
from rejoinder.engines.ray_connection import connect_ray
from rejoinder.errors import RejoinderError, RunError

MAX_ATTEMPTS = 6  # times that a task is started: it may be what kills the processes


class AttemptCounter:
    """Counts how often each task of a flow was started; an actor on the driver's node."""

    def __init__(self) -> None:
        self._starts: Counter[tuple[str, int]] = Counter()

    def begin(self, flow: str, number: int) -> int:
        """Count a start, and return how often the task was started, including this time."""
        self._starts[flow, number] += 1
        return self._starts[flow, number]

    def end(self, flow: str) -> None:
        """Remove the counts of a flow."""
        for key in [key for key in self._starts if key[0] == flow]:
            del self._starts[key]


def start_attempt_counter(ray: Any) -> Any:
    """Start the actor on the driver's node, where it lives as long as the driver."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)(AttemptCounter)
    return kind.remote()


_WINDOW_TASKS = 64  # tasks per window and worker
_MIN_WINDOW_TASKS = 256  # tasks per window
_FIRST_WINDOW_TASKS = 16  # tasks per worker in the first window, which shows how long a task takes
_WINDOW_BYTES = 64 * 2**20  # size of a window's tasks
_MAX_RETRIES = 3  # consecutive flows of one window without any result
# Shorter tasks are sent in batches, since Ray needs some hundredths of a second per batch.
_SHORT_SECONDS = 0.5
_MAX_BATCH = 32  # tasks per batch
_Tasks = dict[int, bytes]
_Row = tuple[int, bytes, str, int]  # number, result, error, times started


class RayEngine:
    """A cluster by its address ("auto" for the one that this machine belongs to), or one that is started here."""

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._ray = connect_ray(workers, address)
        self.counts = FailureCounts(None, 0)  # Ray handles failures itself and does not report them
        self._attempt_counter = start_attempt_counter(self._ray)
        self._max_workers = workers
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Yield the result of every task as it is finished."""
        worker = orjson.dumps([work.factory, list(work.arguments), os.getcwd()])
        task_context = TaskContext(worker, self._attempt_counter, uuid.uuid4().hex, _worker_environment())
        batch_size = 1
        max_tasks = max(_MIN_WINDOW_TASKS, _WINDOW_TASKS * self.workers)
        for window in _windows(tasks, _FIRST_WINDOW_TASKS * self.workers, max_tasks):
            size, start = len(window), time.perf_counter()
            yield from self._window(task_context, window, batch_size)
            # This includes the time that the caller spends between results; then tasks seem longer and are sent singly.
            task_seconds = (time.perf_counter() - start) * self.workers / size
            batch_size = max(1, min(_MAX_BATCH, int(_SHORT_SECONDS / task_seconds), size // (4 * self.workers)))
        self._attempt_counter.end.remote(task_context.flow)

    def _window(self, task_context: TaskContext, missing: _Tasks, batch_size: int) -> Iterator[TaskResult]:
        """Yield the result of every task of a window; tasks that a flow lost are submitted again."""
        failed, reason = 0, Exception("results were lost")
        while missing:
            n_missing = len(missing)
            try:
                for number, value, error, times in self._flow(task_context, missing, batch_size):
                    if number in missing:
                        if error:
                            raise _rebuild_error(error)
                        del missing[number]
                        self.counts.retries = (self.counts.retries or 0) + times - 1
                        yield TaskResult(number, orjson.loads(value))
            except self._ray.exceptions.RayError as problem:
                reason = problem
            failed = failed + 1 if len(missing) == n_missing else 0
            if failed > _MAX_RETRIES:
                raise _cluster_error(reason)

    def _flow(self, task_context: TaskContext, tasks: _Tasks, batch_size: int) -> Iterator[_Row]:
        """Yield the results of tasks from one flow of Ray Data; one that failed has an error instead."""
        from ray.data import DataContext, TaskPoolStrategy

        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        rows = [{"number": number, "task": task} for number, task in tasks.items()]
        flow = self._ray.data.from_items(rows, override_num_blocks=-(-len(rows) // batch_size)).map_batches(
            compute_batch,
            fn_kwargs={"task_context": task_context},
            batch_size=batch_size,
            num_cpus=1,
            compute=TaskPoolStrategy(self._max_workers),
        )
        for batch in flow.iter_batches(batch_size=None, prefetch_batches=0):
            for number, value, error, times in zip(*(batch[name] for name in _COLUMNS), strict=True):
                yield int(number), bytes(value), str(error), int(times)


def _windows(tasks: Iterable[Any], first: int, most: int) -> Iterator[_Tasks]:
    """Yield the tasks by number, one window at a time; the first window is smaller."""
    window: _Tasks = {}
    size = 0
    for number, task in enumerate(tasks):
        window[number] = orjson.dumps(task)
        size += len(window[number])
        if len(window) >= first or size >= _WINDOW_BYTES:
            yield window
            window, size, first = {}, 0, most
    if window:
        yield window


@dataclass(frozen=True)
class TaskContext:
    """What the tasks of a flow need: how to create the worker, the counter of attempts, and the flow's name there.

    Variables are sent here and not in Ray's runtime environment, which Ray writes to logs that anyone can read.
    """

    worker: bytes
    attempt_counter: Any
    flow: str
    environment: Mapping[str, str] = field(repr=False)


def _worker_environment() -> dict[str, str]:
    """Return the environment variables that a worker may read."""
    return {name: value for name, value in os.environ.items() if name.startswith(_WORKER_VARIABLES)}


_COLUMNS = ("number", "value", "error", "times")
_LETHAL_MESSAGE = (
    "a process died {} times on the same task (out of memory, or killed); finished tasks are kept: run the same "
    "command again, with more memory per process"
)
_WORKER_VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "REJOINDER_CACHE",
    "REJOINDER_DATA",
    "REJOINDER_DEVICE",
    "REJOINDER_JUDGE_",
    "REJOINDER_MIRROR",
    "REJOINDER_THREADS",
    "REJOINDER_WEIGHTS",
)
_process_worker: tuple[bytes, Mapping[str, str], Worker] | None = None


def compute_batch(batch: dict[str, Any], task_context: TaskContext) -> dict[str, Any]:
    """Compute a batch of tasks on a node; the process creates its worker with the first task."""
    rows = [
        _compute_row(int(number), bytes(task), task_context)
        for number, task in zip(batch["number"], batch["task"], strict=True)
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}


def _compute_row(number: int, task: bytes, task_context: TaskContext) -> _Row:
    import ray

    times = int(ray.get(task_context.attempt_counter.begin.remote(task_context.flow, number)))
    if times > MAX_ATTEMPTS:
        return number, b"", f"RunError {_LETHAL_MESSAGE.format(times - 1)}", times
    try:
        return number, orjson.dumps(_get_worker(task_context).compute(orjson.loads(task))), "", times
    except RejoinderError as problem:
        return number, b"", f"{type(problem).__name__} {problem}", times
    except Exception:  # a bug of ours: reported as such, without Ray's long traceback
        return number, b"", f"RuntimeError on a node: {traceback.format_exc()}", times


def _get_worker(task_context: TaskContext) -> Worker:
    global _process_worker
    if _process_worker is None or _process_worker[:2] != (task_context.worker, task_context.environment):
        if _process_worker is not None:
            _process_worker[2].close()
            _process_worker = None
        os.environ.update(task_context.environment)
        os.environ.setdefault("REJOINDER_THREADS", "1")
        factory, arguments, folder = orjson.loads(task_context.worker)
        with contextlib.suppress(OSError):  # relative paths mean the same here as on the driver
            os.chdir(folder)
        _process_worker = task_context.worker, task_context.environment, WorkerSpec(factory, tuple(arguments)).worker()
    return _process_worker[2]


def _rebuild_error(error: str) -> Exception:
    """Return the error that was raised on a node: a user's error of its class, or a bug of ours."""
    name, _, text = error.partition(" ")
    if name == "RuntimeError":
        return RuntimeError(text)
    kind = getattr(errors, name, RejoinderError)
    return RejoinderError(text) if kind is errors.MissingExtraError else kind(text)


def _cluster_error(problem: BaseException) -> RunError:
    reason = " ".join(str(problem).split())[:300]
    return RunError(
        f"the Ray cluster could not continue ({reason}); finished tasks are kept: run the same command again"
    )
