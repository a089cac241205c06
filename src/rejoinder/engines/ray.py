"""The Ray engine: tasks flow through Ray Data to the processes of a Ray cluster, in windows that bound the memory here.

Workers stay: Ray keeps its processes between tasks and windows, and each keeps the worker that it made. Ray gives the
tasks of a process or a node that died to others, a few times; what it could not make good is asked again here, and no
result counts twice. Needs rejoinder on every node, and files where every node sees them.
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

MAX_ATTEMPTS = 6  # times that a task is begun: it may be what kills the processes


class AttemptCounter:
    """Counts beginnings by flow and number; an actor on the driver's node."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[str, int]] = Counter()

    def begin(self, flow: str, number: int) -> int:
        """How often a task was begun, this time included."""
        self._begun[flow, number] += 1
        return self._begun[flow, number]

    def end(self, flow: str) -> None:
        """Forget a flow."""
        for key in [key for key in self._begun if key[0] == flow]:
            del self._begun[key]


def start_attempt_counter(ray: Any) -> Any:
    """The actor, where it lives as long as the driver."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)(AttemptCounter)
    return kind.remote()


_WINDOW_TASKS = 64  # of a window, for each worker
_MIN_WINDOW_TASKS = 256  # of a window
_FIRST_WINDOW_TASKS = 16  # of the first, for each worker: it shows how long a task takes
_WINDOW_BYTES = 64 * 2**20  # of a window's tasks
_MAX_RETRIES = 3  # flows for one window without any result
_SHORT_SECONDS = (
    0.5  # seconds: tasks that take less go out together, for Ray needs some hundredths of a second for each
)
_MAX_BATCH = 32  # tasks at most
_Tasks = dict[int, bytes]
_Row = tuple[int, bytes, str, int]  # number, result, what is wrong, times begun


class RayEngine:
    """A cluster by its address ("auto" for the one that this machine belongs to), or one that is started here."""

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._ray = connect_ray(workers, address)
        self.counts = FailureCounts(None, 0)  # what died is Ray's affair, and it does not tell
        self._account = start_attempt_counter(self._ray)
        self._most = workers
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Every task, in the order in which they are done."""
        made = orjson.dumps([work.maker, list(work.given), os.getcwd()])
        asked = TaskContext(made, self._account, uuid.uuid4().hex, _worker_environment())
        together = 1
        most = max(_MIN_WINDOW_TASKS, _WINDOW_TASKS * self.workers)
        for window in _windows(tasks, _FIRST_WINDOW_TASKS * self.workers, most):
            size, begun = len(window), time.perf_counter()
            yield from self._window(asked, window, together)
            # What the one who takes the results does meanwhile counts too: then tasks seem longer, and go out singly.
            each = (time.perf_counter() - begun) * self.workers / size
            together = max(1, min(_MAX_BATCH, int(_SHORT_SECONDS / each), size // (4 * self.workers)))
        self._account.end.remote(asked.flow)

    def _window(self, asked: TaskContext, missing: _Tasks, together: int) -> Iterator[TaskResult]:
        """Every task of a window; what a flow lost is asked again."""
        failed, reason = 0, Exception("results were lost")
        while missing:
            before = len(missing)
            try:
                for number, value, error, times in self._flow(asked, missing, together):
                    if number in missing:
                        if error:
                            raise _rebuild_error(error)
                        del missing[number]
                        self.counts.retries = (self.counts.retries or 0) + times - 1
                        yield TaskResult(number, orjson.loads(value))
            except self._ray.exceptions.RayError as problem:
                reason = problem
            failed = failed + 1 if len(missing) == before else 0
            if failed > _MAX_RETRIES:
                raise _cluster_error(reason)

    def _flow(self, asked: TaskContext, tasks: _Tasks, together: int) -> Iterator[_Row]:
        """The results of tasks from one flow of Ray Data; one that failed says why instead."""
        from ray.data import DataContext, TaskPoolStrategy

        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        rows = [{"number": number, "task": task} for number, task in tasks.items()]
        flow = self._ray.data.from_items(rows, override_num_blocks=-(-len(rows) // together)).map_batches(
            compute_batch,
            fn_kwargs={"asked": asked},
            batch_size=together,
            num_cpus=1,
            compute=TaskPoolStrategy(self._most),
        )
        for batch in flow.iter_batches(batch_size=None, prefetch_batches=0):
            for number, value, error, times in zip(*(batch[name] for name in _COLUMNS), strict=True):
                yield int(number), bytes(value), str(error), int(times)


def _windows(tasks: Iterable[Any], first: int, most: int) -> Iterator[_Tasks]:
    """The tasks by number, some at a time; fewer at first."""
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
    """What a flow's tasks need: how a worker is made, and where beginnings are counted under which name.

    Variables travel here and not in Ray's runtime environment, which it writes into logs that everybody can read.
    """

    made: bytes
    account: Any
    flow: str
    environment: Mapping[str, str] = field(repr=False)


def _worker_environment() -> dict[str, str]:
    """The variables that a worker may read."""
    return {name: value for name, value in os.environ.items() if name.startswith(_WORKER_VARIABLES)}


_COLUMNS = ("number", "value", "error", "times")
_LETHAL_MESSAGE = (
    "a process died {} times over the same task (out of memory, or killed); what was done is kept: run the same "
    "command again, with more memory for each process"
)
_WORKER_VARIABLES = (
    "REJOINDER_CACHE",
    "REJOINDER_DATA",
    "REJOINDER_DEVICE",
    "REJOINDER_JUDGE_",
    "REJOINDER_MIRROR",
    "REJOINDER_THREADS",
)
_made: tuple[bytes, Mapping[str, str], Worker] | None = None


def compute_batch(batch: dict[str, Any], asked: TaskContext) -> dict[str, Any]:
    """Results of tasks, on some node; the worker is that of the process, made with the first task."""
    rows = [
        _compute_row(int(number), bytes(task), asked)
        for number, task in zip(batch["number"], batch["task"], strict=True)
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}


def _compute_row(number: int, task: bytes, asked: TaskContext) -> _Row:
    import ray

    times = int(ray.get(asked.account.begin.remote(asked.flow, number)))
    if times > MAX_ATTEMPTS:
        return number, b"", f"RunError {_LETHAL_MESSAGE.format(times - 1)}", times
    try:
        return number, orjson.dumps(_get_worker(asked).compute(orjson.loads(task))), "", times
    except RejoinderError as problem:
        return number, b"", f"{type(problem).__name__} {problem}", times
    except Exception:  # our bug: it is told as such, and not by Ray at length
        return number, b"", f"RuntimeError on a node: {traceback.format_exc()}", times


def _get_worker(asked: TaskContext) -> Worker:
    global _made
    if _made is None or _made[:2] != (asked.made, asked.environment):
        if _made is not None:
            _made[2].close()
            _made = None
        os.environ.update(asked.environment)
        os.environ.setdefault("REJOINDER_THREADS", "1")
        maker, given, folder = orjson.loads(asked.made)
        with contextlib.suppress(OSError):  # names of files mean the same here as where they were typed
            os.chdir(folder)
        _made = asked.made, asked.environment, WorkerSpec(maker, tuple(given)).worker()
    return _made[2]


def _rebuild_error(error: str) -> Exception:
    """What was raised on some node: a user's error of its kind, or a bug of ours."""
    name, _, text = error.partition(" ")
    if name == "RuntimeError":
        return RuntimeError(text)
    kind = getattr(errors, name, RejoinderError)
    return RejoinderError(text) if kind is errors.MissingExtraError else kind(text)


def _cluster_error(problem: BaseException) -> RunError:
    reason = " ".join(str(problem).split())[:300]
    return RunError(f"the Ray cluster could not go on ({reason}); what was done is kept: run the same command again")
