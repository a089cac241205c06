"""The service behind the API: what it offers, the queues in which it is computed, and the counters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rejoinder.errors import RejoinderError
from rejoinder.metric import Metric
from rejoinder.models.device import count_threads
from rejoinder.models.ranker.model import shipped_ranker_folder
from rejoinder.probes.occlusion import make_pair
from rejoinder.server.api.batching import BatchFunction, BatchQueue
from rejoinder.server.api.limits import LoadLimits
from rejoinder.server.api.prometheus import RequestCounters
from rejoinder.server.api.specs import ServedSpecs, is_large
from rejoinder.systems import System


@dataclass
class ApiService:
    """The API of one server; ``corpus`` is what references are retrieved from."""

    offer: ServedSpecs = field(default_factory=ServedSpecs)
    load: LoadLimits = field(default_factory=LoadLimits)
    corpus: str | None = None
    counters: RequestCounters = field(default_factory=RequestCounters)
    active_requests: int = 0

    def __post_init__(self) -> None:
        # One thread each: two batches of one metric never run at once, since a metric need not be thread-safe.
        self.queues = {name: BatchQueue(name, self.load) for name in ("metrics", "models", "work", "reading")}
        self.queues["networks"] = BatchQueue("networks", self.load, min(4, count_threads()))
        self._warm_metrics: set[str] = set()  # specs of metrics that several threads use
        self._warm_lock = asyncio.Lock()

    @property
    def default_system(self) -> str:
        """The system that ranks if none is named: the ranker in the package if there is one, else TF-IDF."""
        try:
            shipped_ranker_folder()
        except RejoinderError:
            return "tfidf"
        return "ranker"

    def queue_name(self, scorer: Metric | System) -> str:
        """Return the name of the queue for a metric or a system.

        A call of a twentieth of a second must not wait behind a large model, which takes up to a minute.
        """
        if isinstance(scorer, Metric) and scorer.thread_safe:
            return "networks"
        return "models" if is_large(scorer) else "metrics"

    async def ask(self, scorer: Metric | System, task: str, data: Any, rows: int, work: BatchFunction) -> Any:
        """Compute something with a metric or a system, in one batch with requests that arrive at the same time."""
        queue = self.queue_name(scorer)
        if queue == "networks" and isinstance(scorer, Metric) and str(scorer) not in self._warm_metrics:
            await self._warm_up(scorer)
        return await self.queues[queue].ask((task, str(scorer)), data, rows, work)

    async def _warm_up(self, metric: Metric) -> None:
        """Warm up a metric on one thread before several use it: it loads parts on first use."""

        def score_example(requests: list[Any]) -> list[None]:
            metric.score([make_pair(["Hello."], "Hello.", ["Hello."])])
            return [None] * len(requests)

        async with self._warm_lock:
            if str(metric) not in self._warm_metrics:
                await self.queues["metrics"].ask(("open", str(metric)), None, 1, score_example)
                self._warm_metrics.add(str(metric))

    async def do(
        self, work: BatchFunction, data: Any = None, rows: int = 1, key: object = None, queue: str = "work"
    ) -> Any:
        """Run something that takes a while; requests with the same ``key`` are computed together."""
        return await self.queues[queue].ask(key if key is not None else object(), data, rows, work)

    def close(self) -> None:
        """Start no further work."""
        for queue in self.queues.values():
            queue.close()


def split_by_size(sizes: Sequence[int], values: Sequence[Any]) -> list[Sequence[Any]]:
    """Split values that were computed together into those of each request."""
    parts, start = [], 0
    for size in sizes:
        parts.append(values[start : start + size])
        start += size
    return parts
