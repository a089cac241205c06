"""A cache of what pages have computed, valid as long as the files behind it do not change; it knows the progress."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from rejoinder.server.api.service import ApiService

Value = TypeVar("Value")
WAIT_SECONDS = 20.0  # how long a program waits before being asked to try again
PAGE_SECONDS = 1.5  # how long a browser shows nothing before it shows the progress
PATIENCE: ContextVar[float] = ContextVar("PATIENCE", default=WAIT_SECONDS)  # of the client of the current request
_MAX_VALUES = 16


@dataclass
class WorkProgress:
    """How far a computation is: what it does now, and the share of the whole that is done; written by one thread."""

    step: str = "waiting for its turn"
    share: float = 0.0

    def report(self, step: str, share: float) -> None:
        """Enter a new step."""
        self.step, self.share = step, min(1.0, share)


class NotYetError(Exception):
    """The value is still being computed."""

    def __init__(self, progress: WorkProgress) -> None:
        super().__init__(progress.step)
        self.progress = progress


class PageCache:
    """The most recent values by key; requests for a value that is being computed wait for the same computation."""

    def __init__(self, service: ApiService, seconds: float = WAIT_SECONDS) -> None:
        self._service, self._seconds = service, seconds
        self._tasks: OrderedDict[Hashable, asyncio.Task[Any]] = OrderedDict()
        self._progress: dict[Hashable, WorkProgress] = {}

    async def get(self, key: Hashable, make: Callable[[WorkProgress], Value]) -> Value:
        """Return the value of a key, computed in the queue for long work; errors are not cached.

        NotYetError says how far the computation is when the client's patience ends.
        """
        task = self._tasks.get(key)
        if task is None or (task.done() and task.exception() is not None):
            progress = self._progress[key] = WorkProgress()
            work = self._service.do(lambda requests: [make(progress) for _ in requests], key=("kept", key))
            self._tasks[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks an error as seen
        self._tasks.move_to_end(key)
        while len(self._tasks) > _MAX_VALUES:
            self._progress.pop(self._tasks.popitem(last=False)[0], None)
        if task.done():
            result: Value = task.result()
            return result
        try:
            value: Value = await asyncio.wait_for(asyncio.shield(task), min(PATIENCE.get(), self._seconds))
        except asyncio.TimeoutError:
            raise NotYetError(self._progress[key]) from None
        return value
