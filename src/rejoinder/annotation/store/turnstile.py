"""A limit on how many threads are inside at once; those who wait get in in the order in which they came.

A semaphore lets a thread that has just come out in again before those who wait, and under load some wait for ever.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class Turnstile:
    """A fair semaphore, for ``with``."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # the place is handed on
            else:
                self._free += 1
