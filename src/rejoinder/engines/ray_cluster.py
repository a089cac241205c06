"""The Ray engine: workers are actors of a Ray cluster, tasks flow through Ray Data.

A worker is made once and stays; Ray keeps as many tasks under way as its memory bears, and gives the tasks of a worker
or a node that died to others. Needs rejoinder on every node, and files where every node sees them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from rejoinder.engines.contract import Outcome, Work, Worker
from rejoinder.errors import MissingExtraError, RunError

_PASSED_ON = ("REJOINDER_CACHE", "REJOINDER_DATA", "PYTHONPATH")


class RayEngine:
    """A cluster by its address ("auto" for the one that this machine belongs to), or one that is started here."""

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._ray = _connected(workers, address)
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def compute(self, work: Work, tasks: Iterable[Any]) -> Iterator[Outcome]:
        """Every task, in the order in which they are done."""
        from ray.data import ActorPoolStrategy, DataContext

        rows = [{"number": number, "task": orjson.dumps(task)} for number, task in enumerate(tasks)]
        if not rows:
            return
        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        workers = min(self.workers, len(rows))
        flow = self._ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(work.maker, orjson.dumps(work.given)),
            batch_size=1,
            num_cpus=1,
            compute=ActorPoolStrategy(size=workers),
        )
        try:
            for batch in flow.iter_batches(batch_size=None, prefetch_batches=0):
                for number, value in zip(batch["number"], batch["value"], strict=True):
                    yield Outcome(int(number), orjson.loads(value))
        except self._ray.exceptions.RayError as error:
            reason = " ".join(str(getattr(error, "cause", None) or error).split())[:300]
            raise RunError(
                f"the Ray cluster could not go on ({reason}); what was done is kept: run the same command again"
            ) from None


class _Actor:
    """A worker on some node."""

    def __init__(self, maker: str, given: bytes) -> None:
        os.environ.setdefault("REJOINDER_THREADS", "1")
        self._worker: Worker = Work(maker, tuple(orjson.loads(given))).worker()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        values = [orjson.dumps(self._worker.compute(orjson.loads(bytes(task)))) for task in batch["task"]]
        return {"number": batch["number"], "value": values}


def _connected(workers: int | None, address: str | None) -> Any:
    """Ray, connected and quiet."""
    os.environ.setdefault("RAY_DEDUP_LOGS", "1")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no network unless asked for by name
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("ray", "ray", "--engine ray") from None
    logging.getLogger("ray").setLevel(logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        return ray
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "runtime_env": {"env_vars": passed}}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=workers or os.cpu_count() or 1, include_dashboard=False, **quiet)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        where = address or "a cluster of this machine"
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"{where}: no Ray cluster answers ({reason}); check --address, or leave it out") from None
    return ray
