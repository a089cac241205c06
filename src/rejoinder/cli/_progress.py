"""The progress of a long command while it runs, and its summary at the end: the same for all commands and engines.

On a terminal, progress is shown as one bar; elsewhere, and where the output goes into a pipe, not at all, or with
$REJOINDER_PROGRESS=SECONDS as a plain line every SECONDS seconds, for logs. The summary is for ``--verbose``.
"""

from __future__ import annotations

import math
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from rejoinder.cli._options import VERBOSE
from rejoinder.cli._terminal import EscapedStream
from rejoinder.engines import request_counts
from rejoinder.errors import SpecError
from rejoinder.escape import escape_terminal
from rejoinder.files import size_on_disk

if TYPE_CHECKING:
    from rejoinder.engines.base import Engine

Progress = Callable[[int, int], None]
_BAR, _REDRAW = 24, 0.1  # characters; seconds
_INTERVAL_VARIABLE = "REJOINDER_PROGRESS"


class ProgressReporter:
    """A long command: how far it is, what failed and was repeated, and what it cost."""

    def __init__(self, task: str, unit: str, engine: Engine | None) -> None:
        self.task, self.unit, self.engine = task, unit, engine
        self.done, self.total = 0, 0  # a total of 0 means unknown
        self.progress: Progress | None = None  # to be called with (done, total); None if nothing is to be shown
        self._start, self._end = time.perf_counter(), 0.0
        self._earlier_requests = request_counts.get_request_counts()

    @property
    def seconds(self) -> float:
        """The seconds since the start, or from start to end."""
        return (self._end or time.perf_counter()) - self._start

    def end(self) -> None:
        """Stop the clock."""
        self._end = time.perf_counter()

    def line(self) -> str:
        """Return the progress in one line."""
        rate = self.done / max(self.seconds, 1e-9)
        share = f"{self.done:,} of {self.total:,} {self.unit} ({self.done / self.total:.0%})" if self.total else ""
        parts = [share or f"{self.done:,} {self.unit}", f"{_format_rate(rate)}/s"]
        if self.total and self.done:
            parts.append(f"{_format_clock((self.total - self.done) / rate)} left")
        return f"{self.task}: {', '.join([*parts, *self.failure_counts()])}"

    def failure_counts(self) -> list[str]:
        """Return the numbers of failures and retries as texts; empty without an engine, and never a made-up 0."""
        if self.engine is None:
            return []
        counts, requests = self.engine.counts, request_counts.get_request_counts() - self._earlier_requests
        resent = requests.pop(request_counts.RETRIES, 0)
        if counts.failures is None and counts.retries is None and not requests:
            return [f"failures and retries not reported by {self.engine.name}"]
        causes = "; ".join(
            f"{cause}: {n:,}" for cause, n in sorted(requests.items(), key=lambda item: (-item[1], item[0]))
        )
        return [
            _format_count(counts.failures, "failure", "failures", sum(requests.values()))
            + (f" ({causes})" if causes else ""),
            _format_count(counts.retries, "retry", "retries", resent),
        ]

    def print_summary(self, rows: int, unit: str, size: int | Path | None = None, note: str = "") -> None:
        """Print what the command cost, in total and per thousand rows, for extrapolation; without -v, only failures."""
        if not is_verbose():
            if self._has_failures():
                click.echo(f"{self.task}: {', '.join(self.failure_counts())}", err=True)
            return
        workers = self.engine.workers if self.engine is not None else 1
        by = f" with {workers:,} worker{'s' if workers != 1 else ''}"
        costs = [f"{1000 * self.seconds / max(1, rows):.3f} s"]
        if size is not None:
            costs.append(f"{1000 * (size if isinstance(size, int) else size_on_disk(size)) / max(1, rows):,.0f} bytes")
        summary = f"{rows:,} {unit}{note} in {self.seconds:.1f} s{by}: {' and '.join(costs)} per thousand"
        failures = [", ".join(self.failure_counts())] if self.engine is not None else []
        click.echo("; ".join([summary, *failures]), err=True)

    def _has_failures(self) -> bool:
        """Whether anything is known to have failed or to have been repeated."""
        if self.engine is None:
            return False
        requests = request_counts.get_request_counts() - self._earlier_requests
        return bool(self.engine.counts.failures or self.engine.counts.retries or sum(requests.values()))


def is_verbose() -> bool:
    """Whether the command that runs was typed with -v."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(VERBOSE))


def _is_watched() -> bool:
    """Whether somebody sees a bar: on a terminal, unless a pager or a program reads the output at the same time."""
    if not sys.stderr.isatty():
        return False
    try:
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # a stream without a file
        return True


@contextmanager
def show_progress(task: str, unit: str = "rows", engine: Engine | None = None) -> Iterator[ProgressReporter]:
    """Report the progress of the work inside the block."""
    reporter, interval = ProgressReporter(task, unit, engine), _line_interval()
    try:
        if interval is not None:
            with _print_lines(reporter, interval):
                yield reporter
        elif _is_watched():
            with _show_bar(reporter):
                yield reporter
        else:
            yield reporter
    finally:
        reporter.end()


@contextmanager
def progress_bar(task: str, unit: str = "rows") -> Iterator[Progress | None]:
    """Yield a function to call with (done, total), for work without an engine and without a summary."""
    with show_progress(task, unit) as reporter:
        yield reporter.progress


@contextmanager
def _show_bar(reporter: ProgressReporter) -> Iterator[None]:
    bar = ProgressBar(getattr(sys.stderr, "unescaped", sys.stderr))

    def show(done: int, total: int) -> None:
        reporter.done, reporter.total = done, total
        bar.draw(reporter)

    reporter.progress = show
    bar.draw(reporter)
    originals = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, stream and _StreamAboveBar(stream, bar)) for stream in originals)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = originals
        bar.erase()


class ProgressBar:
    """One line at the bottom of a terminal, drawn at most ten times per second and erased at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width, self._drawn_at = 0, 0.0
        self._lock = threading.RLock()

    def draw(self, reporter: ProgressReporter) -> None:
        """Show how far the work is, unless that was shown just now."""
        now = time.perf_counter()
        if now - self._drawn_at < _REDRAW and reporter.done < (reporter.total or math.inf):
            return
        line = escape_terminal(" ".join(_bar_line(reporter).split()))[: shutil.get_terminal_size().columns - 1]
        with self._lock:
            self.erase()
            self._width, self._drawn_at = len(line), now
            self._write(line)

    def erase(self) -> None:
        """Leave an empty line."""
        with self._lock:
            if self._width:
                self._write(f"\r{' ' * self._width}\r")
                self._width = 0

    def _write(self, text: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


def _bar_line(reporter: ProgressReporter) -> str:
    done, total, rate = reporter.done, reporter.total, reporter.done / max(reporter.seconds, 1e-9)
    filled = round(_BAR * min(1.0, done / total)) if total else 0
    parts = [f"{done:,}/{total:,} {reporter.unit}" if total else f"{done:,} {reporter.unit}", f"{_format_rate(rate)}/s"]
    if total and done:
        parts.append(f"{_format_clock((total - done) / rate)} left")
    return " ".join([reporter.task, "━" * filled + "╌" * (_BAR - filled), *parts, ", ".join(reporter.failure_counts())])


class _StreamAboveBar(EscapedStream):
    """A stream whose texts stand above the bar, which the next progress draws again."""

    def __init__(self, stream: TextIO, bar: ProgressBar) -> None:
        super().__init__(stream)
        self._bar = bar

    def write(self, text: str) -> int:
        """Write a text, escaped."""
        self._bar.erase()
        return super().write(text)


@contextmanager
def _print_lines(reporter: ProgressReporter, interval: float) -> Iterator[None]:
    """Print a line at intervals, from a separate thread, so that a long task does not look dead."""
    finished = threading.Event()

    def update(done: int, total: int) -> None:
        reporter.done, reporter.total = done, total

    def print_lines() -> None:
        while not finished.wait(interval):
            click.echo(reporter.line(), err=True)

    reporter.progress = update
    printer = threading.Thread(target=print_lines, daemon=True)
    printer.start()
    try:
        yield
    finally:
        finished.set()
        printer.join()


def _line_interval() -> float | None:
    text = os.environ.get(_INTERVAL_VARIABLE)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise SpecError(f"{_INTERVAL_VARIABLE} must be the number of seconds between two progress lines, not {text!r}")
    return seconds


def _format_rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _format_clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _format_count(n: int | None, one: str, many: str, more: int = 0) -> str:
    """Format the failures of tasks (None if unknown) plus ``more`` failures of requests."""
    if n is None and not more:
        return f"{many} not known"
    total = (n or 0) + more
    return f"{'at least ' if n is None else ''}{total:,} {one if total == 1 else many}"
