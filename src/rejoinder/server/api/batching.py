"""A lane: worker threads, before which requests that ask for the same thing are put together into one call.

Where nobody else is there a request begins at once. Where the batch before held several, the next one waits a little
for company, and no longer than a tenth of what the batch took: clients that were answered together come back together.
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
_MAX_REMEMBERED = 256  # keys whose latest batch is remembered
_FEW_REQUESTS = 4  # requests that are not worth being dealt out to several threads


class _LatestBatch(NamedTuple):
    """The latest batch of a key: how many requests it held, and how long it took."""

    requests: int
    seconds: float


class QueueFullError(Exception):
    """More waits than the lane takes on."""


@dataclass(eq=False)
class _WaitingRequest:
    """One request: what it brings, how many rows that is, and where its answer goes."""

    given: Any
    rows: int
    answer: asyncio.Future[Any]


class BatchQueue:
    """Requests that wait for a thread, by what they ask for; threads that are free share what waits evenly."""

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

    async def ask(self, key: Hashable, given: Any, rows: int, work: BatchFunction) -> Any:
        """The answer to one request; ``work`` takes what several of the same key bring and answers each."""
        if self.queued + rows > self._load.queued and self.queued:
            raise QueueFullError
        one = _WaitingRequest(given, rows, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(key, (work, []))[1].append(one)
        self.queued += rows
        if self._running < self._workers:
            self._running += 1
            runner = asyncio.create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)
        return await one.answer

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self) -> None:
        try:
            await self._work_off()
        finally:
            self._running -= 1  # at once: who asks before the task is over needs another

    async def _work_off(self) -> None:
        while self._waiting:
            key = next(iter(self._waiting))
            await self._gather(key)
            if key in self._waiting:  # another thread may have taken it
                work, batch = self._taken(key)
                begun = time.perf_counter()
                if batch:
                    await self._compute(work, batch)
                self._note(key, _LatestBatch(len(batch), time.perf_counter() - begun))

    async def _gather(self, key: Hashable) -> None:
        """Wait for company, where there was some before."""
        await asyncio.sleep(0)
        requests, seconds = self._latest.get(key, _LatestBatch(1, 0.0))
        end = time.perf_counter() + min(max(self._load.window, seconds / 10), self._load.longest_window)
        while requests > 1 and key in self._waiting and time.perf_counter() < end:
            if len(self._waiting[key][1]) >= requests:
                return
            await asyncio.sleep(0.001)

    def _note(self, key: Hashable, latest: _LatestBatch) -> None:
        self._latest[key] = latest
        self._latest.move_to_end(key)
        while len(self._latest) > _MAX_REMEMBERED:
            self._latest.popitem(last=False)

    def _taken(self, key: Hashable) -> tuple[BatchFunction, list[_WaitingRequest]]:
        """The next batch of a key; what is left of it goes behind the other keys."""
        work, waiting = self._waiting.pop(key)
        batch: list[_WaitingRequest] = []
        size, most = 0, max(_FEW_REQUESTS, -(-len(waiting) // max(1, self._workers - self._busy)))
        while waiting and (not batch or (size + waiting[0].rows <= self._load.batch and len(batch) < most)):
            one = waiting.pop(0)
            self.queued -= one.rows
            if not one.answer.done():  # nobody waits for it any more
                batch.append(one)
                size += one.rows
        if waiting:
            self._waiting[key] = work, waiting
        return work, batch

    async def _compute(self, work: BatchFunction, batch: list[_WaitingRequest]) -> None:
        """One call for all; where it fails, each by itself, so that nobody pays for somebody else's text."""
        try:
            answers = await self._called(work, batch)
        except Exception as error:
            if len(batch) == 1:
                _fail_request(batch[0], error)
                return
            for one in batch:
                await self._compute(work, [one])
            return
        for one, answer in zip(batch, answers, strict=True):
            if not one.answer.done():
                one.answer.set_result(answer)

    async def _called(self, work: BatchFunction, batch: list[_WaitingRequest]) -> Sequence[Any]:
        self.batches += 1
        self.rows += sum(one.rows for one in batch)
        self._busy += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, [one.given for one in batch])
        finally:
            self._busy -= 1


def _fail_request(one: _WaitingRequest, error: Exception) -> None:
    if not one.answer.done():
        one.answer.set_exception(error)
