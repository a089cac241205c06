"""A batch queue: requests that ask for the same thing are combined into one call on a worker thread.

A request that is alone starts at once. If the previous batch held several requests, the next one waits a little for
others, at most a tenth of the time that batch took: clients that were answered together tend to return together.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from rejoinder.server.api.limits import LoadLimits

BatchFunction: TypeAlias = Callable[[list[Any]], Sequence[Any]]
_MAX_REMEMBERED = 256  # keys whose latest batch is stored
_FEW_REQUESTS = 4  # too few requests to be divided among threads


class _LatestBatch(NamedTuple):
    """The latest batch of a key: how many requests it held, and how long it took."""

    requests: int
    seconds: float


class QueueFullError(Exception):
    """The queue is full."""


@dataclass(eq=False)
class _WaitingRequest:
    """One request: its data, how many rows that is, and where its answer goes."""

    data: Any
    rows: int
    answer: asyncio.Future[Any]


class BatchQueue:
    """Requests that wait for a thread, grouped by what they ask for; idle threads share them evenly."""

    def __init__(self, name: str, load: LoadLimits, threads: int = 1) -> None:
        self.name = name
        self._load = load
        self._workers = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"rejoinder-{name}")
        self._waiting: OrderedDict[Hashable, tuple[BatchFunction, list[_WaitingRequest]]] = OrderedDict()
        self._latest: OrderedDict[Hashable, _LatestBatch] = OrderedDict()
        self._runners: set[asyncio.Task[None]] = set()
        self._running = self._busy = 0
        self.queued = self.batches = self.rows = 0

    async def ask(self, key: Hashable, data: Any, rows: int, work: BatchFunction) -> Any:
        """Return the answer to one request; ``work`` takes the data of several requests of one key and answers each."""
        if self.queued + rows > self._load.queued and self.queued:
            raise QueueFullError
        request = _WaitingRequest(data, rows, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(key, (work, []))[1].append(request)
        self.queued += rows
        if self._running < self._workers:
            self._running += 1
            runner = asyncio.create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)
        return await request.answer

    def close(self) -> None:
        """Start no further work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self) -> None:
        try:
            await self._process_all()
        finally:
            self._running -= 1  # at once: a request that arrives before the task ends needs another

    async def _process_all(self) -> None:
        while self._waiting:
            key = next(iter(self._waiting))
            await self._gather(key)
            if key in self._waiting:  # another thread may have processed it
                work, batch = self._next_batch(key)
                start = time.perf_counter()
                if batch:
                    await self._compute(work, batch)
                self._remember(key, _LatestBatch(len(batch), time.perf_counter() - start))

    async def _gather(self, key: Hashable) -> None:
        """Wait for more requests if the previous batch had several."""
        await asyncio.sleep(0)
        requests, seconds = self._latest.get(key, _LatestBatch(1, 0.0))
        end = time.perf_counter() + min(max(self._load.window, seconds / 10), self._load.longest_window)
        while requests > 1 and key in self._waiting and time.perf_counter() < end:
            if len(self._waiting[key][1]) >= requests:
                return
            await asyncio.sleep(0.001)

    def _remember(self, key: Hashable, latest: _LatestBatch) -> None:
        self._latest[key] = latest
        self._latest.move_to_end(key)
        while len(self._latest) > _MAX_REMEMBERED:
            self._latest.popitem(last=False)

    def _next_batch(self, key: Hashable) -> tuple[BatchFunction, list[_WaitingRequest]]:
        """Remove and return the next batch of a key; the rest of the key's requests go behind the other keys."""
        work, waiting = self._waiting.pop(key)
        batch: list[_WaitingRequest] = []
        size, most = 0, max(_FEW_REQUESTS, -(-len(waiting) // max(1, self._workers - self._busy)))
        while waiting and (not batch or (size + waiting[0].rows <= self._load.batch and len(batch) < most)):
            request = waiting.pop(0)
            self.queued -= request.rows
            if not request.answer.done():  # its client still waits
                batch.append(request)
                size += request.rows
        if waiting:
            self._waiting[key] = work, waiting
        return work, batch

    async def _compute(self, work: BatchFunction, batch: list[_WaitingRequest]) -> None:
        """Compute a batch in one call; if it fails, each request alone, so that a bad text affects only its sender."""
        try:
            answers = await self._call(work, batch)
        except Exception as error:
            if len(batch) == 1:
                _fail_request(batch[0], error)
                return
            for request in batch:
                await self._compute(work, [request])
            return
        for request, answer in zip(batch, answers, strict=True):
            if not request.answer.done():
                request.answer.set_result(answer)

    async def _call(self, work: BatchFunction, batch: list[_WaitingRequest]) -> Sequence[Any]:
        self.batches += 1
        self.rows += sum(request.rows for request in batch)
        self._busy += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, [request.data for request in batch])
        finally:
            self._busy -= 1


def _fail_request(request: _WaitingRequest, error: Exception) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
