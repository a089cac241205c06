"""A cache of what pages have computed, valid as long as the files behind it do not change; it knows the progress."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from rejoinder.server.api.service import ApiService

Value = TypeVar("Value")
WAIT_SECONDS = 20.0  # how long a program waits before being asked to try again
PAGE_SECONDS = 1.5  # how long a browser shows nothing before it shows the progress
PATIENCE: ContextVar[float] = ContextVar("PATIENCE", default=WAIT_SECONDS)  # of the client of the current request
MAX_VALUES = 8  # a large run takes hundreds of megabytes


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


class _Entry(NamedTuple):
    """A value that is computed or being computed, and how far that is."""

    task: asyncio.Task[Any]
    progress: WorkProgress


class PageCache:
    """The most recent values by key; requests for a value that is being computed wait for the same computation."""

    def __init__(self, service: ApiService, seconds: float = WAIT_SECONDS, most: int = MAX_VALUES) -> None:
        self._service, self._seconds, self._most = service, seconds, most
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[WorkProgress], Value], queue: str = "work") -> Value:
        """Return the value of a key, computed in a queue for long work; errors are not cached.

        NotYetError says how far the computation is when the client's patience ends. The queue ``reading`` is for what
        takes seconds, so that it does not wait for ``work``, which may take minutes.
        """
        entry = self._entries.get(key)
        if entry is None or (entry.task.done() and entry.task.exception() is not None):
            entry = self._entries[key] = self._start(key, make, queue)
        self._entries.move_to_end(key)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        if entry.task.done():
            result: Value = entry.task.result()
            return result
        try:
            value: Value = await asyncio.wait_for(asyncio.shield(entry.task), min(PATIENCE.get(), self._seconds))
        except TimeoutError:
            raise NotYetError(entry.progress) from None
        return value

    def _start(self, key: Hashable, make: Callable[[WorkProgress], Any], queue: str) -> _Entry:
        progress = WorkProgress()
        work = self._service.do(lambda requests: [make(progress) for _ in requests], key=("kept", key), queue=queue)
        task = asyncio.create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks an error as seen
        return _Entry(task, progress)
