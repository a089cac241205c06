"""What pages have computed, kept as long as the files that it is of do not change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from rejoinder.server.api.service import ApiService

Value = TypeVar("Value")
WAIT_SECONDS = 20.0  # seconds that a visitor waits before being told to come again
_MAX_VALUES = 8


class NotYetError(Exception):
    """It is being computed; whoever asks again later finds it."""


class PageCache:
    """Values by key, the latest few of them; who asks while one is computed waits for the same computation."""

    def __init__(self, desk: ApiService, patience: float = WAIT_SECONDS) -> None:
        self._desk, self._patience = desk, patience
        self._tasks: OrderedDict[Hashable, asyncio.Task[Any]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made in the lane for what takes a while; an error is not kept."""
        task = self._tasks.get(key)
        if task is None or (task.done() and task.exception() is not None):
            work = self._desk.do(lambda given: [make() for _ in given], key=("kept", key))
            self._tasks[key] = task = asyncio.create_task(work)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # an error is somebody's to see
        self._tasks.move_to_end(key)
        while len(self._tasks) > _MAX_VALUES:
            self._tasks.popitem(last=False)
        if task.done():
            ready: Value = task.result()
            return ready
        try:
            found: Value = await asyncio.wait_for(asyncio.shield(task), self._patience)
        except asyncio.TimeoutError:
            raise NotYetError from None
        return found
