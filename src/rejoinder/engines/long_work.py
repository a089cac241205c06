"""How far a slow computation is inside one task, which may take minutes: said by the metric that computes.

Whoever knows the whole (a run) opens a ``LongWork`` of it; without one, what the metric has at once is the whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FORECAST_SECONDS = 20  # what takes less is over before a line about it was read


class LongWork:
    """All replies of a run or a call, of which a metric computes some at a time."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None = None) -> None:
        self.total = total
        self.before = 0  # replies of the parts that are finished
        self._progress = progress
        self._has_forecast = False

    def report(self, name: str, done: int, share: float, replies: int, seconds: float) -> None:
        """Say that ``done`` of ``replies`` replies, a ``share`` of this part's work, took so many seconds.

        The first time, how long the rest will take is printed if that is long.
        """
        if not self._has_forecast:
            self._has_forecast = True
            rate = replies * share / max(seconds, 1e-9)
            left = (self.total - self.before) / rate
            if left - seconds > FORECAST_SECONDS:
                text = f"{name}: {self.total - self.before:,} replies take about {_format_duration(left)} here"
                print(f"{text} ({60 * rate:,.0f} per minute)", file=sys.stderr, flush=True)
        if self._progress is not None:
            self._progress(min(self.before + done, self.total), self.total)


_work: ContextVar[LongWork | None] = ContextVar("work", default=None)


@contextmanager
def open_long_work(work: LongWork) -> Iterator[LongWork]:
    """Let metrics that are slow report to this work within a block."""
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def current_long_work(replies: int) -> LongWork:
    """Return the work that is open; without one, that of so many replies."""
    return _work.get() or LongWork(replies)


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
