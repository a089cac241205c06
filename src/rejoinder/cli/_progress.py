"""What a long command shows while it runs, and what it says at the end: the same for all commands and engines.

On a terminal that is a bar; elsewhere nothing, or with $REJOINDER_PROGRESS=SECONDS a plain line so often, for logs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._terminal import escaped_streams
from rejoinder.engines import request_counts
from rejoinder.errors import SpecError

if TYPE_CHECKING:
    from rejoinder.engines.base import Engine

Progress = Callable[[int, int], None]
_INTERVAL_VARIABLE = "REJOINDER_PROGRESS"


class ProgressReporter:
    """A long command under way: how far it is, what went wrong on the way, and what it cost."""

    def __init__(self, what: str, unit: str, engine: Engine | None) -> None:
        self.what, self.unit, self.engine = what, unit, engine
        self.done, self.total = 0, 0  # a total of 0 is not known
        self.progress: Progress | None = None  # to be called with (done, of how many); None where nobody is watching
        self._begun, self._ended = time.perf_counter(), 0.0
        self._before = request_counts.get_counts()

    @property
    def seconds(self) -> float:
        """Since the beginning, until the end."""
        return (self._ended or time.perf_counter()) - self._begun

    def end(self) -> None:
        """Stop the clock."""
        self._ended = time.perf_counter()

    def line(self) -> str:
        """How far it is, in one line."""
        rate = self.done / max(self.seconds, 1e-9)
        far = f"{self.done:,} of {self.total:,} {self.unit} ({self.done / self.total:.0%})" if self.total else ""
        parts = [far or f"{self.done:,} {self.unit}", f"{_format_rate(rate)}/s"]
        if self.total and self.done:
            parts.append(f"{_format_clock((self.total - self.done) / rate)} left")
        return f"{self.what}: {', '.join([*parts, *self.trouble()])}"

    def trouble(self) -> list[str]:
        """What went wrong and was made good; nothing without an engine, never a made-up 0."""
        if self.engine is None:
            return []
        counts, requests = self.engine.counts, request_counts.get_counts() - self._before
        sent_again = requests.pop(request_counts.RETRIES, 0)
        if counts.failures is None and counts.retries is None and not requests:
            return [f"failures and retries not told by {self.engine.name}"]
        causes = "; ".join(
            f"{cause}: {n:,}" for cause, n in sorted(requests.items(), key=lambda one: (-one[1], one[0]))
        )
        return [
            _format_count(counts.failures, "failure", "failures", sum(requests.values()))
            + (f" ({causes})" if causes else ""),
            _format_count(counts.retries, "retry", "retries", sent_again),
        ]

    def tell(self, rows: int, of: str, size: int | Path | None = None, note: str = "") -> None:
        """Say at the end what it took, and what that is a thousand, so that one can multiply."""
        workers = self.engine.workers if self.engine is not None else 1
        by = f" with {workers:,} worker{'s' if workers != 1 else ''}"
        costs = [f"{1000 * self.seconds / max(1, rows):.3f} s"]
        if size is not None:
            costs.append(f"{1000 * (size if isinstance(size, int) else size_of(size)) / max(1, rows):,.0f} bytes")
        told = f"{rows:,} {of}{note} in {self.seconds:.1f} s{by}: {' and '.join(costs)} a thousand"
        click.echo("; ".join([told, *([", ".join(self.trouble())] if self.engine is not None else [])]), err=True)


@contextmanager
def show_progress(what: str, unit: str = "rows", engine: Engine | None = None) -> Iterator[ProgressReporter]:
    """A watch over what is done within."""
    watch, every = ProgressReporter(what, unit, engine), _line_interval()
    try:
        if every is not None:
            with _print_lines(watch, every):
                yield watch
        elif sys.stderr.isatty():
            with _show_bar(watch):
                yield watch
        else:
            yield watch
    finally:
        watch.end()


@contextmanager
def progress_bar(what: str, unit: str = "rows") -> Iterator[Progress | None]:
    """The same for what has no engine and no cost: a function to call with (done, of how many)."""
    with show_progress(what, unit) as watch:
        yield watch.progress


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    return sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


@contextmanager
def _show_bar(watch: ProgressReporter) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    texts = [TextColumn(f"{{task.fields[{name}]}}") for name in ("far", "rate", "trouble")]
    columns = (TextColumn(watch.what), BarColumn(), texts[0], texts[1], TimeRemainingColumn(), texts[2])
    console = Console(file=getattr(sys.stderr, "rich_proxied_file", sys.stderr))
    with Bar(*columns, console=console, transient=True) as bar, escaped_streams():  # of what goes through the bar, too
        task = bar.add_task(watch.what, total=None, far="", rate="", trouble="")

        def show(done: int, total: int) -> None:
            watch.done, watch.total = done, total
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed or done / max(watch.seconds, 1e-9)
            bar.update(
                task,
                completed=done,
                total=total or None,
                far=f"{done:,}/{total:,} {watch.unit}" if total else f"{done:,} {watch.unit}",
                rate=f"{_format_rate(speed)}/s",
                trouble=", ".join(watch.trouble()),
            )

        watch.progress = show
        yield


@contextmanager
def _print_lines(watch: ProgressReporter, every: float) -> Iterator[None]:
    """A line so often, from a thread of its own: a long task must not look like a dead one."""
    over = threading.Event()

    def note(done: int, total: int) -> None:
        watch.done, watch.total = done, total

    def tell() -> None:
        while not over.wait(every):
            click.echo(watch.line(), err=True)

    watch.progress = note
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _line_interval() -> float | None:
    said = os.environ.get(_INTERVAL_VARIABLE)
    if not said:
        return None
    try:
        seconds = float(said)
    except ValueError:
        seconds = -1
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise SpecError(f"{_INTERVAL_VARIABLE} must be the seconds between two lines of progress, not {said!r}")
    return seconds


def _format_rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _format_clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _format_count(n: int | None, one: str, many: str, more: int = 0) -> str:
    """How many workers or tasks, and how many requests more; of the former nothing may be known."""
    if n is None and not more:
        return f"{many} not known"
    total = (n or 0) + more
    return f"{'at least ' if n is None else ''}{total:,} {one if total == 1 else many}"
