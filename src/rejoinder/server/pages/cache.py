"""A cache of what pages have computed, valid as long as the files behind it do not change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from rejoinder.server.api.service import ApiService

Value = TypeVar("Value")
WAIT_SECONDS = 20.0  # how long a visitor waits before being asked to try again
_MAX_VALUES = 8


class NotYetError(Exception):
    """The value is still being computed."""


class PageCache:
    """The most recent values by key; requests for a value that is being computed wait for the same computation."""

    def __init__(self, service: ApiService, seconds: float = WAIT_SECONDS) -> None:
        self._service, self._seconds = service, seconds
        self._tasks: OrderedDict[Hashable, asyncio.Task[Any]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, computed in the queue for long work; errors are not cached."""
        task = self._tasks.get(key)
        if task is None or (task.done() and task.exception() is not None):
            work = self._service.do(lambda requests: [make() for _ in requests], key=("kept", key))
            self._tasks[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks an error as seen
        self._tasks.move_to_end(key)
        while len(self._tasks) > _MAX_VALUES:
            self._tasks.popitem(last=False)
        if task.done():
            result: Value = task.result()
            return result
        try:
            value: Value = await asyncio.wait_for(asyncio.shield(task), self._seconds)
        except asyncio.TimeoutError:
            raise NotYetError from None
        return value
