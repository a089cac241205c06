"""The desk of the API: what is offered, the lanes in which it is computed, and what has been counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rejoinder.errors import RejoinderError
from rejoinder.metric import Metric
from rejoinder.models.device import count_threads
from rejoinder.models.ranker.model import shipped_folder
from rejoinder.probes.occlusion import make_pair
from rejoinder.server.api.batching import BatchFunction, BatchQueue
from rejoinder.server.api.limits import LoadLimits
from rejoinder.server.api.prometheus import RequestCounters
from rejoinder.server.api.request_schemas import request_schemas
from rejoinder.server.api.specs import Offer, is_large
from rejoinder.systems import System


@dataclass
class ApiService:
    """One server's API; ``corpus`` is what references are retrieved from."""

    offer: Offer = field(default_factory=Offer)
    load: LoadLimits = field(default_factory=LoadLimits)
    corpus: str | None = None
    counters: RequestCounters = field(default_factory=RequestCounters)
    under_way: int = 0

    def __post_init__(self) -> None:
        # One thread each: two batches of one metric never run at once, as nothing says that they could.
        self.lanes = {name: BatchQueue(name, self.load) for name in ("metrics", "models", "work")}
        self.lanes["networks"] = BatchQueue("networks", self.load, min(4, count_threads()))
        self._opened: set[str] = set()  # specs of metrics that several threads use
        self._opening = asyncio.Lock()
        self.shapes = request_schemas(self.offer.metrics, self.offer.systems)

    @property
    def default_system(self) -> str:
        """The system that ranks where none is named: the ranker of the package, where it has one."""
        try:
            shipped_folder()
        except RejoinderError:
            return "tfidf"
        return "ranker"

    def lane_of(self, of: Metric | System) -> str:
        """The lane in which a metric or a system is asked.

        What takes a twentieth of a second must not wait behind a large model, which takes up to a minute.
        """
        if isinstance(of, Metric) and of.thread_safe:
            return "networks"
        return "models" if is_large(of) else "metrics"

    async def ask(self, of: Metric | System, what: str, given: Any, rows: int, work: BatchFunction) -> Any:
        """What a metric or a system says, together with what others ask of it at the same time."""
        lane = self.lane_of(of)
        if lane == "networks" and isinstance(of, Metric) and str(of) not in self._opened:
            await self._open(of)
        return await self.lanes[lane].ask((what, str(of)), given, rows, work)

    async def _open(self, metric: Metric) -> None:
        """Open what several threads will use, by one of them: parts of it are made at their first use."""

        def warm_up(requests: list[Any]) -> list[None]:
            metric.score([make_pair(["Hello."], "Hello.", ["Hello."])])
            return [None] * len(requests)

        async with self._opening:
            if str(metric) not in self._opened:
                await self.lanes["metrics"].ask(("open", str(metric)), None, 1, warm_up)
                self._opened.add(str(metric))

    async def do(self, work: BatchFunction, given: Any = None, rows: int = 1, key: object = None) -> Any:
        """Something that takes a while; ``key`` puts equal wishes together."""
        return await self.lanes["work"].ask(key if key is not None else object(), given, rows, work)

    def close(self) -> None:
        """Begin nothing more."""
        for lane in self.lanes.values():
            lane.close()


def split_by_size(sizes: Sequence[int], values: Sequence[Any]) -> list[Sequence[Any]]:
    """What was computed together, cut into what each request asked for."""
    found, start = [], 0
    for size in sizes:
        found.append(values[start : start + size])
        start += size
    return found
